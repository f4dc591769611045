"""A fitted search, as far as pictures and reports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

from fitwithin.teachers._search.contender import describe_settings
from fitwithin.viz._fitted_estimator import FittedEstimator, check_fitted


class FittedSearch(FittedEstimator, Protocol):
    """A fitted `TimeConstrainedSearch`."""

    cv_results_: Mapping[str, Any]
    best_index_: int


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """A fit of a search that has a score.

    Parameters
    ----------
    candidate : int
        Number of the candidate: its place in `cv_results_`.
    learner : str
        Name of the learner.
    rows : int
        Training rows.
    score : float
        Score on the validation rows.
    seconds : float
        Seconds since the start of `fit`.
    """

    candidate: int
    learner: str
    rows: int
    score: float
    seconds: float


def is_search(estimator: FittedEstimator) -> TypeGuard[FittedSearch]:
    """Whether this is a fitted `TimeConstrainedSearch`."""
    return hasattr(estimator, "cv_results_")


def check_search(estimator: FittedEstimator) -> None:
    """Raise an error unless this is a fitted search.

    Raises
    ------
    TypeError
        If it is not a `TimeConstrainedSearch`.
    NotFittedError
        If `fit` was not called.
    """
    if not hasattr(estimator, "param_distributions"):
        raise TypeError(f"Got {type(estimator).__name__}; expected a fitted TimeConstrainedSearch.")
    check_fitted(estimator)


def list_scored_fits(search: FittedSearch) -> list[ScoredFit]:
    """Return the fits that have a score, in their order."""
    names = search.cv_results_["estimator"]
    return [
        ScoredFit(one.candidate, names[one.candidate], one.rows, one.estimate, one.elapsed)
        for one in search.history_
        if one.candidate is not None and one.estimate is not None
    ]


def list_failed(search: FittedSearch) -> list[int]:
    """Return the numbers of the candidates that failed."""
    return [number for number, reason in enumerate(search.cv_results_["ended"]) if str(reason).startswith("failed")]


def describe_candidate(search: FittedSearch, number: int) -> str:
    """Return the learner and the hyperparameters of a candidate as text."""
    results = search.cv_results_
    return f"{results['estimator'][number]}, {describe_settings(results['params'][number])}"
