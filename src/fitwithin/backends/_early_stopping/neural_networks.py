"""Stop scikit-learn's neural networks between two batches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fitwithin.backends._early_stopping.linear_models import (
    FitCall,
    fit_in_several_calls,
    report_iterations,
)
from fitwithin.backends._early_stopping.steps import StepTimer, WarningRecorder, override_method
from fitwithin.backends._early_stopping.stop_signal import StopSignal


class _StopTraining(KeyboardInterrupt):
    """Ends the fit of a network, which keeps its weights after a `KeyboardInterrupt`."""


def fit_neural_network(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit a network and check the time before every batch from the second epoch on.

    With enough time the model equals that of a plain fit. A fit that stops within an epoch keeps its weights but does
    not count the epoch in `n_iter_`. The solver `lbfgs` has no batches; see `fit_in_several_calls`.
    """

    def fit() -> None:
        learner.fit(X, y, **params)

    if learner.solver == "lbfgs":
        fit_in_several_calls(learner, fit, stop_signal)
    else:
        _fit_by_batches(learner, fit, stop_signal)


def can_stop_neural_network(learner: Any) -> bool:
    """Return whether this version of scikit-learn has the private method that `_fit_by_batches` overrides."""
    return learner.solver == "lbfgs" or hasattr(learner, "_backprop")


def _fit_by_batches(learner: Any, fit: FitCall, stop_signal: StopSignal) -> None:
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
    with override_method(learner, "_backprop", check_time_and_backprop), suppress(_StopTraining):
        recorder.record(fit)
    # scikit-learn has no category of its own for this warning, so its text must tell.
    recorder.show(unless=lambda warning: timer.is_stopped and "interrupted by user" in str(warning.message))
    report_iterations(stop_signal, learner.n_iter_, learner.max_iter if timer.is_stopped else learner.n_iter_)
