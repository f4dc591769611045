"""The lines that a session writes to the log: its start, each round and its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.log import LOGGER
from fitwithin._core.rounds import Round
from fitwithin._session.progress import DescribeCandidate
from fitwithin._session.result import SessionResult


class SessionLog:
    """Log a session at INFO: one line for its start, one for each round, one for its end.

    Parameters
    ----------
    budget : Budget
        The time limit.
    describe_candidate : callable, optional
        Returns the learner and the settings of a candidate of a search, by its number.

    Examples
    --------
    >>> import logging, sys
    >>> LOGGER.addHandler(handler := logging.StreamHandler(sys.stdout))
    >>> LOGGER.setLevel(logging.INFO)
    >>> from sklearn.naive_bayes import GaussianNB
    >>> SessionLog(Budget(60)).on_start(GaussianNB(), 20_000)
    Fitting GaussianNB on up to 20,000 rows within 60 s.
    >>> LOGGER.removeHandler(handler)
    >>> LOGGER.setLevel(logging.NOTSET)
    """

    def __init__(self, budget: Budget, describe_candidate: DescribeCandidate = str) -> None:
        self._budget = budget
        self._describe_candidate = describe_candidate

    def on_start(self, learner: Any, n_rows: int, other_learners: Sequence[Any] = ()) -> None:
        """Log the learner, or all learners of a search, the rows and the limit."""
        names = ", ".join(_name(one) for one in (learner, *other_learners))
        LOGGER.info("Fitting %s on up to %s rows within %g s.", names, f"{n_rows:,}", self._budget.seconds)

    def on_activity(self, activity: str, rows: int, candidate: int | None = None) -> None:
        """Log nothing: a round tells enough."""

    def on_round(self, finished: Round) -> None:
        """Log rows, score and seconds of a round, in a search also the learner and its settings."""
        candidate = finished.candidate
        LOGGER.info(
            "Round %d: %s%s rows, %s%s, %.1f s of training, %.1f s since the start.",
            finished.number,
            "" if candidate is None else f"{self._describe_candidate(candidate)}; ",
            f"{finished.rows:,}",
            _describe_score(finished.estimate, finished.low, finished.high),
            ", the best so far" if finished.best else "",
            finished.seconds_fit,
            finished.elapsed,
        )

    def on_end(self, result: SessionResult) -> None:
        """Log why the session ended, and the model that it returns."""
        estimate = result.record.fresh_estimate
        score = (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
        LOGGER.info(
            "Ended after %.1f s (%s): a model of %s rows, %s%s.",
            self._budget.elapsed(),
            result.stop_reason,
            f"{result.record.n_rows:,}",
            _describe_score(*score),
            f"; {result.seconds_lost:.1f} s went into fits that left no model" if result.seconds_lost else "",
        )


def _name(learner: Any) -> str:
    """Return the class of a learner, or of the last step of a pipeline."""
    return type(learner.steps[-1][1] if getattr(learner, "steps", None) else learner).__name__


def _describe_score(value: float | None, low: float | None, high: float | None) -> str:
    return "no score" if value is None else f"score {value:.4f} [{low:.4f}, {high:.4f}]"
