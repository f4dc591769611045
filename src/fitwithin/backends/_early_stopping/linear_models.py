"""Stop linear models, most of them by fitting in several calls with a given number of iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fitwithin.backends._early_stopping.base import StopSignal
from fitwithin.backends._early_stopping.steps import (
    UNLIMITED,
    StepTimer,
    WarningRecorder,
    advance_until,
    must_fit_in_one_call,
    preserve_attributes,
    restart_until,
    save_random_state,
)

FitCall = Callable[[], object]
"""Fit the learner with its current parameters."""


ContinueFit = Callable[[int], object]
"""Add this many iterations to the last fit."""


# Share of the time left for a call that others can continue; it may be twice as slow as expected.
_TIME_SHARE = 1 / 2


# Share of the time left for a call that no other can continue, so that less time stays unused.
_LAST_CALL_TIME_SHARE = 2 / 3


# Largest ratio of the iterations of a call to all before it for newton-cg, whose iterations get slower.
_NEWTON_CG_MAX_GROWTH = 3


def fit_logistic_regression(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit logistic regression in the way that suits its solver.

    With enough time the model equals that of a plain fit.

    - `lbfgs` has a callback after every iteration from scikit-learn 1.9 on. Before that it is fitted in several calls,
      see `fit_in_several_calls`, like the other solvers.
    - `sag` and `saga` start anew in every call. Continuing would lose the gradients of all rows: one more iteration of
      `saga` undoes ten.
    - `newton-cholesky` starts anew too. In scikit-learn 1.6 it diverges if it continues with more than two classes.
    - `newton-cg` keeps no state between iterations, so that none is repeated. Each call starts its line search anew,
      which may change the last digits.
    """

    def fit() -> None:
        learner.fit(X, y, **params)

    continue_fit = continue_with_warm_start(learner, fit)
    if learner.solver == "lbfgs" and hasattr(learner, "set_callbacks"):
        _fit_with_callback(learner, fit, stop_signal)
    elif learner.solver == "lbfgs":
        fit_in_several_calls(learner, fit, stop_signal, continue_fit)
    elif learner.solver == "newton-cg":
        fit_in_several_calls(learner, fit, stop_signal, continue_fit, restarts=False, max_growth=_NEWTON_CG_MAX_GROWTH)
    else:
        fit_in_several_calls(learner, fit, stop_signal, None)


def can_stop_logistic_regression(learner: Any) -> bool:
    """Return whether the solver can be stopped; `liblinear` cannot, because it ignores `warm_start`."""
    return bool(learner.solver != "liblinear")


def fit_sgd(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit stochastic gradient descent in several calls, which keep its own stopping rule.

    Epochs that `partial_fit` adds at the end have no stopping rule but the time, and are slower. It resets an adaptive
    learning rate, so that no epochs are added there.
    """
    if "coef_init" in params or "intercept_init" in params:
        # The learner changes these arrays in place, so that only one call can start from them.
        learner.fit(X, y, **params)
        stop_signal.finish_setup()
        return
    weights = {name: value for name, value in params.items() if name == "sample_weight"}

    def add_epochs(n_epochs: int) -> None:
        for _ in range(n_epochs):
            learner.partial_fit(X, y, **weights)
        learner.n_iter_ = n_epochs

    is_adaptive = getattr(learner, "learning_rate", None) == "adaptive"
    continue_fit = None if is_adaptive else add_epochs
    fit_in_several_calls(learner, lambda: learner.fit(X, y, **params), stop_signal, continue_fit)


def continue_with_warm_start(learner: Any, fit: FitCall) -> ContinueFit:
    """Return a function that adds iterations by `warm_start`."""

    def add_iterations(n_iterations: int) -> None:
        learner.warm_start, learner.max_iter = True, n_iterations
        fit()

    return add_iterations


def fit_in_several_calls(
    learner: Any,
    fit: FitCall,
    stop_signal: StopSignal,
    continue_fit: ContinueFit | None,
    *,
    restarts: bool = True,
    max_growth: int = UNLIMITED,
) -> None:
    """Fit one iteration to measure its time; start anew with as many as half of the time allows; then continue.

    A call from scratch keeps the solver's whole state and its own stopping rule. With enough time such a call is
    therefore the last, and gives the model of a plain fit. If it stops before convergence, and there is no time for
    twice as many iterations, more calls continue from there, each for half of the time left. If the fit cannot be
    continued, a call gets two thirds.

    Parameters
    ----------
    learner : estimator
        Has `max_iter`, `warm_start`, `random_state` and `n_iter_`.
    fit : callable
        Fits the learner with its current parameters.
    stop_signal : StopSignal
        Time left.
    continue_fit : callable or None
        Adds iterations to the last call; None if that is impossible.
    restarts : bool, default=True
        Whether calls after the first one start anew while there is time.
    max_growth : int, optional
        See `advance_until`.
    """
    if must_fit_in_one_call(learner, learner.max_iter):
        fit()
        stop_signal.finish_setup()
        return
    iterative_fit = _IterativeFit(learner, fit, continue_fit)
    # Nobody knows how many iterations a solver needs until it converges.
    stop_signal.give_up_over = None
    with preserve_attributes(learner, "max_iter", "warm_start", "random_state"):
        if restarts:
            iteration_seconds = iterative_fit.restart(stop_signal)
        else:
            iteration_seconds = advance_until(
                stop_signal, learner.max_iter, iterative_fit.advance_to, max_growth=max_growth
            )
    # `advance_until` takes a fit that cannot be continued for a complete one.
    report_iterations(stop_signal, *iterative_fit.finish(), iteration_seconds)


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


class _IterativeFit:
    """A fit in several calls, and the iterations of all of them."""

    def __init__(self, learner: Any, fit: FitCall, continue_fit: ContinueFit | None) -> None:
        self._learner = learner
        self._fit = fit
        self._continue_fit = continue_fit
        self._max_iterations = learner.max_iter
        self._restore_random_state = save_random_state(learner.random_state)
        self._recorder = WarningRecorder()
        self._n_iterations = 0
        self._has_converged = False

    def restart(self, stop_signal: StopSignal) -> float:
        """Start anew while that pays, then continue until the time is up; return the seconds of an iteration."""
        can_continue = self._continue_fit is not None
        time_share = _TIME_SHARE if can_continue else _LAST_CALL_TIME_SHARE
        seconds = restart_until(stop_signal, self._max_iterations, self._start_anew, time_share=time_share)
        n_done, setup_seconds = self._n_iterations, stop_signal.setup_seconds
        n_missing = 0 if self._has_converged else self._max_iterations - n_done
        if can_continue and n_missing > 0 and stop_signal.seconds_left() > seconds:
            # The first call is a single iteration again: one that continues may take longer.
            seconds = advance_until(stop_signal, n_missing, lambda n_more: self.advance_to(n_done + n_more))
            stop_signal.setup_seconds = setup_seconds
        return seconds

    def advance_to(self, n_iterations: int) -> bool:
        """Advance to a total number of iterations; return whether more would help and are possible."""
        if self._n_iterations == 0 or self._continue_fit is None:
            return self._start_anew(n_iterations)
        self._add_iterations(self._continue_fit, n_iterations - self._n_iterations)
        self._has_converged = self._n_iterations < n_iterations
        return not self._has_converged

    def _start_anew(self, n_iterations: int) -> bool:
        self._restore_random_state()
        self._learner.warm_start, self._learner.max_iter = False, n_iterations
        self._recorder.record(self._fit)
        self._n_iterations = _count_iterations(self._learner)
        self._has_converged = self._n_iterations < n_iterations
        return not self._has_converged

    def _add_iterations(self, continue_fit: ContinueFit, n_iterations: int) -> None:
        # An integer would shuffle the rows into the same order in every call.
        self._learner.random_state = check_random_state(self._learner.random_state)
        self._recorder.record(lambda: continue_fit(n_iterations))
        self._n_iterations += min(n_iterations, _count_iterations(self._learner))

    def finish(self) -> tuple[int, int]:
        """Set `n_iter_`, show the warnings, and return the number of iterations, and of those of a complete fit.

        A fit that we stopped does not warn that it has not converged.
        """
        learner, done = self._learner, self._n_iterations
        learner.n_iter_ = np.full_like(learner.n_iter_, done) if np.ndim(learner.n_iter_) else done
        was_stopped = not self._has_converged and done < self._max_iterations
        self._recorder.show(unless=lambda warning: was_stopped and issubclass(warning.category, ConvergenceWarning))
        return done, self._max_iterations if was_stopped else done


def _count_iterations(learner: Any) -> int:
    """Return the iterations of the last call; the largest number if each class has its own."""
    return int(np.max(learner.n_iter_))


class _StopLbfgs:
    """A scikit-learn callback that ends L-BFGS between two iterations."""

    def __init__(self, stop_signal: StopSignal, max_iterations: int) -> None:
        stop_signal.give_up_over = None
        self.timer = StepTimer(stop_signal, max_iterations)

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing; the protocol asks for this method."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing; the protocol asks for this method."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Stop before any iteration but the first; scikit-learn 1.9 passes `StopIteration` on to scipy."""
        is_iteration = context.max_subtasks == 0
        if is_iteration and context.task_id == 0:
            self.timer.begin_steps()
        if is_iteration and context.task_id > 0 and not self.timer.finish_step():
            raise StopIteration

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Do nothing; it is also called after the last iteration, when scipy does not catch `StopIteration`."""


def _fit_with_callback(learner: Any, fit: FitCall, stop_signal: StopSignal) -> None:
    stop = _StopLbfgs(stop_signal, learner.max_iter)
    # scikit-learn 1.9 has no public way to read the callbacks that the user set.
    user_callbacks = getattr(learner, "_skl_callbacks", [])
    recorder = WarningRecorder()
    learner.set_callbacks(*user_callbacks, stop)
    try:
        recorder.record(fit)
    finally:
        learner.set_callbacks(*user_callbacks)
    stop.timer.finish_fit()
    recorder.show(unless=lambda warning: stop.timer.is_stopped and issubclass(warning.category, ConvergenceWarning))
