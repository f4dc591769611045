"""FLAML with the same single learner, in a process of its own: it does not keep its limit, so it must be endable."""

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

ESTIMATORS: Mapping[str, str] = {
    "lightgbm": "lgbm",
    "xgboost": "xgboost",
    "random-forest": "rf",
    "linear-svm": "svc",
    # The same model, though FLAML solves it by lbfgs; what it solves by saga has the other penalty.
    "logistic-regression": "lrl2",
    "hist-gradient-boosting": "histgb",
}
"""FLAML's names of the learners; it has no single tree."""

_WORKER = Path(__file__).with_name("_accuracy_flaml_worker.py")
# It was seen to take 2.6 x its limit; more than this nobody waits for.
_PATIENCE, _AT_LEAST = 4.0, 10.0
_START_SECONDS = 30.0


def flaml_version(python: str) -> str | None:
    """The version of FLAML that an interpreter imports; None if it has none."""
    command = [python, "-c", "import flaml.automl; print(flaml.__version__)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split()[-1] if done.returncode == 0 else None


class FlamlRival:
    """FLAML's tuning of one learner under `time_budget`, with one thread.

    Parameters
    ----------
    python : str
        An interpreter that can import flaml; this one's, or that of a virtual environment of its own.
    """

    def __init__(self, python: str) -> None:
        self.python = python

    def applies(self, learner: str) -> bool:
        return learner in ESTIMATORS

    def run(self, task: RivalTask) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="fitwithin-flaml-") as folder:
            for part, (X, y) in (("train", task.train), ("test", task.test)):
                _store(Path(folder), f"X_{part}", X)
                np.save(Path(folder) / f"y_{part}.npy", y)
            return self._ask(task, folder)

    def _ask(self, task: RivalTask, folder: str) -> Outcome:
        cap = _PATIENCE * task.limit + _AT_LEAST
        order = {"estimator": ESTIMATORS[task.learner], "limit": task.limit, "seed": task.seed, "folder": folder}
        command = [self.python, str(_WORKER), json.dumps(order)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_START_SECONDS + cap)
        except subprocess.TimeoutExpired:
            return Outcome(cap, stop="killed", error=f"no model after {cap:.0f} s")
        if done.returncode:
            return Outcome(0.0, error=(done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def _store(folder: Path, name: str, X: Any) -> None:
    if sparse.issparse(X):
        sparse.save_npz(folder / f"{name}.npz", X, compressed=False)
    else:
        np.save(folder / f"{name}.npy", X)
