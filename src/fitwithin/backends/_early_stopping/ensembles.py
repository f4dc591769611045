"""Ensembles that are stopped, boosters by callbacks and others by several calls, and validation rows for boosters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._early_stopping import several_calls
from fitwithin.backends._early_stopping.stop_signal import StepTimer, StopSignal, preserve_attributes

_AUTO_EARLY_STOPPING_ROWS = 10_000  # above which `early_stopping="auto"` is on; from scikit-learn's documentation
_CATBOOST_DEFAULT_ITERATIONS = 1000  # from its documentation
_LIGHTGBM_CALLBACK_ORDER = 100  # after the user's callbacks; LightGBM's own have at most 30

_PATIENCE = ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change", "od_wait")
"""Parameters of LightGBM, XGBoost and CatBoost that turn their early stopping on."""

_ARGUMENT = "eval_set"

DEPRECATION = "The argument 'eval_set' is deprecated"
"""Warning of LightGBM 4.7. Its replacement, `eval_y`, is not encoded as the labels are, so it is wrong for most."""


def fit_lightgbm(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit LightGBM and stop after an iteration, as if `n_estimators` had been reached; all of the trees are kept."""
    from lightgbm.callback import EarlyStopException

    timer = StepTimer(stop_signal, learner.get_params()["n_estimators"])

    def begin_steps(env: Any) -> None:
        if env.iteration == env.begin_iteration:
            timer.begin_steps()

    def stop_in_time(env: Any) -> None:
        if not timer.finish_step():
            raise EarlyStopException(env.iteration, env.evaluation_result_list or [])

    # LightGBM reads these from the functions.
    begin_steps.before_iteration = True  # type: ignore[attr-defined]
    stop_in_time.order = _LIGHTGBM_CALLBACK_ORDER  # type: ignore[attr-defined]
    learner.fit(X, y, **{**params, "callbacks": [*(params.get("callbacks") or []), begin_steps, stop_in_time]})


def fit_xgboost(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit XGBoost and check the time before iterations: its own callbacks would miss one after which ours stopped."""
    from xgboost.callback import TrainingCallback

    timer = StepTimer(stop_signal, learner.get_num_boosting_rounds())

    class StopXGBoost(TrainingCallback):
        def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if stop_signal.setup_seconds is None:
                timer.begin_steps()
                return False
            return not timer.finish_step()

    with preserve_attributes(learner, "callbacks"):
        learner.callbacks = [*(learner.callbacks or []), StopXGBoost()]
        learner.fit(X, y, **params)
    if not timer.is_stopped:
        # The last iteration has no check after it.
        stop_signal.count_steps((stop_signal.n_steps or 0) + 1)


def fit_catboost(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit CatBoost and check the time after every iteration."""
    timer = StepTimer(stop_signal, learner.get_param("iterations") or _CATBOOST_DEFAULT_ITERATIONS)

    class StopCatBoost:
        def after_iteration(self, info: Any) -> bool:
            return timer.finish_step()

    learner.fit(X, y, **{**params, "callbacks": [*(params.get("callbacks") or []), StopCatBoost()]})


def fit_gradient_boosting(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit gradient boosting and check the time in its monitor after every stage."""
    timer = StepTimer(stop_signal, learner.n_estimators)
    user_monitor = params.get("monitor")

    def monitor(*arguments: Any) -> bool:
        return (user_monitor is not None and bool(user_monitor(*arguments))) or not timer.finish_step()

    learner.fit(X, y, **{**params, "monitor": monitor})


def fit_hist_boosting(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit histogram boosting and check the time after every iteration, in a private method of its own early stopping.

    Calls with `warm_start` would bin all rows again each time: a third of a complete fit on 100,000 rows of 50 numbers.
    """
    timer = StepTimer(stop_signal, learner.max_iter)
    is_on = np.shape(X)[0] > _AUTO_EARLY_STOPPING_ROWS if learner.early_stopping == "auto" else learner.early_stopping
    # scikit-learn may refuse validation rows: version 1.9 differs from its documentation.
    uses_early_stopping = is_on or any(params.get(name) is not None for name in ("X_val", "y_val"))
    own_should_stop = learner._should_stop

    def should_stop(scores: Any) -> bool:
        if len(scores) == 1:
            # The score before the first iteration.
            timer.begin_steps()
            return False
        learner_stops = uses_early_stopping and bool(own_should_stop(scores))
        return learner_stops or not timer.finish_step()

    with preserve_attributes(learner, "_should_stop", "early_stopping", "validation_fraction", "scoring"):
        learner._should_stop = should_stop
        if not uses_early_stopping:
            # All rows stay in training. The loss is the cheapest score, and its value is not used.
            learner.early_stopping, learner.validation_fraction, learner.scoring = True, None, "loss"
        learner.fit(X, y, **params)
    if not uses_early_stopping:
        learner.do_early_stopping_, learner.train_score_ = False, np.array([])


def fit_forest(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit a forest in several calls; it has the trees of a plain fit, or the first of them."""
    _add_members(learner, stop_signal, lambda: learner.fit(X, y, **params))


def fit_bagging(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit bagging in several calls, like a forest; it has the members of a plain fit, or the first of them."""
    seeds: list[int] = []

    def fit() -> None:
        learner.fit(X, y, **params)
        seeds.extend(getattr(learner, "_seeds", ()))

    _add_members(learner, stop_signal, fit)
    # `predict` divides by it.
    learner.n_estimators = len(learner.estimators_)
    if seeds:
        # `estimators_samples_` draws the rows of each member from it; a call leaves the seeds of the members it added.
        learner._seeds = np.array(seeds)


def _add_members(learner: Any, stop_signal: StopSignal, fit: Callable[[], object]) -> None:
    """Fit with more and more members; every call checks all rows again, and cannot be stopped."""
    if several_calls.must_fit_in_one_call(learner, learner.n_estimators):
        fit()
        stop_signal.finish_setup()
        return
    restore_random_state = several_calls.save_random_state(learner.random_state)
    recorder = several_calls.WarningRecorder()

    def advance_to(n_members: int) -> None:
        restore_random_state()
        learner.n_estimators = n_members
        recorder.record(fit)
        learner.warm_start = True

    with preserve_attributes(learner, "n_estimators", "warm_start"):
        n_jobs = effective_n_jobs(learner.n_jobs)
        several_calls.advance_until(stop_signal, learner.n_estimators, advance_to, first_steps=n_jobs)
    # Balanced class weights warn that every call needs all rows, and every call gets them.
    recorder.show(unless=lambda warning: "warm_start" in str(warning.message))


def takes_validation_set(learner: Any) -> bool:
    """Return whether a booster, or the last step of a pipeline, stops early by a score on validation rows."""
    last = learner.steps[-1][1] if isinstance(learner, Pipeline) and learner.steps else learner
    if not hasattr(last, "get_params") or not has_fit_parameter(last, _ARGUMENT):
        return False
    params = last.get_params()
    return any(params.get(name) for name in _PATIENCE)


def has_validation_set(fit_params: Mapping[str, Any]) -> bool:
    """Return whether the user passes validation rows to the booster."""
    return bool({_ARGUMENT, "eval_X"} & set(fit_params))


def add_validation_set(fit_params: Mapping[str, Any], X: Any, y: Array) -> dict[str, Any]:
    """Return the arguments of `fit` with validation rows, which `pass_validation_set` gives to the learner."""
    return {**fit_params, _ARGUMENT: LabeledRows(X, y)}


def pass_validation_set(
    learner: Any, params: Mapping[str, Any], y: Array, earlier_steps: Pipeline | None = None
) -> dict[str, Any]:
    """Return the arguments of a learner's `fit`, with rows of `add_validation_set` in the form that it takes, if any.

    `y` holds the training labels or values; `earlier_steps` are the fitted steps before the learner, in a pipeline.
    """
    others, rows = dict(params), params.get(_ARGUMENT)
    if not isinstance(rows, LabeledRows):
        return others
    del others[_ARGUMENT]
    if not takes_validation_set(learner):
        return others
    if rows.y.dtype.kind != "f":
        # A booster refuses classes that are not among those of its training rows.
        rows = rows.take(np.flatnonzero(np.isin(rows.y, y)))
    if isinstance(learner, Pipeline):
        # The last step gets them as they are, and this function is called again there.
        return {**others, f"{learner.steps[-1][0]}__{_ARGUMENT}": rows}
    others[_ARGUMENT] = [(earlier_steps.transform(rows.X) if earlier_steps else rows.X, rows.y)]
    if type(learner).__module__.startswith("xgboost"):
        # Unless it is told not to, it prints a score for every tree.
        others["verbose"] = False
    return others
