"""A pipeline whose last step can be stopped."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from fitwithin.backends._early_stopping.base import StopSignal, find_early_stopping
from fitwithin.backends._early_stopping.steps import replaced


def fit_pipeline(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Fit the pipeline as always, but for its last step, which is stopped as it would be alone.

    So its cache, its routing of metadata and its callbacks work as they do. The steps before cannot be stopped.
    """
    last = learner.steps[-1][1]
    stopping = find_early_stopping(last)
    assert stopping is not None

    @functools.wraps(last.fit)
    def fit(X: Any, y: Any = None, **others: Any) -> Any:
        # From now on its own fit is wanted again.
        del last.fit
        stopping(last, X, y, stop_signal, others)
        return last

    with replaced(last, "fit", fit):
        learner.fit(X, y, **params)


def can_stop_at_the_end(learner: Any) -> bool:
    """Whether the last step can be stopped."""
    return bool(learner.steps) and find_early_stopping(learner.steps[-1][1]) is not None


def fit_any_labels(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Number the labels as always, and stop the classifier inside as it would be alone."""
    codes = learner.encode_labels(y)
    stopping = find_early_stopping(learner.estimator_)
    assert stopping is not None
    stopping(learner.estimator_, X, codes, stop_signal, params)


def can_stop_inside(learner: Any) -> bool:
    """Whether the classifier inside can be stopped."""
    return find_early_stopping(learner.estimator) is not None
