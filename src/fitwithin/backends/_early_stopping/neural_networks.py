"""Neural networks of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fitwithin.backends._early_stopping.base import StopSignal
from fitwithin.backends._early_stopping.linear_models import Fit, fit_in_parts, warmly
from fitwithin.backends._early_stopping.steps import LastWarned, OneMore, replaced


class _Enough(KeyboardInterrupt):
    """Ends the fit of a network, which takes Ctrl-C for a wish to stop and to keep what there is."""


def fit_network(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """A network: asked at every batch, from the second epoch on; the same model if there is time enough.

    It may end within an epoch, which then counts for its weights but not among its iterations. `lbfgs` has no batches,
    and is fitted in parts like a linear model, see `fit_in_parts`.
    """

    def fit() -> None:
        learner.fit(X, y, **params)

    if learner.solver == "lbfgs":
        fit_in_parts(learner, fit, stop_signal, warmly(learner, fit))
    else:
        _fit_batch_by_batch(learner, fit, stop_signal)


def _fit_batch_by_batch(learner: Any, fit: Fit, stop_signal: StopSignal) -> None:
    one_more = OneMore(stop_signal)
    backprop = learner._backprop
    is_over = False

    def ask_and_backprop(*batch: Any, **more: Any) -> Any:
        nonlocal is_over
        if learner.n_iter_ >= 1 and not one_more():
            is_over = True
            raise _Enough
        return backprop(*batch, **more)

    calls = LastWarned()
    with replaced(learner, "_backprop", ask_and_backprop), suppress(_Enough):
        calls(fit)
    calls.repeat(unless=lambda warning: is_over and "interrupted by user" in str(warning.message))


def goes_by_batches(learner: Any) -> bool:
    """Whether this scikit-learn has the method that we need."""
    return learner.solver == "lbfgs" or hasattr(learner, "_backprop")
