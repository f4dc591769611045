"""A setting of a learner in a search, and the trials that it has had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fitwithin._core.candidate import Candidate
from fitwithin._core.preference import is_clearly_better, paired_error
from fitwithin._core.records import Answers, Estimate
from fitwithin.teachers._auto.learning_curve import LearningCurve
from fitwithin.teachers._search.space import Settings


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit of a contender, and its answers on the validation rows.

    Parameters
    ----------
    n_rows : int
        Rows of the fit.
    answers : Answers
        Answers to the exam on the validation rows.
    score : Estimate
        Their score.
    seconds : float
        Seconds of the fit and the exam.
    was_cut_short : bool
        Whether the fit was stopped early.
    """

    n_rows: int
    answers: Answers
    score: Estimate
    seconds: float
    was_cut_short: bool = False

    def difference_error(self, other: Trial) -> float:
        """Return the standard error of the difference between the scores, by the rows on which the two differ."""
        return paired_error(self.answers, other.answers)

    def is_clearly_better(self, other: Trial, n_tried: int) -> bool:
        """Whether the score is higher by more than chance, as the best of `n_tried` candidates."""
        return is_clearly_better(self.score, other.score, self.difference_error(other), n_tried=n_tried)


@dataclass(eq=False)
class Contender:
    """A setting of a learner, and what is known about it.

    Parameters
    ----------
    candidate : Candidate
        The learner with these settings.
    learner : int
        The learner's place among those of the search.
    settings : dict
        Its settings, as far as they are not the learner's own.
    trials : list of Trial
        Its trials, in their order.
    failure : str or None
        Why it is out: the learner's error, or its end.
    error : Exception or None
        What the session raised.
    was_killed : bool
        Whether it was killed because its share of the time was over.
    is_beaten : bool
        Whether it was left behind when the subset grew, because it was clearly worse than the leader.
    seconds : float
        Seconds of all its fits and exams.
    """

    candidate: Candidate
    learner: int
    settings: Settings
    trials: list[Trial] = field(default_factory=list)
    failure: str | None = None
    error: Exception | None = None
    was_killed: bool = False
    is_beaten: bool = False
    seconds: float = 0.0
    curve: LearningCurve = field(default_factory=LearningCurve)

    @property
    def has_own_settings(self) -> bool:
        """Whether the learner is as the user gave it."""
        return self.candidate.has_own_settings

    @property
    def n_rows(self) -> int:
        """Rows of the largest trial; 0 before the first."""
        return max((trial.n_rows for trial in self.trials), default=0)

    @property
    def last(self) -> Trial | None:
        """The trial with the most rows."""
        return max(self.trials, key=lambda trial: trial.n_rows, default=None)

    def find_trial(self, n_rows: int) -> Trial | None:
        """Return the trial with this number of rows."""
        return next((trial for trial in self.trials if trial.n_rows == n_rows), None)

    def score_at(self, n_rows: int) -> float:
        """Return the score of the trial with this number of rows; minus infinity if there is none."""
        trial = self.find_trial(n_rows)
        return float("-inf") if trial is None else trial.score.value

    def add_trial(self, trial: Trial) -> None:
        """Note a trial."""
        self.trials.append(trial)
        if not trial.was_cut_short:
            self.curve.observe(trial.n_rows, trial.score.value, trial.score.standard_error)


@dataclass(frozen=True, eq=False)
class InHand:
    """The model that the session would return now: a contender and its trial.

    Parameters
    ----------
    contender : Contender
        The contender.
    trial : Trial
        The trial that its model is from.
    """

    contender: Contender
    trial: Trial


def find_best(contenders: Sequence[Contender], n_rows: int) -> Contender | None:
    """Return the contender with the best score on this number of rows; None if none was tried on that number."""
    tried = [one for one in contenders if one.failure is None and one.find_trial(n_rows) is not None]
    return max(tried, key=lambda one: one.score_at(n_rows), default=None)


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
