"""Tools that take a time limit, each fitting a booster that goes wrong; imports of a tool are its own environment's."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from _fault_booster import FaultyBooster, make_time_callback

# Rows that tools which fit many models hold out to compare them.
_HELD_OUT_SHARE = 0.1

# Share of the memory that a job may take at which fitwithin is told to stop its learner.
MEMORY_LIMIT_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class FaultTask:
    """What a tool is given: rows, the limit in seconds, the learner, the bytes that the job may take, and a folder."""

    X: Any
    y: Any
    limit: float
    learner: FaultyBooster
    max_bytes: int
    folder: str = "."


@dataclass(frozen=True)
class FaultModel:
    """The model of a tool (None: none), and where it is known the rows and the second of the fit that it is from."""

    model: Any
    rows: int | None = None
    since: float | None = None


def fit_with_fitwithin(task: FaultTask) -> FaultModel:
    """Fit with this package; only for the job that takes memory it is given a limit of memory."""
    from fitwithin import NoModelInTime, TimeConstrainedClassifier

    memory = int(MEMORY_LIMIT_SHARE * task.max_bytes) if task.learner.fault == "takes memory" else None
    clf = TimeConstrainedClassifier(
        task.learner, time_limit=task.limit, memory_limit=memory, progress=False, random_state=0
    )
    try:
        clf.fit(task.X, task.y)
    except NoModelInTime:
        return FaultModel(None)
    best = [finished for finished in clf.history_ if finished.best][-1]
    return FaultModel(clf.best_estimator_, clf.n_rows_trained_, best.elapsed)


def fit_with_callback(task: FaultTask) -> FaultModel:
    """Fit every row with a callback that ends the fit after the first tree past the limit."""
    callback = make_time_callback(time.perf_counter() + task.limit)
    return FaultModel(task.learner.fit(task.X, task.y, callbacks=[callback]), len(task.y))


def fit_plainly(task: FaultTask) -> FaultModel:
    """Fit every row; `timeout(1)` ends the program."""
    return FaultModel(task.learner.fit(task.X, task.y), len(task.y))


def fit_with_joblib(task: FaultTask) -> FaultModel:
    """Fit every row in a process of joblib, whose time-out raises; one process would ignore it."""
    import joblib

    jobs = [joblib.delayed(task.learner.fit)(task.X, task.y)]
    (model,) = joblib.Parallel(n_jobs=2, timeout=task.limit)(jobs)
    return FaultModel(model, len(task.y))


def fit_with_flaml(task: FaultTask) -> FaultModel:
    """Tune the number of trees with FLAML as it comes; it begins with few rows and few trees."""
    from flaml import AutoML, tune
    from flaml.automl.model import SKLearnEstimator

    fixed = task.learner.get_params()

    class Learner(SKLearnEstimator):  # type: ignore[misc]  # FLAML ships no types
        def __init__(self, task: str = "binary", **config: Any) -> None:
            super().__init__(task, **config)
            self.params = {**fixed, "n_estimators": int(config.get("n_estimators", 4))}
            self.estimator_class = FaultyBooster

        @classmethod
        def search_space(cls, data_size: Any, task: str) -> dict[str, Any]:
            trees = fixed["n_estimators"]
            return {"n_estimators": {"domain": tune.lograndint(4, trees), "init_value": 4, "low_cost_init_value": 4}}

    automl = AutoML()
    automl.add_learner("faulty", Learner)
    automl.fit(
        task.X,
        task.y,
        task="classification",
        metric="accuracy",
        time_budget=task.limit,
        estimator_list=["faulty"],
        n_jobs=1,
        verbose=0,
    )
    return FaultModel(None if automl.model is None else automl.model.estimator)


def fit_with_optuna(task: FaultTask) -> FaultModel:
    """Tune the number of trees with Optuna and its `timeout`; the best model is kept."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n_held_out = round(_HELD_OUT_SHARE * len(task.y))
    best: list[tuple[float, Any]] = []

    def objective(trial: Any) -> float:
        trees = trial.suggest_int("n_estimators", 4, task.learner.n_estimators, log=True)
        model = FaultyBooster(**{**task.learner.get_params(), "n_estimators": trees})
        model.fit(task.X[n_held_out:], task.y[n_held_out:])
        score = float(np.mean(model.predict(task.X[:n_held_out]) == task.y[:n_held_out]))
        best.append((score, model))
        best[:] = [max(best, key=lambda one: one[0])]
        return score

    sampler = optuna.samplers.TPESampler(seed=0)
    optuna.create_study(direction="maximize", sampler=sampler).optimize(objective, timeout=task.limit)
    return FaultModel(best[0][1] if best else None, len(task.y) - n_held_out if best else None)


def fit_with_autogluon(task: FaultTask) -> FaultModel:
    """Fit with AutoGluon, with the booster as its one model."""
    from _fault_chart_autogluon import fit_predictor

    return FaultModel(fit_predictor(task.X, task.y, task.limit, task.learner, task.folder))


WAYS: Mapping[str, Callable[[FaultTask], FaultModel]] = {
    "fitwithin": fit_with_fitwithin,
    "FLAML": fit_with_flaml,
    "AutoGluon": fit_with_autogluon,
    "Optuna, timeout": fit_with_optuna,
    "LightGBM, callback": fit_with_callback,
    "joblib, timeout": fit_with_joblib,
    "timeout(1)": fit_plainly,
}
"""Each tool by its name."""

_MODULES = {"fitwithin": "fitwithin", "FLAML": "flaml", "Optuna, timeout": "optuna", "joblib, timeout": "joblib"}


def call_tool(tool: str, task: FaultTask) -> tuple[FaultModel, float, str]:
    """Return the model, the seconds of the call, and the error that it raised, if any."""
    if tool in _MODULES:
        # The import is not part of the limit.
        import_module(_MODULES[tool])
    start = time.perf_counter()
    error, fitted = "", FaultModel(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = WAYS[tool](task)
        except Exception as raised:
            error = type(raised).__name__
    return fitted, time.perf_counter() - start, error
