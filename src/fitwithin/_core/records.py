"""Records that teachers, session, backends and users exchange; all frozen."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fitwithin._core.candidate import Candidate

Rows = npt.NDArray[np.integer[Any]]
"""Row numbers of a pool, in the narrowest sufficient type."""

Mask = npt.NDArray[np.bool_]
"""One boolean for each row."""

Margins = npt.NDArray[np.float32]
"""For each row, the gap between the probabilities of its two likeliest classes."""

Influence = npt.NDArray[np.float32]
"""What each row, or each resample of the rows, adds to the error of a score; see `difference_error`."""

ClassCounts = npt.NDArray[np.integer[Any]]
"""A number of rows for each class."""

Returns = Literal["best", "last"]
"""Whether a teacher wants its best model back, or its last one."""

Purpose = Literal["mistakes", "score", "validation", "holdout"]
"""What an exam is for; see `Exam`."""

StopReason = Literal["time", "all rows", "no mistakes", "on_round", "interrupted", "learner failed", "memory"]
"""Why a session ended."""

Z_95 = 1.96
"""Standard errors from the middle of a 95 % interval to its ends."""

# Chance that settings replace the learner's own although none of those tried is better.
_FALSE_ALARM_CHANCE = 0.05

TOLERATED_ERRORS = 2.0
"""Standard errors by which a model with more rows may score lower than the best one, and still replaces it.

The best of several models is lucky too. With 1 instead of 2, every second fit of a learner whose scores hardly grow any
more ended on a part of the rows, although there was time for all.
"""


@dataclass(frozen=True)
class Estimate:
    """A score and its 95 % interval.

    Parameters
    ----------
    value, low, high : float
        The score and the ends of its interval.
    """

    value: float
    low: float
    high: float

    @property
    def standard_error(self) -> float:
        """The standard error."""
        return (self.high - self.low) / (2 * Z_95)


def difference_error(first: Influence, second: Influence) -> float | None:
    """Return the standard error of the difference between the scores of two models on the same rows.

    Rows on which both models are right, or both wrong, say nothing about which is better. So this error is smaller than
    the errors of the two scores suggest.

    Parameters
    ----------
    first, second : array of float
        `Answers.influence` of the two models.

    Returns
    -------
    float or None
        None if the two do not belong to the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> difference_error(np.array([0.3, 0.1], np.float32), np.array([0.3, 0.2], np.float32)).__round__(3)
    0.1
    """
    return float(np.linalg.norm(first - second)) if len(first) == len(second) else None


def is_worse(
    candidate: Estimate, best: Estimate, error: float | None = None, *, tolerated: float = TOLERATED_ERRORS
) -> bool:
    """Whether a new model's score on validation rows is clearly below the best one.

    Parameters
    ----------
    candidate, best : Estimate
        The two scores.
    error : float, optional
        The standard error of their difference on the same rows; by default that of independent scores.
    tolerated : float, optional
        Standard errors by which the score may be lower.

    Examples
    --------
    >>> best, candidate = Estimate(0.80, 0.78, 0.82), Estimate(0.79, 0.77, 0.81)
    >>> is_worse(candidate, best)
    False
    >>> is_worse(candidate, best, error=0.004)
    True
    """
    if error is None:
        error = math.hypot(candidate.standard_error, best.standard_error)
    return not candidate.value - best.value >= -tolerated * error


def clear_errors(n_tried: int) -> float:
    """Return by how many standard errors the best of several settings must be ahead: the best of many is lucky too.

    Examples
    --------
    >>> [round(clear_errors(n_tried), 1) for n_tried in (1, 5, 50)]
    [1.6, 2.3, 3.1]
    """
    return NormalDist().inv_cdf(1 - _FALSE_ALARM_CHANCE / max(1, n_tried))


def is_clearly_better(candidate: Estimate, best: Estimate, error: float | None = None, *, n_tried: int = 2) -> bool:
    """Whether other settings score higher than a learner's own by more than chance.

    Parameters
    ----------
    candidate, best : Estimate
        The two scores.
    error : float, optional
        The standard error of their difference on the same rows; by default that of independent scores.
    n_tried : int, default=2
        Settings that were tried so far.

    Examples
    --------
    >>> best, candidate = Estimate(0.79, 0.77, 0.81), Estimate(0.80, 0.78, 0.82)
    >>> is_clearly_better(candidate, best)
    False
    >>> is_clearly_better(candidate, best, error=0.004)
    True
    """
    if error is None:
        error = math.hypot(candidate.standard_error, best.standard_error)
    return candidate.value - best.value > clear_errors(n_tried) * error


@dataclass(frozen=True, eq=False)
class Lesson:
    """A teacher's request: fit a new model on exactly these rows, or continue with the last one.

    Parameters
    ----------
    rows : array of int
        Row numbers of the pool.
    batch : int or None, default=None
        With a number, no new model is made: the model of the last lesson continues by
        `partial_fit`, with this number of rows in each call.
    within : float or None, default=None
        Seconds after which a learner that can stop early is told to stop with what it has. Other
        learners ignore it. With 0 it only takes a few steps, which tell what a whole fit would take;
        its model is never the best one.
    refit : bool, default=False
        Whether these are the rows of the best model together with the validation and holdout rows. The new model
        replaces the best one, and takes over its scores, unless it is clearly worse in an exam on the validation
        rows. It was trained on them, so a much lower score means that something went wrong.
    expected_score : float or None, default=None
        The score on the validation rows that the teacher expects of the model, for the history.
    candidate : Candidate or None, default=None
        In a session with several learners, the one to fit. If it raises, dies, or takes too much memory or time, an
        exception is raised at the teacher's request, and the teacher may go on with another learner.
    at_most : float or None, default=None
        Seconds after which the learner is killed, in its fit and in each of its exams, if the runner can do that.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Lesson
    >>> Lesson(np.arange(3)).rows
    array([0, 1, 2])
    """

    rows: Rows
    batch: int | None = None
    within: float | None = None
    refit: bool = False
    expected_score: float | None = None
    candidate: Candidate | None = None
    at_most: float | None = None

    @property
    def is_measurement(self) -> bool:
        """Whether the learner only takes a few steps."""
        return self.within == 0


@dataclass(frozen=True)
class FitLimits:
    """Seconds after which a fit is stopped, killed or given up; None for no limit.

    Parameters
    ----------
    stop_after : float or None, default=None
        Seconds after which a learner that can stop early is told to stop with what it has.
    kill_after : float or None, default=None
        Seconds after which the learner is killed, in its fit and in each of its exams, if the runner can do that.
    give_up_over : float or None, default=None
        A learner with a known number of steps takes a few of them, and projects the seconds of the whole fit. If these
        are more than `give_up_over`, it ends there and is not examined; otherwise it goes on. Other learners ignore it.
    """

    stop_after: float | None = None
    kill_after: float | None = None
    give_up_over: float | None = None


NO_LIMITS = FitLimits()
"""The fit may take any time."""


@dataclass(frozen=True, eq=False)
class Exam:
    """A teacher's request: let the model of the last lesson predict these rows, and compare.

    Parameters
    ----------
    rows : array of int
        Row numbers of the pool.
    purpose : {"mistakes", "score", "validation", "holdout"}, default="mistakes"
        What the exam is for:

        - "mistakes": find rows that the model gets wrong.
        - "score": the same, and `Answers.score` is the user's score over these rows.
        - "validation": these rows decide which model is best. The round's estimate comes from them
          alone, and they have no part in `score_estimate_`.
        - "holdout": these rows only serve `score_estimate_`. `Answers.wrong` is all False, so that
          the teacher learns nothing from them and later models can be examined on them as well.
    margins : bool, default=False
        Whether to return `Answers.margins` too; the learner needs `predict_proba`.
    seconds : float or None, default=None
        Most seconds of the predictions. The rows are predicted in pieces, at least one; after these seconds the answers
        cover the first rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Exam
    >>> Exam(np.arange(3)).rows
    array([0, 1, 2])
    """

    rows: Rows
    purpose: Purpose = "mistakes"
    margins: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class Wait:
    """A request of one of several generators of a teacher: wait until another generator has made progress.

    It is answered with None after a fit, an exam or the end of another generator. If no other generator is at work, the
    first generator is answered at once, and any other one ends.

    Examples
    --------
    >>> from fitwithin.teachers import Wait
    >>> Wait()
    Wait()
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
        What each row, or each resample of the rows, adds to the error of the score. The root of the sum of
        squares is its standard error; for the difference of two models on the same rows, see
        `difference_error`. For the purposes "score" and "validation".

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Answers
    >>> answers = Answers(np.array([7, 3, 5]), np.array([True, False, False]))
    >>> answers.mistakes
    1
    """

    rows: Rows
    wrong: Mask
    margins: Margins | None = None
    score: Estimate | None = None
    influence: Influence | None = None

    @property
    def mistakes(self) -> int:
        """Number of rows that the model got wrong."""
        return int(np.count_nonzero(self.wrong))


def examine(
    rows: Rows, purpose: Purpose = "mistakes", *, margins: bool = False
) -> Generator[Exam, Answers | None, Answers]:
    """Request an exam on these rows and return its answers; without rows, return empty answers at once.

    For use in a teacher: ``answers = yield from examine(rows)``.

    Parameters
    ----------
    rows : array of int
        Rows for the newest model to predict.
    purpose : {"mistakes", "score", "validation", "holdout"}, default="mistakes"
        What the exam is for; see `Exam`.
    margins : bool, default=False
        Whether to ask for margins too.

    Returns
    -------
    Answers
        The answers to the exam.

    Raises
    ------
    TypeError
        If the exam is not answered with `Answers`.
    """
    if not len(rows):
        return Answers(rows, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.float32) if margins else None)
    answers = yield Exam(rows, purpose, margins)
    if answers is None:
        raise TypeError("An Exam was answered with None; expected Answers. Send them with generator.send(answers).")
    return answers


@dataclass(frozen=True)
class Round:
    """A record of one fit of the learner and of the predictions of its model, as in `history_`.

    Parameters
    ----------
    number : int
        1 for the first round.
    rows : int
        Training rows of this fit. If it continues with the model before it (`partial_fit`), the rows of this fit alone.
    new_rows : int
        Training rows that no earlier fit used.
    new_mistakes : int
        New training rows that the model before this one got wrong.
    examined : int
        Rows that this model predicted, to compare with the true labels or values.
    fresh : int
        Examined rows that no model was trained on or predicted before. Validation rows never count as fresh; holdout
        rows always do.
    seconds_handover, seconds_fit, seconds_exam, seconds_model, seconds_choose : float
        Seconds of bringing rows to the learner, of training, of predicting, of saving the model, and of choosing rows.
    predicted_fit : float or None
        The expected `seconds_fit`; None in the first round.
    estimate, low, high : float or None
        The score over the examined rows and its 95 % interval; accuracy or R2 unless `scoring` says otherwise. None if
        no rows were examined.
    best : bool
        Whether this model became the best so far.
    elapsed : float
        Seconds from the start of `fit` until the model became the best, or until the round ended.
    validation_rows : int, default=0
        Validation rows among the examined ones; if there are any, `estimate` comes from them alone.
    peak_memory : int or None, default=None
        Most bytes that the learner's process and its children took, without the rows that they share with this
        process; None if unknown.
    seconds_setup, predicted_setup : float or None, default=None
        The part of `seconds_fit` before the first step, such as binning, and its expected seconds; None if unknown.
    predicted_estimate : float or None, default=None
        The expected `estimate`; None if there was no expectation.
    candidate : int or None, default=None
        In a search, the place of the settings in `cv_results_`.
    """

    number: int
    rows: int
    new_rows: int
    new_mistakes: int
    examined: int
    fresh: int
    seconds_handover: float
    seconds_fit: float
    seconds_exam: float
    seconds_model: float
    seconds_choose: float
    predicted_fit: float | None
    estimate: float | None
    low: float | None
    high: float | None
    best: bool
    elapsed: float
    validation_rows: int = 0
    peak_memory: int | None = None
    seconds_setup: float | None = None
    predicted_setup: float | None = None
    predicted_estimate: float | None = None
    candidate: int | None = None

    @property
    def is_biased(self) -> bool:
        """Whether `estimate` is too high: some rows were predicted before, and mistakes among them were trained on."""
        return self.validation_rows == 0 and self.fresh < self.examined


@dataclass(frozen=True, eq=False)
class ResumePoint:
    """Where an earlier fit on the same rows ended, for a teacher that can go on from there.

    There is no model to examine yet: the teacher's first request must be a `Lesson`.

    Parameters
    ----------
    lesson : array of int
        Rows of the best model.
    validation_rows, holdout_rows : array of int
        Rows of the last exams for these purposes; may be empty.
    score : Estimate or None
        The best model's score.
    fit_seconds : float
        Seconds of its fit.
    was_cut_short : bool
        Whether its fit was stopped early.
    notes : dict
        The teacher's own notes; see `Deck.notes`.
    """

    lesson: Rows
    validation_rows: Rows
    holdout_rows: Rows
    score: Estimate | None = None
    fit_seconds: float = 0.0
    was_cut_short: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)


OnRound = Callable[[Round], Any]
"""A user's callback; returning True stops the fit and keeps the best model."""
