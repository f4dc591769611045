"""Stop linear models and neural networks, most of them by fits from scratch with more and more iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fitwithin.backends._early_stopping.several_calls import (
    WarningRecorder,
    must_fit_in_one_call,
    restart_until,
    save_random_state,
)
from fitwithin.backends._early_stopping.stop_signal import StepTimer, StopSignal, preserve_attributes


def fit_sgd(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit stochastic gradient descent in several calls, which keep its own stopping rule.

    Epochs that `partial_fit` adds at the end have no stopping rule but the time, and are slower. It resets an adaptive
    learning rate, so that no epochs are added there.
    """
    weights = {name: value for name, value in params.items() if name == "sample_weight"}
    is_adaptive = getattr(learner, "learning_rate", None) == "adaptive"
    add_epoch = None if is_adaptive else lambda: learner.partial_fit(X, y, **weights)
    fit_in_several_calls(learner, X, y, stop_signal, params, add_epoch)


def fit_in_several_calls(
    learner: Any,
    X: Any,
    y: Any,
    stop_signal: StopSignal,
    params: Mapping[str, Any],
    add_iteration: Callable[[], object] | None = None,
) -> None:
    """Fit from scratch with more and more iterations, see `restart_until`, and add iterations while there is time.

    A call from scratch keeps the solver's whole state and its own stopping rule. With enough time such a call is
    therefore the last, and gives the model of a plain fit. Solvers that continue would lose their state: one more
    iteration of `saga` by `warm_start` undoes ten. A fit that we stopped does not warn that it has not converged.

    Parameters
    ----------
    learner : estimator
        Has `max_iter`, `warm_start`, `random_state` and `n_iter_`.
    X, y
        The training rows.
    stop_signal : StopSignal
        Time left.
    params : dict
        Other arguments of its `fit`.
    add_iteration : callable or None
        Adds an iteration to the last call; None if that is impossible.
    """
    # The learner changes initial coefficients in place, so that only one call can start from them.
    if must_fit_in_one_call(learner, learner.max_iter) or {"coef_init", "intercept_init"} & set(params):
        learner.fit(X, y, **params)
        stop_signal.finish_setup()
        return
    max_iterations = learner.max_iter
    restore_random_state = save_random_state(learner.random_state)
    recorder = WarningRecorder()

    def start_anew(n_iterations: int) -> bool:
        restore_random_state()
        learner.warm_start, learner.max_iter = False, n_iterations
        recorder.record(lambda: learner.fit(X, y, **params))
        return _count_iterations(learner) >= n_iterations

    with preserve_attributes(learner, "max_iter", "warm_start", "random_state"):
        seconds = restart_until(stop_signal, max_iterations, start_anew)
        n_iterations = _count_iterations(learner)
        has_converged = n_iterations < learner.max_iter
        if add_iteration is not None and not has_converged:
            # An integer would shuffle the rows into the same order in every call.
            learner.random_state = check_random_state(learner.random_state)
            while n_iterations < max_iterations and (left := stop_signal.seconds_left()) > seconds:
                recorder.record(add_iteration)
                seconds = left - stop_signal.seconds_left()
                n_iterations += 1
            learner.n_iter_ = n_iterations
    was_stopped = not has_converged and n_iterations < max_iterations
    recorder.show(unless=lambda warning: was_stopped and issubclass(warning.category, ConvergenceWarning))
    report_iterations(stop_signal, n_iterations, max_iterations if was_stopped else n_iterations, seconds)


def report_iterations(
    stop_signal: StopSignal, n_iterations: int, max_iterations: int, iteration_seconds: float | None = None
) -> None:
    """Report the iterations of a solver that converges, and the seconds of those that it skipped.

    Nobody knows how many iterations it would still need: as many as it took so far is a guess.

    Parameters
    ----------
    stop_signal : StopSignal
        Told of the iterations.
    n_iterations, max_iterations : int
        Iterations that were taken, and the most that it would have taken; the same if it was not stopped.
    iteration_seconds : float, optional
        Seconds of an iteration; by default those of the fit so far, divided by its iterations.
    """
    seconds, n_skipped = stop_signal.elapsed_seconds, max_iterations - n_iterations
    if iteration_seconds is None:
        iteration_seconds = seconds / max(1, n_iterations)
    stop_signal.n_steps, stop_signal.planned_steps = n_iterations, max_iterations
    stop_signal.skipped_seconds = min(n_skipped * iteration_seconds, seconds)


def _count_iterations(learner: Any) -> int:
    """Return the iterations of the last call; the largest number if each class has its own."""
    return int(np.max(learner.n_iter_))


class _StopTraining(KeyboardInterrupt):
    """Ends the fit of a network, which keeps its weights after a `KeyboardInterrupt`."""


def fit_neural_network(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit a network and check the time before every batch from the second epoch on.

    With enough time the model equals that of a plain fit. A fit that stops within an epoch keeps its weights but does
    not count the epoch in `n_iter_`. The solver `lbfgs` has no batches; see `fit_in_several_calls`.
    """
    if learner.solver == "lbfgs":
        fit_in_several_calls(learner, X, y, stop_signal, params)
        return
    # A network stops when its loss no longer falls, so its epochs are not known.
    stop_signal.give_up_over = None
    timer = StepTimer(stop_signal)
    # Networks have no callbacks; this private method is called once for every batch.
    backprop = learner._backprop

    def check_time_and_backprop(*batch: Any, **others: Any) -> Any:
        if stop_signal.setup_seconds is None:
            stop_signal.finish_setup()
        if learner.n_iter_ >= 1 and not timer.finish_step():
            raise _StopTraining
        return backprop(*batch, **others)

    recorder = WarningRecorder()
    with preserve_attributes(learner, "_backprop"), suppress(_StopTraining):
        learner._backprop = check_time_and_backprop
        recorder.record(lambda: learner.fit(X, y, **params))
    # scikit-learn has no category of its own for this warning, so its text must tell.
    recorder.show(unless=lambda warning: timer.is_stopped and "interrupted by user" in str(warning.message))
    report_iterations(stop_signal, learner.n_iter_, learner.max_iter if timer.is_stopped else learner.n_iter_)
