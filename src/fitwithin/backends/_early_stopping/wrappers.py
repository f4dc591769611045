"""Stop the learner inside a pipeline or a label-encoded classifier."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from fitwithin.backends._early_stopping.base import StopSignal, find_early_stopping
from fitwithin.backends._early_stopping.steps import override_method


def fit_pipeline(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit the pipeline by its own `fit`, and stop its last step as if it stood alone.

    Caching, metadata routing and callbacks work as in a plain fit. The steps before the last cannot be stopped.
    """
    last = learner.steps[-1][1]

    @functools.wraps(last.fit)
    def fit_last_step(X: Any, y: Any = None, **others: Any) -> Any:
        # The call below needs the method that this function replaces.
        del last.fit
        _fit_inner_learner(last, X, y, stop_signal, others)
        return last

    with override_method(last, "fit", fit_last_step):
        learner.fit(X, y, **params)


def can_stop_pipeline(learner: Any) -> bool:
    """Return whether the last step can be stopped."""
    return bool(learner.steps) and find_early_stopping(learner.steps[-1][1]) is not None


def fit_label_encoded_classifier(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]
) -> None:
    """Encode the labels, and stop the inner classifier as if it stood alone."""
    codes = learner.encode_labels(y)
    _fit_inner_learner(learner.estimator_, X, codes, stop_signal, params)


def can_stop_label_encoded_classifier(learner: Any) -> bool:
    """Return whether the inner classifier can be stopped."""
    return find_early_stopping(learner.estimator) is not None


def _fit_inner_learner(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    early_stopping = find_early_stopping(learner)
    if early_stopping is None:
        learner.fit(X, y, **params)
    else:
        early_stopping(learner, X, y, stop_signal, params)
