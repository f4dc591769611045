"""A classifier with labels of its own around one that can be stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._patience import Patience
from ._registry import stopping_fit


def fit_any_labels(learner: Any, X: Any, y: Any, patience: Patience, params: Mapping[str, Any]) -> None:
    """Number the labels as always, and stop the classifier inside as it would be alone."""
    codes = learner.numbered(y)
    stopping = stopping_fit(learner.estimator_)
    assert stopping is not None
    stopping(learner.estimator_, X, codes, patience, params)


def can_stop_inside(learner: Any) -> bool:
    """Whether the classifier inside can be stopped."""
    return stopping_fit(learner.estimator) is not None
