"""Pairs of the regression benchmark: a data set, a learner, and the training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# Trees of the boosters: with the default of 100 most fits would take less than 5 s.
_BOOSTER_TREES = 500

# Passes over the rows of the network; 200, scikit-learn's default, would take minutes.
_MLP_EPOCHS = 20

LEARNERS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: LGBMRegressor(n_estimators=_BOOSTER_TREES, n_jobs=1, verbosity=-1),
    "hist-gradient-boosting": lambda: HistGradientBoostingRegressor(max_iter=_BOOSTER_TREES),
    "random-forest": lambda: RandomForestRegressor(n_jobs=1),
    "mlp": lambda: make_pipeline(StandardScaler(), MLPRegressor(max_iter=_MLP_EPOCHS)),
}
"""Learners by name; all other settings are their library's own. Ridge and nearest neighbours are left out: their fits
take less than a second on these rows, so that every row fits in any limit."""


@dataclass(frozen=True)
class RegressionPair:
    """A data set and a learner.

    Parameters
    ----------
    dataset, learner : str
        Keys of `DATASETS` and `LEARNERS`.
    max_train : int or None, default=None
        Largest number of training rows, so that a plain fit takes 5 to 25 s; None for all.
    """

    dataset: str
    learner: str
    max_train: int | None = None

    @property
    def name(self) -> str:
        """Names of data set and learner."""
        return f"{self.dataset}, {self.learner}"


PAIRS = (
    RegressionPair("covtype", "lightgbm"),
    RegressionPair("covtype", "random-forest", 30_000),
    RegressionPair("diabetes130us", "random-forest", 30_000),
    RegressionPair("weatheraus", "lightgbm"),
    RegressionPair("unsw_nb15", "random-forest"),
    RegressionPair("friedman1", "hist-gradient-boosting"),
    RegressionPair("friedman1", "mlp", 200_000),
)
"""The pairs, grouped by data set."""
