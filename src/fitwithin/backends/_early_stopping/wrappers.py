"""A pipeline whose last step can be stopped."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from fitwithin.backends._early_stopping.base import Patience, stopping_fit
from fitwithin.backends._early_stopping.steps import replaced


def fit_pipeline(learner: Any, X: Any, y: Any, patience: Patience, params: Mapping[str, Any]) -> None:
    """Fit the pipeline as always, but for its last step, which is stopped as it would be alone.

    So its cache, its routing of metadata and its callbacks work as they do. The steps before cannot be stopped.
    """
    last = learner.steps[-1][1]
    stopping = stopping_fit(last)
    assert stopping is not None

    @functools.wraps(last.fit)
    def fit(X: Any, y: Any = None, **others: Any) -> Any:
        # From now on its own fit is wanted again.
        del last.fit
        stopping(last, X, y, patience, others)
        return last

    with replaced(last, "fit", fit):
        learner.fit(X, y, **params)


def can_stop_at_the_end(learner: Any) -> bool:
    """Whether the last step can be stopped."""
    return bool(learner.steps) and stopping_fit(learner.steps[-1][1]) is not None


def fit_any_labels(learner: Any, X: Any, y: Any, patience: Patience, params: Mapping[str, Any]) -> None:
    """Number the labels as always, and stop the classifier inside as it would be alone."""
    codes = learner.numbered(y)
    stopping = stopping_fit(learner.estimator_)
    assert stopping is not None
    stopping(learner.estimator_, X, codes, patience, params)


def can_stop_inside(learner: Any) -> bool:
    """Whether the classifier inside can be stopped."""
    return stopping_fit(learner.estimator) is not None
