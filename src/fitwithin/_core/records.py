"""Requests of teachers and the answers to them; all frozen."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fitwithin._core.preference import Candidate

Rows = npt.NDArray[np.integer[Any]]  # row numbers of a pool, in the narrowest sufficient type
Mask = npt.NDArray[np.bool_]  # one boolean for each row
Margins = npt.NDArray[np.float32]  # for each row, the gap between the probabilities of its two likeliest classes
Influence = npt.NDArray[np.float32]  # what each row, or each resample, adds to the error of a score
ClassCounts = npt.NDArray[np.integer[Any]]
Returns = Literal["best", "last"]  # whether a teacher wants its best model back, or its last one
Purpose = Literal["mistakes", "score", "validation", "holdout"]  # of an exam; see `Exam`

StopReason = Literal[
    "time", "all rows", "no gain", "no mistakes", "on_round", "interrupted", "learner failed", "memory", "fallback"
]
"""Why a session ended."""

# Share of the rows of an exam that a model may leave unpredicted and still be compared with others.
MAX_UNPREDICTED = 0.01
Z_95 = 1.96  # standard errors from the middle of a 95 % interval to its ends


@dataclass(frozen=True)
class Estimate:
    """A score and its 95 % interval.

    Parameters
    ----------
    value, low, high : float
        The score and the ends of its interval; infinite where they are unknown.
    error : float or None, default=None
        The standard error; None if it follows from the ends.
    """

    value: float
    low: float
    high: float
    error: float | None = None

    @property
    def standard_error(self) -> float:
        """The standard error."""
        return (self.high - self.low) / (2 * Z_95) if self.error is None else self.error


def difference_error(first: Influence, second: Influence) -> float | None:
    """Return the standard error of the difference between the scores of two models on the same rows.

    Parameters
    ----------
    first, second : array of float
        `Answers.influence` of the two models. If they do not belong to the same rows, the error is None.

    Examples
    --------
    >>> import numpy as np
    >>> difference_error(np.array([0.3, 0.1], np.float32), np.array([0.3, 0.2], np.float32)).__round__(3)
    0.1
    """
    return float(np.linalg.norm(first - second)) if len(first) == len(second) else None


@dataclass(frozen=True)
class FitLimits:
    """How long a fit may take.

    Parameters
    ----------
    stop_after, kill_after : float or None
        Seconds after which a learner that can stop early is told to stop, and after which its fit or exam is killed.
    give_up_over : float or None
        Seconds of the whole fit, as projected after its first steps, above which it ends there and leaves no model.
    """

    stop_after: float | None = None
    kill_after: float | None = None
    give_up_over: float | None = None


NO_LIMITS = FitLimits()


def make_limit(seconds: float) -> float | None:
    """Return the seconds of a lesson or an exam; None without a deadline."""
    return seconds if math.isfinite(seconds) else None


@dataclass(frozen=True, eq=False)
class Exam:
    """A teacher's request: let the model of the last lesson predict these rows, and compare.

    Parameters
    ----------
    rows : array of int
        Row numbers of the pool.
    purpose : {"mistakes", "score", "validation", "holdout"}, default="mistakes"
        Find rows that the model gets wrong, score it, decide which model is best, or serve `score_estimate_` only.
    margins : bool, default=False
        Whether to return `Answers.margins` too; the learner needs `predict_proba`.
    seconds : float or None, default=None
        Most seconds for the predictions. `Answers.rows` holds the first rows only, those that were predicted by then.

    Examples
    --------
    >>> Exam(np.arange(3)).rows
    array([0, 1, 2])
    """

    rows: Rows
    purpose: Purpose = "mistakes"
    margins: bool = False
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Lesson:
    """A teacher's request: fit a new model on exactly these rows. It is answered with a `LessonReport`.

    Parameters
    ----------
    rows : array of int
        Row numbers of the pool.
    exams : tuple of Exam, default=()
        Exams of its model, at most one for each purpose; the report has their answers.
    batch : int or None, default=None
        With a number, the model of the last lesson continues by `partial_fit`, with this number of rows in each call.
    stop_after, kill_after, give_up_over : float or None, default=None
        Seconds; see `FitLimits`.
    refit : bool, default=False
        Whether these are all rows of the best model and the held-out ones; it passes its scores on to the new model.
    oversampled : bool, default=False
        Whether misclassified rows are more frequent than in the pool; such a model never wins a tie.
    expected_score : float or None, default=None
        The score on the validation rows that the teacher expects of the model, for the history.
    candidate : Candidate or None, default=None
        In a session with several learners, the one to fit. If it fails, its exception is raised in the teacher.

    Examples
    --------
    >>> Lesson(np.arange(3)).rows
    array([0, 1, 2])
    """

    rows: Rows
    exams: tuple[Exam, ...] = ()
    batch: int | None = None
    stop_after: float | None = None
    kill_after: float | None = None
    give_up_over: float | None = None
    refit: bool = False
    oversampled: bool = False
    expected_score: float | None = None
    candidate: Candidate | None = None

    @property
    def limits(self) -> FitLimits:
        """How long the fit may take."""
        return FitLimits(self.stop_after, self.kill_after, self.give_up_over)


@dataclass(frozen=True)
class Wait:
    """A request of one of several generators of a teacher: wait until another generator has made progress.

    It is answered with None. If no other one is at work, the first generator is answered at once; any other one ends.
    """


@dataclass(frozen=True, eq=False)
class Answers:
    """The answer to an `Exam`: which of its rows the model got wrong.

    Parameters
    ----------
    rows : array of int
        The rows of the exam, in its order.
    wrong : array of bool
        Whether the model is wrong on each of them.
    margins : array of float or None
        The margin of each row, between 0 and 1, if the exam asked for it.
    score : Estimate or None
        The user's score over these rows, for the purposes "score" and "validation".
    influence : array of float or None
        What each row, or each resample, adds to the error of the score, the root of the sum of squares.
    unpredicted : int, default=0
        Rows that the model could not predict; in an exam on validation rows, up to 1 % are left out of `rows`.

    Examples
    --------
    >>> Answers(np.array([7, 3, 5]), np.array([True, False, False])).mistakes
    1
    """

    rows: Rows
    wrong: Mask
    margins: Margins | None = None
    score: Estimate | None = None
    influence: Influence | None = None
    unpredicted: int = 0

    @property
    def lacks_rows(self) -> bool:
        """Whether the model could not predict more rows than a score tolerates."""
        return self.unpredicted > max(1, MAX_UNPREDICTED * len(self.rows))

    @property
    def mistakes(self) -> int:
        """Number of rows that the model got wrong."""
        return int(np.count_nonzero(self.wrong))


@dataclass(frozen=True, eq=False)
class LessonReport:
    """The answer to a `Lesson`.

    Parameters
    ----------
    seconds, setup_seconds : float
        Seconds of the fit, and of it before the first step.
    steps, planned_steps : int
        Steps that were taken, and those of a complete fit; None, as `setup_seconds`, if the learner's are unknown.
    was_cut_short, gave_up : bool, default=False
        Whether the fit was stopped before its end, or ended without a model because of `Lesson.give_up_over`.
    model_bytes : int or None, default=None
        Size of the model.
    answers : dict of Answers
        The answers to the exams of the lesson, by purpose.
    is_best : bool or None, default=None
        Whether the model became the best one; None until it is examined.

    Examples
    --------
    >>> LessonReport(2.0, steps=25, planned_steps=100, was_cut_short=True).is_best is None
    True
    """

    seconds: float
    setup_seconds: float | None = None
    steps: int | None = None
    planned_steps: int | None = None
    was_cut_short: bool = False
    gave_up: bool = False
    model_bytes: int | None = None
    answers: Mapping[Purpose, Answers] = field(default_factory=dict)
    is_best: bool | None = None


Answer = Answers | LessonReport | None  # to a teacher's request; None to a `Wait`


def teach(lesson: Lesson) -> Generator[Lesson, Answer, LessonReport]:
    """Request a lesson and return its report, in a teacher: ``report = yield from teach(Lesson(rows))``."""
    report = yield lesson
    if not isinstance(report, LessonReport):
        raise TypeError(f"A Lesson was answered with {report!r}; expected a LessonReport.")
    return report


def examine(rows: Rows, purpose: Purpose = "mistakes", *, margins: bool = False) -> Generator[Exam, Answer, Answers]:
    """Request an exam and return its answers, or empty ones without rows: ``answers = yield from examine(rows)``."""
    if not len(rows):
        return Answers(rows, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.float32) if margins else None)
    answers = yield Exam(rows, purpose, margins)
    if not isinstance(answers, Answers):
        raise TypeError(f"An Exam was answered with {answers!r}; expected Answers.")
    return answers
