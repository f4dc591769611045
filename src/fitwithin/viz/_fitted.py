"""What is drawn: a fitted estimator, as far as the pictures look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.records import Round


class Fitted(Protocol):
    """A fitted `TimeConstrainedClassifier` or `TimeConstrainedRegressor`."""

    scoring: Any
    history_: Sequence[Round]
    stop_reason_: str
    time_limit_: float
    time_used_: float
    n_rows_in_: int
    n_rows_taught_: int
    score_estimate_: tuple[float, float, float] | None


def check_fitted(estimator: Fitted) -> None:
    """Refuse what was not fitted, or is not ours.

    Raises
    ------
    TypeError
        If it is something else than an estimator of ours.
    NotFittedError
        If `fit` was not called.
    """
    if not hasattr(estimator, "time_limit"):
        raise TypeError(
            "A picture is drawn of a fitted TimeConstrainedClassifier or TimeConstrainedRegressor; "
            f"got {type(estimator).__name__}."
        )
    check_is_fitted(estimator, "history_")


def score_name(estimator: Fitted) -> str:
    """What the score is called.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor
    >>> score_name(TimeConstrainedRegressor()), score_name(TimeConstrainedClassifier(scoring="balanced_accuracy"))
    ('R²', 'balanced accuracy')
    """
    scoring = estimator.scoring
    if scoring is None:
        return "R²" if is_regressor(estimator) else "accuracy"
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    return str(getattr(scoring, "__name__", scoring))


def returned(estimator: Fitted) -> Round | None:
    """The round whose model was returned; None if it was cut off before it was noted."""
    return next((one for one in reversed(estimator.history_) if one.best), None)
