"""What Auto knows while it teaches: the last lesson, the best one, and the rows kept back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Estimate, Exam, Lesson, LessonReport, Rows, examine, teach
from fitwithin._core.rounds import ResumePoint
from fitwithin._pools.decks.deck import Deck, FirstSize
from fitwithin.teachers._auto.learning_curve import LearningCurve
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._shared_steps import count_validation_rows, make_limit

NOTE_ERROR_RATE = "error rate"
"""Name of a note for a later fit: the fraction of validation rows that the last model gets wrong."""

# Exams, as fractions of the time left before the lesson. Models that take longer to predict the more rows they have,
# such as nearest neighbours, are examined on fewer of the same rows.
_FIRST_EXAM_TIME = 0.01  # for the first one, which tells how many validation rows all models are examined on
_EXAM_TIME = 0.1  # for any other one
_MIN_EXAM_ROWS = 100
_EXAM_OVERRUN = 2.0  # times the reserved seconds, after which an exam ends with the rows so far

# Least seconds for a lesson: a learner that stops early takes at least one step.
_LEAST_SECONDS = 1e-3

# Share of the rows from which on a model is good enough to fall back on, if later ones are late.
_SAFE_SHARE = 0.1

# Least chance to end with which the best lesson is taught again with the rows kept back: its model is there already.
_REFIT_CHANCE = 0.95

# Share of the time that is left at the end for a better estimate, and the rows that are enough for it.
_FINAL_EXAM_TIME = 0.3
_MAX_FINAL_EXAM_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class BestLesson:
    """The lesson whose model the session takes for the best one.

    Parameters
    ----------
    rows : array of int
        Its rows.
    score : Estimate
        Its score on the validation rows.
    was_cut_short : bool, default=False
        Whether its fit was stopped early.
    n_validation_rows : int, default=0
        Validation rows that its model was examined on.
    """

    rows: Rows
    score: Estimate
    was_cut_short: bool = False
    n_validation_rows: int = 0


class TeachingState:
    """The last lesson, the score of its model, and the rows kept back for validation and holdout.

    Parameters
    ----------
    deck : Deck
        Source of rows.
    first : int or float
        Rows of the first lesson, or their fraction of the pool.
    n_validation_rows : int, optional
        Rows that are kept back for validation, if the user chose none; by default as many as holdout rows.

    Attributes
    ----------
    lesson : array of int
        The rows of the last lesson, from which the next one grows; at first those of the first lesson.
    validation_set : array of int
        The rows of each validation exam; where it would take too long, the first ones of them.
    holdout_rows : array of int
        The holdout rows.
    kept_back : array of int
        All validation rows, also those for which there is no time, and all holdout rows.
    time_limit : float
        Seconds until the deadline at the start.
    score : Estimate or None
        Score of the last model on the validation set.
    error_rate : float
        Fraction of the validation set that the last model gets wrong.
    was_cut_short : bool
        Whether the last lesson was stopped before its end.
    has_model : bool
        Whether there is a model to examine.
    curve : LearningCurve
        The scores so far.
    best : BestLesson or None
        The lesson with the best score.
    retries : int
        Lessons in a row that were no larger than an earlier one and did not improve on the best score.
    spare_time : float
        Fraction of the time left that lessons leave unused until there is a model with a tenth of the rows, because
        another learner takes the risk to be late.
    """

    def __init__(self, deck: Deck, first: FirstSize, n_validation_rows: int | None = None) -> None:
        self._begin(deck, deck.opening(first))
        if deck.validation_rows is not None and deck.holdout_rows is not None:
            self.validation_set, self.holdout_rows = deck.validation_rows, deck.holdout_rows
        else:
            n_rows = count_validation_rows(deck.size)
            self.validation_set, self.holdout_rows = deck.deal(n_validation_rows or n_rows), deck.deal(n_rows)
        self.kept_back = np.concatenate([self.validation_set, self.holdout_rows])

    def _begin(self, deck: Deck, lesson: Rows) -> None:
        self.deck = deck
        self.costs = deck.costs
        self.time_limit = deck.costs.seconds_left
        self.lesson = lesson
        self.score: Estimate | None = None
        self.error_rate = 0.5
        self.was_cut_short = False
        self.has_model = False
        self.curve = LearningCurve()
        self.best: BestLesson | None = None
        self._has_exam_rows = False
        self._cut_after = math.inf
        self._n_holdout = 0
        self.retries = 0
        self.spare_time = 0.0

    @classmethod
    def resume(cls, deck: Deck, past: ResumePoint) -> TeachingState:
        """Return the state in which an earlier fit ended, with the lesson of its best model."""
        state = cls.__new__(cls)
        # The best model may have been fitted again with these rows.
        state.kept_back = np.concatenate([past.validation_rows, past.holdout_rows])
        state._begin(deck, deck.take(past.lesson[~np.isin(past.lesson, state.kept_back)]))
        deck.take(state.kept_back)
        state.validation_set, state.holdout_rows, state._has_exam_rows = past.validation_rows, past.holdout_rows, True
        state.score, state.was_cut_short = past.score, past.was_cut_short
        state._cut_after = past.fit_seconds if past.was_cut_short else math.inf
        if past.score is not None:
            state.best = BestLesson(state.lesson, past.score, past.was_cut_short)
            state.curve.observe(len(state.lesson), past.score.value, past.score.standard_error)
        deck.notes.update(past.notes)
        error_rate = past.notes.get(NOTE_ERROR_RATE)
        state.error_rate = error_rate if isinstance(error_rate, float) else state.error_rate
        return state

    def list_next_rows(self, n_rows: int) -> Rows:
        """Return the rows of the last lesson and those that the deck deals next, without taking them out of it.

        Lessons that begin with the same rows are shared between the learners' processes without a copy.
        """
        new = self.deck.deal(max(0, n_rows - len(self.lesson)))
        self.deck.put_back(new)
        return np.concatenate([self.lesson, new])[:n_rows]

    @property
    def n_usable(self) -> int:
        """Rows of the last lesson and all that are left."""
        return len(self.lesson) + self.deck.left

    @property
    def max_rows(self) -> int:
        """Rows of the largest lesson that the rows left and the memory allow."""
        return self.costs.largest_lesson_rows(self.n_usable)

    def switch_learner(self, costs: CostEstimates, curve: LearningCurve, best: BestLesson | None) -> None:
        """Go on with another learner, from the same rows; there is no model of it to examine."""
        self.deck.costs = self.costs = costs
        self.curve, self.best, self.retries = curve, best, 0
        self.score = None if best is None else best.score
        self.was_cut_short = best is not None and best.was_cut_short
        self.has_model = False

    def shrink_to_best(self) -> bool:
        """Go back from the last lesson to the best one, if it grew from that; return whether it did."""
        if self.best is None or not np.array_equal(self.lesson[: len(self.best.rows)], self.best.rows):
            return False
        self.deck.put_back(self.lesson[len(self.best.rows) :])
        self.lesson, self.has_model = self.best.rows, False
        return True

    @property
    def has_best_model(self) -> bool:
        """Whether the last model is the best one."""
        return self.has_model and self.best is not None and self.best.rows is self.lesson

    def count_exam_rows(self, n_rows: int) -> int:
        """Return how many validation rows, and holdout rows, the model of a lesson of `n_rows` is examined on."""
        n_most = len(self.validation_set)
        seconds = _EXAM_TIME * self.costs.seconds_left
        return min(n_most, max(_MIN_EXAM_ROWS, self.costs.count_exam_rows(seconds, n_most, n_rows)))

    def make_exams(self, n_rows: int, fit_seconds: float = 0.0) -> tuple[Exam, ...]:
        """Return the exams of a lesson of `n_rows` on holdout and validation rows.

        Parameters
        ----------
        n_rows : int
            Rows of the lesson.
        fit_seconds : float, default=0.0
            Most seconds of its fit. The exams may take half of the time left after it, each.
        """
        seconds_left, n_exam_rows = self.costs.seconds_left, self.count_exam_rows(n_rows)
        seconds = _FIRST_EXAM_TIME * seconds_left
        if self._has_exam_rows and math.isfinite(seconds_left):
            reserves = self.costs.reserves(n_rows, n_exam_rows)
            rest = (seconds_left - fit_seconds - reserves.load - reserves.delay) / 2
            seconds = min(_EXAM_TIME * seconds_left, max(_EXAM_OVERRUN * reserves.exams, rest))
        holdout = Exam(self.holdout_rows[:n_exam_rows], "holdout", seconds=make_limit(seconds))
        validation = Exam(self.validation_set[:n_exam_rows], "validation", seconds=make_limit(seconds))
        return tuple(exam for exam in (holdout, validation) if len(exam.rows))

    def reserved_seconds(self, n_rows: int, n_exam_rows: int | None = None) -> float:
        """Return the seconds that a lesson of `n_rows` needs after its training, for its model to count.

        Parameters
        ----------
        n_rows : int
            Rows of the lesson.
        n_exam_rows : int, optional
            Rows of the exams of its model; by default those of two exams.
        """
        n_exam_rows = 2 * self.count_exam_rows(n_rows) if n_exam_rows is None else n_exam_rows
        has_some_rows = self.best is not None and len(self.best.rows) >= _SAFE_SHARE * self.n_usable
        # Without a deadline there is nothing to spare.
        spare = self.spare_time * self.costs.seconds_left if self.spare_time and not has_some_rows else 0.0
        return self.costs.reserves(n_rows, n_exam_rows).total + spare

    def teach_and_validate(
        self,
        lesson: Rows,
        time_fraction: float = 1.0,
        *,
        oversampled: bool = False,
        expected_score: float | None = None,
    ) -> Subgenerator[None]:
        """Teach these rows in at most a fraction of the time left, and examine holdout and validation rows."""
        self.has_model = False
        stop_after = self.seconds_within(len(lesson), time_fraction)
        request = Lesson(
            lesson,
            self.make_exams(len(lesson), stop_after),
            stop_after=make_limit(stop_after),
            oversampled=oversampled,
            expected_score=expected_score,
        )
        report = yield from teach(request)
        self.note_lesson(lesson, report, oversampled=oversampled)

    def repeat_if_cut_short(self) -> Subgenerator[None]:
        """Teach every row once more, if an earlier fit had to stop with them and now there is more time."""
        if not self.deck.left and self.seconds_within(len(self.lesson)) > self._cut_after:
            yield from self.teach_and_validate(self.lesson)

    def seconds_within(self, n_rows: int, time_fraction: float = 1.0) -> float:
        """Return the seconds after which a lesson should stop: a fraction of those left, and enough for its exams."""
        seconds_left = self.costs.seconds_left
        seconds = min(time_fraction * seconds_left, seconds_left - self.reserved_seconds(n_rows))
        return max(_LEAST_SECONDS, seconds)

    def note_lesson(self, lesson: Rows, report: LessonReport, *, oversampled: bool = False) -> None:
        """Go on from a lesson that has a model."""
        self.lesson, self.has_model, self.was_cut_short = lesson, True, report.was_cut_short
        holdout, validation = report.answers.get("holdout"), report.answers.get("validation")
        self._n_holdout = 0 if holdout is None else len(holdout.rows)
        if validation is None:
            # Without validation rows the error rate stays unknown.
            return
        if not self._has_exam_rows:
            self.validation_set, self._has_exam_rows = validation.rows, True
        self.score, self.error_rate = validation.score, validation.mistakes / len(validation.rows)
        self.deck.notes[NOTE_ERROR_RATE] = self.error_rate
        if self.score is not None and not self.was_cut_short:
            self.curve.observe(len(lesson), self.score.value, self.score.standard_error, emphasis=oversampled)
        if report.is_best:
            self.note_best(lesson, report)
        elif self.best is not None and len(lesson) <= len(self.best.rows):
            self.retries += 1

    def note_best(self, rows: Rows, report: LessonReport) -> None:
        """Note a lesson whose model the session takes for the best one."""
        validation = report.answers.get("validation")
        if validation is not None and validation.score is not None:
            self.best = BestLesson(rows, validation.score, report.was_cut_short, len(validation.rows))
            self.retries = 0

    def refit_with_every_row(self) -> Subgenerator[None]:
        """Teach every row, also those kept back, if the best model has all others and that is sure to end in time."""
        best = self.best
        if best is None or best.was_cut_short or len(best.rows) < self.n_usable or not self.deck.can_refit:
            return
        rows = np.arange(self.deck.pool_size, dtype=best.rows.dtype)
        exam_rows = self.validation_set[: best.n_validation_rows or None]
        seconds = self.costs.seconds_left - self.reserved_seconds(len(rows), len(exam_rows))
        if self.costs.largest_lesson_rows(len(rows)) < len(rows) or not self.costs.may_begin(len(rows)):
            return
        if self.costs.chance_to_end(len(rows), seconds) >= _REFIT_CHANCE:
            yield Lesson(rows, (Exam(exam_rows, "validation"),), stop_after=make_limit(seconds), refit=True)

    def examine_unused_rows(self) -> Subgenerator[None]:
        """Examine more rows for the estimate, if the last model is the best one and there are rows and time left.

        First come holdout rows for which there was no time. If the user chose holdout rows, others may be too much like
        training rows.
        """
        if not self.has_best_model:
            return
        n_left = max(0, min(len(self.holdout_rows), len(self.validation_set)) - self._n_holdout)
        n_rows = self.costs.affordable_exam_rows(_FINAL_EXAM_TIME, n_left)
        yield from examine(self.holdout_rows[self._n_holdout : self._n_holdout + n_rows], purpose="holdout")
        if n_rows == n_left and self.deck.left and self.deck.holdout_rows is None:
            n_rows = self.costs.affordable_exam_rows(_FINAL_EXAM_TIME, min(_MAX_FINAL_EXAM_ROWS, self.deck.left))
            # These are no holdout rows: a later fit that resumes this one may be trained on them.
            yield from examine(self.deck.deal(n_rows))
