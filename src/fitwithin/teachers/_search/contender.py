"""A learner with hyperparameters in a search, and the trials that it has had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fitwithin._core.preference import Candidate, paired_error
from fitwithin._core.records import Answers, Estimate, LessonReport
from fitwithin.teachers._learning_curve import ERROR_EXPONENT, find_error_exponent, find_error_share
from fitwithin.teachers._search.space import Settings


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit of a contender, and its score on the validation rows.

    Parameters
    ----------
    score : Estimate
        The score.
    was_cut_short : bool, default=False
        Whether the fit was stopped early.
    answers : Answers or None, default=None
        Answers on the validation rows; None for a trial of an earlier call.
    """

    score: Estimate
    was_cut_short: bool = False
    answers: Answers | None = None

    def difference_error(self, other: Trial) -> float:
        """Return the standard error of the difference between two scores."""
        if self.answers and other.answers:
            return paired_error(self.answers, other.answers)
        return math.hypot(self.score.standard_error, other.score.standard_error)


@dataclass(eq=False)
class Contender(Candidate):
    """A candidate in the race, and what is known about it.

    Parameters
    ----------
    number, estimator, costs, has_own_settings
        See `Candidate`.
    learner : int
        The learner's place among those of the search.
    settings : dict
        Its hyperparameters, as far as they are not the learner's own.
    trials : dict of int to Trial
        The newest trial by its number of rows, in the order of the first ones.
    failure : str or None
        Why it is out: the learner's error, or its end.
    error : Exception or None
        What the session raised.
    was_killed : bool
        Whether it was killed because its share of the time was over.
    n_steps : int or None
        Steps of a complete fit; None if they are unknown.
    promise : float
        Score expected of it after its last trial, on the rows that a last fit could have.
    """

    learner: int = 0
    settings: Settings = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)
    failure: str | None = None
    error: Exception | None = None
    was_killed: bool = False
    n_steps: int | None = None
    promise: float = -math.inf

    @property
    def is_alive(self) -> bool:
        """Whether it has a score and did not fail."""
        return self.failure is None and bool(self.trials)

    @property
    def has_raised(self) -> bool:
        """Whether it failed, and not because its share of the time was over."""
        return self.failure is not None and not self.was_killed

    @property
    def n_rows(self) -> int:
        """Rows of the largest trial; 0 before the first."""
        return max(self.trials, default=0)

    @property
    def last(self) -> Trial | None:
        """The newest trial with the most rows."""
        return self.trials.get(self.n_rows)

    @property
    def score(self) -> float:
        """The score of the largest trial; minus infinity before the first."""
        return -math.inf if self.last is None else self.last.score.value

    def note_report(self, n_rows: int, report: LessonReport) -> bool:
        """Note a trial; return whether it has a score."""
        answers = report.answers.get("validation")
        self.n_steps = report.planned_steps
        if answers is None or answers.score is None or not math.isfinite(answers.score.value):
            return False
        self.trials[n_rows] = Trial(answers.score, report.was_cut_short, answers)
        return True

    @property
    def exponent(self) -> float | None:
        """By which its errors fall, from its last two sizes; None if there is one size only."""
        complete = {n_rows: one.score.value for n_rows, one in self.trials.items() if not one.was_cut_short}
        sizes = sorted(complete)[-2:]
        if len(sizes) < 2:
            return None
        error, smaller_error = (_find_error(complete[n_rows]) for n_rows in sizes)
        return find_error_exponent(sizes[0], error, sizes[1], smaller_error)

    def expect_score(self, n_rows: int, exponent: float) -> float:
        """Return the score expected on more rows than the last trial's; without a second size, `exponent` is used."""
        if not self.is_alive:
            return -math.inf
        own = exponent if self.exponent is None else self.exponent
        return self.score + (1 - find_error_share(self.n_rows, n_rows, own)) * _find_error(self.score)


def find_exponent(contenders: Sequence[Contender]) -> float:
    """Return the exponent of the contender with the most rows; see `Contender.exponent`."""
    known = [(one.n_rows, one.exponent) for one in contenders if one.exponent is not None]
    return max(known)[1] if known else ERROR_EXPONENT


def _find_error(score: float) -> float:
    """Return what a score is short of the best one: 1 for accuracy and the like, else 0."""
    return 1 - score if 0 <= score <= 1 else abs(score)


def describe_settings(settings: dict[str, Any]) -> str:
    """Return settings as text.

    Examples
    --------
    >>> describe_settings({"num_leaves": 63, "learning_rate": 0.123456})
    'num_leaves=63, learning_rate=0.123'
    >>> describe_settings({})
    'own hyperparameters'
    """
    values = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in settings.items()}
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "own hyperparameters"
