"""Boosters that tell of every tree: callbacks, a monitor, a method of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fitwithin.backends._early_stopping.base import StopSignal
from fitwithin.backends._early_stopping.steps import OneMore, kept, replaced

# From how many rows on histogram boosting stops early by itself, if nobody says whether it should; documented.
_MANY_ROWS = 10_000


_NEVER = 1 << 30


# Documented default.
_CATBOOST_ITERATIONS = 1000


def fit_lightgbm(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """LightGBM: asked after every iteration, ends as if `n_estimators` had been reached.

    The same model as without us if there is time enough.
    """
    from lightgbm.callback import EarlyStopException

    others = dict(params)
    callbacks = list(others.pop("callbacks", None) or [])
    one_more = OneMore(stop_signal, learner.get_params()["n_estimators"])
    judge: Any = None

    def stop(env: Any) -> None:
        nonlocal judge
        if env.iteration == env.begin_iteration:
            judge = _judge(env, callbacks)
        is_last = not one_more()
        if judge is not None:
            judge(dataclasses.replace(env, end_iteration=env.iteration + 1) if is_last else env)
        if is_last:
            raise EarlyStopException(env.iteration, env.evaluation_result_list or [])

    # After the user's own, and after early stopping.
    stop.order = 100  # type: ignore[attr-defined]  # it is how LightGBM orders callbacks
    learner.fit(X, y, callbacks=[*callbacks, stop], **others)


def _judge(env: Any, callbacks: Sequence[Any]) -> Any:
    """LightGBM's own early stopping once more, if the user wants it, for the best iteration at the end of the time.

    With a stop_signal that has no end; the user's ends the fit as always.
    """
    from lightgbm import early_stopping

    kind = type(early_stopping(_NEVER, verbose=False))
    for callback in callbacks:
        if isinstance(callback, kind):
            return early_stopping(_NEVER, callback.first_metric_only, verbose=False, min_delta=callback.min_delta)
    if env.params.get("early_stopping_round", 0) > 0:
        first_only, delta = env.params.get("first_metric_only", False), env.params.get("early_stopping_min_delta", 0.0)
        return early_stopping(_NEVER, first_only, verbose=False, min_delta=delta)
    return None


def fit_xgboost(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """XGBoost: asked before every iteration but the first.

    The same model as without us if there is time enough. Before, not after: the callbacks that XGBoost adds by itself,
    such as early stopping, come after ours, and would not see the last iteration.
    """
    from xgboost.callback import TrainingCallback

    one_more = OneMore(stop_signal, learner.get_num_boosting_rounds())

    class Stop(TrainingCallback):
        started = False

        def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            started, self.started = self.started, True
            return started and not one_more()

    with kept(learner, "callbacks"):
        learner.callbacks = [*(learner.callbacks or []), Stop()]
        learner.fit(X, y, **params)


def fit_catboost(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """CatBoost: asked after every iteration; the same model as without us if there is time enough."""
    one_more = OneMore(stop_signal, learner.get_param("iterations") or _CATBOOST_ITERATIONS)

    class Stop:
        def after_iteration(self, info: Any) -> bool:
            return one_more()

    others = dict(params)
    learner.fit(X, y, callbacks=[*(others.pop("callbacks", None) or []), Stop()], **others)


def is_on_the_processor(learner: Any) -> bool:
    """Whether CatBoost calls back, as it does not from a graphics card."""
    return str(learner.get_params().get("task_type", "CPU")).upper() == "CPU"


def fit_gradient_boosting(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Gradient boosting: its monitor is asked after every stage; the same model if there is time enough."""
    others = dict(params)
    users = others.pop("monitor", None)
    one_more = OneMore(stop_signal, learner.n_estimators)

    def monitor(stage: int, model: Any, local: Any) -> bool:
        wants_to_stop = users is not None and bool(users(stage, model, local))
        return wants_to_stop or not one_more()

    learner.fit(X, y, monitor=monitor, **others)


def fit_hist_gradient_boosting(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]
) -> None:
    """Histogram boosting: asked after every iteration; the same model as without us if there is time enough.

    By its own early stopping, of which one method has a second opinion for the time of the fit. A few calls with
    `warm_start` would need no private name, but each bins all rows again: a third of a whole fit for 100,000 rows of
    50 numbers. scikit-learn's callbacks will do once they have come to it.
    """
    one_more = OneMore(stop_signal, learner.max_iter)
    stops_early = _stops_early(learner, X, params)
    own = learner._should_stop

    def should_stop(scores: Any) -> bool:
        wants_to_stop = stops_early and bool(own(scores))
        return wants_to_stop or not one_more()

    with (
        kept(learner, "early_stopping", "validation_fraction", "scoring"),
        replaced(learner, "_should_stop", should_stop),
    ):
        if not stops_early:
            # All rows stay in training, and the loss, which is looked at by nobody, is the cheapest score.
            learner.early_stopping, learner.validation_fraction, learner.scoring = True, None, "loss"
        learner.fit(X, y, **params)
    if not stops_early:
        learner.do_early_stopping_, learner.train_score_ = False, np.array([])


def _stops_early(learner: Any, X: Any, params: Mapping[str, Any]) -> bool:
    """Whether it will stop early by itself, or complain that it cannot.

    With rows to validate on nobody but scikit-learn knows: 1.9 does other than its documentation says.
    """
    if params.get("X_val") is not None or params.get("y_val") is not None:
        return True
    if learner.early_stopping == "auto":
        return int(X.shape[0] if hasattr(X, "shape") else len(X)) > _MANY_ROWS
    return bool(learner.early_stopping)


def asks_itself(learner: Any) -> bool:
    """Whether this scikit-learn has the method that we need."""
    return hasattr(learner, "_should_stop")
