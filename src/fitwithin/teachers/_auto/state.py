"""What Auto knows while it teaches: its rows in one order, the rows kept back, and the best lesson."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory
from fitwithin._core.records import Exam, Lesson, LessonReport, Rows, make_limit, teach
from fitwithin._core.rounds import ResumePoint
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS, Deck, count_validation_rows
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._learning_curve import ERROR_EXPONENT, find_error_exponent

# The first lesson: the insurance
_FIRST_FRACTION = 0.005  # of the pool: the paper's m0
_MIN_FIRST_ROWS = 250  # the cost of fewer rows says little about the cost of many
_MAX_FIRST_ROWS = 2_000  # more say no more about the cost
_MAX_FIRST_FRACTION = 0.1  # of the pool, which `_MIN_FIRST_ROWS` may take of a small one
_MIN_SPLIT_ROWS = 20  # a pool with fewer rows is taught whole, without an estimate

# Exams, as fractions of the time left
_FIRST_EXAM_TIME = 0.006  # for the first one, which tells how many validation rows all models are examined on
_EXAM_TIME = 0.03  # for any other one
_LEAST_EXAM_TIME = 0.01  # reserved for each, since larger models may be slower
_EXAM_OVERRUN = 1.5  # times the expected seconds
_MIN_EXAM_ROWS = 100

SURE_CHANCE = 0.95  # to end in time, of a last fit on every row: there is a model already

_MEASURING_TIME = 0.1  # of the time limit, for measurements

_LEAST_SECONDS = 1e-3  # for a lesson: a learner that stops early takes at least one step


def count_first_rows(deck: Deck) -> int:
    """Return the rows of the first lesson."""
    if deck.size < _MIN_SPLIT_ROWS:
        return deck.size
    if deck.size <= SMALL_POOL_ROWS:
        # All but the rows that give the estimate.
        return deck.size - (2 * count_validation_rows(deck.size) if deck.validation_rows is None else 0)
    least = min(_MIN_FIRST_ROWS, round(_MAX_FIRST_FRACTION * deck.size))
    return min(max(least, round(_FIRST_FRACTION * deck.size)), _MAX_FIRST_ROWS)


class TeachingState:
    """The rows in the order in which plain lessons take them, the rows kept back, and the best lesson.

    Parameters
    ----------
    deck : Deck
        Source of rows.

    Attributes
    ----------
    order : array of int
        The rows that were dealt so far. A plain lesson takes the first ones, so that each holds those before it.
    validation_set, holdout_rows : array of int
        The rows of each exam for these purposes; where they would take too long, the first ones of them.
    n_trained : int
        Rows of the largest plain lesson that has a model; 0 if there is none.
    n_under_way : int
        Rows of the last large lesson.
    measuring_seconds : float
        Seconds for fits that tell what larger ones would take.
    best : ResumePoint or None
        The lesson of the best model, with its score, as a later fit would resume it.
    failure : LearnerRaised or LearnerDied or None
        The first failure of the learner after it left a model.
    """

    def __init__(self, deck: Deck) -> None:
        self.deck, self.costs = deck, deck.costs
        self.measuring_seconds = _MEASURING_TIME * deck.costs.seconds_left
        self.n_trained = self.n_under_way = 0
        self.best: ResumePoint | None = None
        self.failure: LearnerRaised | LearnerDied | None = None
        self._most_rows: float = math.inf
        self._n_exam_rows: int | None = None
        self._first_error = 0.0
        past = deck.resume_point
        if past is None:
            self.order = deck.opening(count_first_rows(deck))
            if deck.validation_rows is not None and deck.holdout_rows is not None:
                self.validation_set, self.holdout_rows = deck.validation_rows, deck.holdout_rows
            else:
                n_rows = count_validation_rows(deck.size)
                self.validation_set, self.holdout_rows = deck.deal(n_rows), deck.deal(n_rows)
        else:
            self._resume(past)
        self.n_first = len(self.order)

    def _resume(self, past: ResumePoint) -> None:
        """Go on from the best lesson of an earlier fit."""
        # The best model may have been fitted again with the rows that were kept back.
        kept_back = np.concatenate([past.validation_rows, past.holdout_rows])
        self.order = self.deck.take(past.lesson[~np.isin(past.lesson, kept_back)])
        self.deck.take(kept_back)
        self.validation_set, self.holdout_rows = past.validation_rows, past.holdout_rows
        self._n_exam_rows = len(past.validation_rows)
        self.best = replace(past, lesson=self.order)
        self.n_trained = 0 if past.was_cut_short else len(self.order)

    def find_error_exponent(self, n_rows: int, error: float) -> float:
        """Return the power of the rows, times minus one, with which errors fell from the first lesson to this one."""
        if n_rows <= self.n_first or not 0 < error < self._first_error:
            return ERROR_EXPONENT
        return find_error_exponent(self.n_first, self._first_error, n_rows, error)

    def list_rows(self, count: int) -> Rows:
        """Return the first rows of the order, which grows for that."""
        if count > len(self.order):
            self.order = np.concatenate([self.order, self.deck.deal(count - len(self.order))])
        return self.order[:count]

    @property
    def n_usable(self) -> int:
        """All rows but those kept back."""
        return len(self.order) + self.deck.left

    @property
    def max_rows(self) -> int:
        """Rows of the largest lesson that the rows left and the memory allow; at most half of those that failed."""
        return self.costs.largest_lesson_rows(int(min(self.n_usable, self._most_rows)))

    def count_exam_rows(self, n_rows: int) -> int:
        """Return how many validation rows, and holdout rows, the model of a lesson of `n_rows` is examined on."""
        most = len(self.validation_set) if self._n_exam_rows is None else self._n_exam_rows
        seconds = _EXAM_TIME * self.costs.seconds_left
        return min(most, max(_MIN_EXAM_ROWS, self.costs.count_exam_rows(seconds, most, n_rows)))

    def find_exam_seconds(self, n_rows: int) -> float:
        """Return the most seconds of each exam of a model of `n_rows`; then it ends with the rows so far."""
        seconds_left = self.costs.seconds_left
        if self._n_exam_rows is None or math.isinf(seconds_left):
            return _FIRST_EXAM_TIME * seconds_left
        expected = self.costs.exam_seconds(self.count_exam_rows(n_rows), n_rows)
        seconds = min(_EXAM_TIME * seconds_left, max(_EXAM_OVERRUN * expected, _LEAST_EXAM_TIME * seconds_left))
        return max(seconds, self.costs.exam_seconds(_MIN_EXAM_ROWS, n_rows))

    def seconds_for_fit(self, n_rows: int) -> float:
        """Return the seconds that a fit on `n_rows` may take, for its model to be examined and saved."""
        seconds_left = self.costs.seconds_left
        if math.isinf(seconds_left):
            return seconds_left
        return seconds_left - self.costs.reserves(n_rows, 0).total - 2 * self.find_exam_seconds(n_rows)

    @property
    def must_skip_exams(self) -> bool:
        """Whether every row can be taught, but only without exams, since predictions take longer than the fit."""
        n_rows, costs = self.deck.pool_size, self.costs
        if self._n_exam_rows is None or not self.deck.can_refit or costs.largest_lesson_rows(n_rows) < n_rows:
            return False
        seconds = costs.seconds_left - costs.reserves(n_rows, 0).total
        exam_seconds = 2 * costs.exam_seconds(_MIN_EXAM_ROWS, n_rows)
        is_sure = costs.cost.fits.chance_to_end(n_rows, seconds) >= SURE_CHANCE
        return is_sure and costs.cost.fits.chance_to_end(n_rows, seconds - exam_seconds) < SURE_CHANCE

    def teach(
        self,
        rows: Rows,
        *,
        most_seconds: float = math.inf,
        give_up_over: float | None = None,
        oversampled: bool = False,
    ) -> Subgenerator[LessonReport | None]:
        """Teach these rows and examine the model; return None if the learner failed or took too much memory.

        Parameters
        ----------
        rows : array of int
            The rows.
        most_seconds : float, default=inf
            Most seconds of the fit.
        give_up_over : float, optional
            See `Lesson`.
        oversampled : bool, default=False
            Whether misclassified rows are more frequent among them.
        """
        stop_after = max(_LEAST_SECONDS, min(most_seconds, self.seconds_for_fit(len(rows))))
        exams = self._make_exams(len(rows))
        lesson = Lesson(
            rows, exams, stop_after=make_limit(stop_after), give_up_over=give_up_over, oversampled=oversampled
        )
        try:
            report = yield from teach(lesson)
        except OutOfMemory:
            return None
        except (LearnerRaised, LearnerDied) as failure:
            self.failure, self._most_rows = self.failure or failure, len(rows) // 2
            return None
        if not report.gave_up:
            self._note_report(rows, report, oversampled=oversampled)
        return report

    def _make_exams(self, n_rows: int) -> tuple[Exam, ...]:
        n_exam_rows, seconds = self.count_exam_rows(n_rows), make_limit(self.find_exam_seconds(n_rows))
        # Of a data set on disk, more of them may have been read since.
        holdout_rows = self.holdout_rows if self.deck.holdout_rows is None else self.deck.holdout_rows
        n_holdout_rows = n_exam_rows * len(holdout_rows) // max(1, len(self.holdout_rows))
        holdout = Exam(holdout_rows[:n_holdout_rows], "holdout", seconds=seconds)
        validation = Exam(self.validation_set[:n_exam_rows], "validation", seconds=seconds)
        return tuple(exam for exam in (holdout, validation) if len(exam.rows))

    def _note_report(self, rows: Rows, report: LessonReport, *, oversampled: bool) -> None:
        validation = report.answers.get("validation")
        if not oversampled and (report.is_best or not report.was_cut_short):
            self.n_trained = max(self.n_trained, len(rows))
        if validation is None:
            return
        if self._n_exam_rows is None:
            self._n_exam_rows = len(validation.rows)
            self._first_error = 0.0 if validation.score is None else 1 - validation.score.value
        if report.is_best:
            exams = validation.rows, self.holdout_rows
            self.best = ResumePoint(rows, *exams, validation.score, report.was_cut_short)
