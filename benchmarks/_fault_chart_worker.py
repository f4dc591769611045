"""One job under one tool, in a process of its own; needs LightGBM, psutil and the tool, but not this project."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from _fault_booster import FaultyBooster
from _fault_chart_ways import FaultTask, call_tool
from _resource_leaks import ResourceSnapshot, wait_for_cleanup


def main(tool: str, job: str, limit: float, trees: int, above: int, max_bytes: int, folder: str) -> None:
    """Announce the fit, run it, report its result and what it left, and wait for the end of standard input."""
    X, y, X_test, y_test = (np.load(Path(folder) / f"{name}.npy") for name in ("X", "y", "X_test", "y_test"))
    # Importing the tool is not part of the fit.
    _import_tool(tool)
    learner = FaultyBooster(job, above=above, seconds=2 * limit, n_estimators=trees)
    before = ResourceSnapshot.take()
    _say(event="begins")
    fitted, seconds, error = call_tool(tool, FaultTask(X, y, limit, learner, max_bytes, folder))
    _say(event="returned", seconds=seconds, error=error)
    left, _ = wait_for_cleanup(before, time.perf_counter())
    accuracy = None if fitted.model is None else float(np.mean(np.ravel(fitted.model.predict(X_test)) == y_test))
    _say(event="result", accuracy=accuracy, rows=fitted.rows, since=fitted.since, left=left)
    sys.stdin.read()


def _import_tool(tool: str) -> None:
    modules = {
        "fitwithin": "fitwithin",
        "FLAML": "flaml.automl",
        "AutoGluon": "autogluon.tabular",
        "Optuna, timeout": "optuna",
        "joblib, timeout": "joblib",
    }
    if tool in modules:
        __import__(modules[tool])


def _say(**fields: Any) -> None:
    # Tools print too; a line of its own that begins with this word is ours.
    print("fault_chart " + json.dumps(fields), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
