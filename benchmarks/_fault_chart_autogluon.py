"""The faulty booster as a model of AutoGluon, in a module because it is pickled; only its environment imports this."""

from __future__ import annotations

import tempfile
import time
from typing import Any

import pandas as pd
from autogluon.core.models import AbstractModel
from autogluon.tabular import TabularPredictor

from _fault_booster import FaultyBooster, make_time_callback


class FaultyModel(AbstractModel):  # type: ignore[misc]  # AutoGluon ships no types
    """The booster with a callback that knows the limit, as AutoGluon's own LightGBM has one."""

    ag_key = "FAULTY"
    ag_name = "Faulty"

    def _fit(self, X: Any, y: Any, time_limit: float | None = None, **others: Any) -> None:
        deadline = time.perf_counter() + (float("inf") if time_limit is None else time_limit)
        learner = FaultyBooster(**self._get_model_params())
        self.model = learner.fit(X.to_numpy(), y.to_numpy(), callbacks=[make_time_callback(deadline)])


def fit_predictor(X: Any, y: Any, limit: float, learner: FaultyBooster, parent: str) -> Any:
    """Fit AutoGluon with the booster as its one model, below a folder, and return the fitted booster."""
    frame = pd.DataFrame(X).rename(columns=str).assign(label=y)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        predictor = TabularPredictor("label", path=folder, verbosity=0)
        predictor.fit(frame, time_limit=limit, hyperparameters={FaultyModel: learner.get_params()})
        return predictor._trainer.load_model(FaultyModel.ag_name).model
