"""FLAML and AutoGluon, each in a separate process that can be killed, because they overrun their limits."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from _accuracy_rivals import Outcome, RivalTask

FLAML_MODULE = "flaml.automl"

ESTIMATORS: Mapping[str, str] = {
    "lightgbm": "lgbm",
    "xgboost": "xgboost",
    "random-forest": "rf",
    "linear-svm": "svc",
    # The same model, solved with lbfgs; FLAML's model that uses saga has another penalty.
    "logistic-regression": "lrl2",
    "hist-gradient-boosting": "histgb",
    "catboost": "catboost",
    "extra-trees": "extra_tree",
}
"""FLAML's name of each learner. It has no single decision tree."""

# A tool is killed after this multiple of its limit; the largest observed of FLAML was 2.6.
_KILL_FACTOR = 4.0

# Seconds added to that for short limits.
_KILL_MARGIN_SECONDS = 10.0

# Seconds for the start of the interpreter and the imports.
_START_SECONDS = 30.0


def find_version(python: str, module: str = FLAML_MODULE) -> str | None:
    """Return the version of a tool that an interpreter imports; None if it has none."""
    distribution = module.removesuffix(".automl")
    program = f"import {module}; from importlib.metadata import version; print(version('{distribution}'))"
    command = [python, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split()[-1] if done.returncode == 0 else None


class FlamlRival:
    """FLAML tuning one learner under `time_budget`, with one thread.

    Parameters
    ----------
    python : str
        Path of an interpreter that can import the tool: this one, or one in another virtual environment.
    **settings
        Arguments of the tool's own fit.
    """

    module = FLAML_MODULE
    _worker = Path(__file__).with_name("_accuracy_flaml_worker.py")

    def __init__(self, python: str, **settings: Any) -> None:
        self.python = python
        self._settings = settings

    def applies(self, learner: str) -> bool:
        return learner in ESTIMATORS

    def run(self, task: RivalTask) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="fitwithin-benchmark-") as folder:
            for part, (X, y) in (("train", task.train), ("test", task.test)):
                _save_features(Path(folder), f"X_{part}", X)
                np.save(Path(folder) / f"y_{part}.npy", y)
            return self._run_worker(task, folder)

    def _run_worker(self, task: RivalTask, folder: str) -> Outcome:
        kill_seconds = _KILL_FACTOR * task.limit + _KILL_MARGIN_SECONDS
        arguments = {"estimator": ESTIMATORS[task.learner], "limit": task.limit, "seed": task.seed, "folder": folder}
        command = [self.python, str(self._worker), json.dumps({**arguments, **self._settings})]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_START_SECONDS + kill_seconds
            )
        except subprocess.TimeoutExpired:
            return Outcome(kill_seconds, stop="killed", error=f"no model after {kill_seconds:.0f} s")
        if done.returncode:
            return Outcome(0.0, error=(done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        return Outcome(**json.loads(done.stdout.splitlines()[-1]))


class AutogluonRival(FlamlRival):
    """AutoGluon with LightGBM and CatBoost, on one core: for the pairs of LightGBM, one fit a data set."""

    module = "autogluon.tabular"
    _worker = Path(__file__).with_name("_search_autogluon_worker.py")

    def applies(self, learner: str) -> bool:
        return learner == "lightgbm"


def _save_features(folder: Path, name: str, X: Any) -> None:
    if sparse.issparse(X):
        sparse.save_npz(folder / f"{name}.npz", X, compressed=False)
    else:
        np.save(folder / f"{name}.npy", X)
