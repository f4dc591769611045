"""A fitted estimator and a fitted search, as far as pictures and reports read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.rounds import Round


class FittedEstimator(Protocol):
    """A fitted `TimeConstrainedClassifier` or `TimeConstrainedRegressor`."""

    scoring: Any
    history_: Sequence[Round]
    stop_reason_: str
    time_limit_: float
    time_used_: float
    lost_seconds_: float
    memory_limit_: int | None
    n_rows_in_: int
    n_rows_trained_: int
    score_estimate_: tuple[float, float, float] | None


class FittedSearch(FittedEstimator, Protocol):
    """A fitted `TimeConstrainedSearch`."""

    cv_results_: Mapping[str, Any]
    best_index_: int


def check_fitted(estimator: FittedEstimator) -> None:
    """Raise an error unless this is a fitted estimator of this package.

    Raises
    ------
    TypeError
        If it is not a `TimeConstrainedClassifier` or `TimeConstrainedRegressor`.
    NotFittedError
        If `fit` was not called.
    """
    if not hasattr(estimator, "time_limit"):
        raise TypeError(
            f"Got {type(estimator).__name__}; expected a fitted TimeConstrainedClassifier or TimeConstrainedRegressor."
        )
    check_is_fitted(estimator, "history_")


def check_search(estimator: FittedEstimator) -> None:
    """Raise a TypeError if this is not a `TimeConstrainedSearch`, fitted or not."""
    if not hasattr(estimator, "param_distributions"):
        raise TypeError(f"Got {type(estimator).__name__}; expected a fitted TimeConstrainedSearch.")


def is_search(estimator: FittedEstimator) -> TypeGuard[FittedSearch]:
    """Whether this is a fitted `TimeConstrainedSearch`."""
    return hasattr(estimator, "cv_results_")


def score_name(estimator: FittedEstimator) -> str:
    """Return the name of the score.

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


def find_best_round(estimator: FittedEstimator) -> Round | None:
    """Return the round of the returned model, or None if no finished round has it."""
    return next((finished for finished in reversed(estimator.history_) if finished.best), None)


def group_scored_rounds(search: FittedSearch) -> dict[str, list[Round]]:
    """Return the rounds of candidates that have a score, by the name of the learner."""
    rounds: dict[str, list[Round]] = {}
    for finished in search.history_:
        if finished.candidate is not None and finished.estimate is not None:
            rounds.setdefault(search.cv_results_["estimator"][finished.candidate], []).append(finished)
    return rounds


def list_failed(search: FittedSearch) -> list[int]:
    """Return the numbers of the candidates that failed."""
    return [number for number, reason in enumerate(search.cv_results_["ended"]) if str(reason).startswith("failed")]
