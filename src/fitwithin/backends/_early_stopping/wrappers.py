"""Stop the learner inside a pipeline or a label-encoded classifier."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from fitwithin.backends._early_stopping.registry import EarlyStoppingFit
from fitwithin.backends._early_stopping.steps import override_method
from fitwithin.backends._early_stopping.stop_signal import StopSignal
from fitwithin.backends._early_stopping.validation_set import transform_validation_set


def fit_pipeline(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any], *, inner_fit: EarlyStoppingFit
) -> None:
    """Fit the pipeline by its own `fit`, and stop its last step as if it stood alone.

    Caching, metadata routing and callbacks work as in a plain fit. The steps before the last cannot be stopped.
    """
    last = learner.steps[-1][1]

    @functools.wraps(last.fit)
    def fit_last_step(X: Any, y: Any = None, **others: Any) -> Any:
        # The call below needs the method that this function replaces.
        del last.fit
        inner_fit(last, X, y, stop_signal, transform_validation_set(learner, others))
        return last

    with override_method(last, "fit", fit_last_step):
        learner.fit(X, y, **params)


def get_last_step(learner: Any) -> Any:
    """Return the last step of a pipeline; None if it has no steps."""
    return learner.steps[-1][1] if learner.steps else None


def fit_label_encoded_classifier(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any], *, inner_fit: EarlyStoppingFit
) -> None:
    """Encode the labels, and stop the inner classifier as if it stood alone."""
    codes = learner.encode_labels(y)
    inner_fit(learner.estimator_, X, codes, stop_signal, params)


def get_inner_classifier(learner: Any) -> Any:
    """Return the classifier that learns the codes."""
    return learner.estimator
