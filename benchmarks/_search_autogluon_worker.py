"""Process in which AutoGluon runs; needs autogluon.tabular, LightGBM and CatBoost, but not this project."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from _accuracy_flaml_worker import load_rows, read_bytes


def main(estimator: str, limit: float, seed: int, folder: str) -> None:
    """Fit under a limit, score the model on the test rows, and print the result as JSON."""
    from autogluon.tabular import TabularPredictor

    warnings.simplefilter("ignore")
    frame = _make_frame(*load_rows(Path(folder), "train"))
    # AutoGluon has no seed of its own; its split of the rows follows their order.
    frame = frame.sample(frac=1.0, random_state=seed)
    before = read_bytes("VmRSS")
    with tempfile.TemporaryDirectory(dir=folder) as models:
        start = time.perf_counter()
        predictor = TabularPredictor("label", path=models, eval_metric="accuracy", verbosity=0)
        predictor.fit(frame, time_limit=limit, hyperparameters={"GBM": {}, "CAT": {}}, num_cpus=1)
        seconds = time.perf_counter() - start
        memory = None if before is None else read_bytes("VmHWM") - before
        X, y = load_rows(Path(folder), "test")
        accuracy = float(np.mean(predictor.predict(_make_frame(X)).to_numpy() == y))
        tried = len(predictor.model_names())
    found = {"seconds": seconds, "memory": memory, "settings": tried, "accuracy": accuracy, "stop": "time"}
    print(json.dumps(found))


def _make_frame(X: Any, y: Any = None) -> pd.DataFrame:
    frame = pd.DataFrame(X.toarray() if hasattr(X, "toarray") else X).rename(columns=str)
    return frame if y is None else frame.assign(label=y)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
