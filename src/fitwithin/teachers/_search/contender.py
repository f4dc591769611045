"""A setting of a learner in a search, and the trials that it has had."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from fitwithin._core.candidate import Candidate
from fitwithin._core.records import Estimate, Influence, difference_error
from fitwithin.teachers._auto.learning_curve import LearningCurve
from fitwithin.teachers._search.space import Settings

CLEAR_ERRORS = 1.5
"""Standard errors of the difference by which a setting must be ahead: it is the best of many, which are lucky too."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A fit of a contender, and its score on the validation rows.

    Parameters
    ----------
    n_rows : int
        Rows of the fit.
    score : Estimate
        Score on the validation rows.
    influence : array of float or None
        See `Answers.influence`.
    seconds : float
        Seconds of the fit and the exam.
    was_cut_short : bool
        Whether the fit was stopped early.
    """

    n_rows: int
    score: Estimate
    influence: Influence | None
    seconds: float
    was_cut_short: bool = False

    def is_clearly_better(self, other: Trial) -> bool:
        """Whether the score is higher by more than chance, by the rows on which the two differ."""
        is_paired = self.influence is not None and other.influence is not None
        error = difference_error(self.influence, other.influence) if is_paired else None  # type: ignore[arg-type]  # not None
        if error is None:
            error = math.hypot(self.score.standard_error, other.score.standard_error)
        return self.score.value - other.score.value > CLEAR_ERRORS * error


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
    seconds : float
        Seconds of all its fits and exams.
    """

    candidate: Candidate
    learner: int
    settings: Settings
    trials: list[Trial] = field(default_factory=list)
    failure: str | None = None
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


def describe_settings(settings: dict[str, Any]) -> str:
    """Return settings as text.

    Examples
    --------
    >>> describe_settings({"num_leaves": 63, "learning_rate": 0.123456})
    'num_leaves=63, learning_rate=0.123'
    >>> describe_settings({})
    'own settings'
    """
    values = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in settings.items()}
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "own settings"
