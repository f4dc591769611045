"""What Auto knows while it teaches: its rows in one order, the rows kept back, and the best lesson."""

from __future__ import annotations

import math
from dataclasses import replace

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory
from fitwithin._core.records import Lesson, LessonReport, Rows, make_limit, teach
from fitwithin._core.rounds import ResumePoint
from fitwithin._pools.decks.deck import Deck, count_validation_rows
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._learning_curve import ERROR_EXPONENT, find_error_exponent
from fitwithin.teachers._row_order import RowOrder

# Exams, as fractions of the time left
_FIRST_EXAM_TIME = 0.006  # for the first one, which tells how many validation rows all models are examined on
_EXAM_TIME = 0.03  # for any other one
_LEAST_EXAM_TIME = 0.01  # reserved for each, since larger models may be slower
_EXAM_OVERRUN = 1.5  # times the expected seconds
_MIN_EXAM_ROWS = 100

SURE_CHANCE = 0.95  # to end in time, of a last fit on every row: there is a model already

_MEASURING_TIME = 0.1  # of the time limit, for measurements

_LEAST_SECONDS = 1e-3  # for a lesson: a learner that stops early takes at least one step


class TeachingState(RowOrder):
    """The rows in the order in which plain lessons take them, the rows kept back, and the best lesson."""

    def __init__(self, deck: Deck) -> None:
        n_rows = count_validation_rows(deck.size)
        super().__init__(deck, n_rows, n_rows)
        self.measuring_seconds = _MEASURING_TIME * deck.costs.seconds_left
        self.n_trained = 0  # rows of the largest plain lesson that has a model
        self.n_under_way = 0  # rows of the last large lesson
        self.best: ResumePoint | None = None  # as a later fit would resume it
        self.failure: LearnerRaised | LearnerDied | None = None  # the first one after a model
        self._most_rows: float = math.inf
        self._n_exam_rows: int | None = None
        self._first_error = 0.0
        past = deck.resume_point
        if past is not None:
            self._n_exam_rows = len(past.validation_rows)
            self.best = replace(past, lesson=self.order)
            self.n_trained = 0 if past.was_cut_short else len(self.order)

    def find_error_exponent(self, n_rows: int, error: float) -> float:
        """Return the power of the rows, times minus one, with which errors fell from the first lesson to this one."""
        if n_rows <= self.n_first or not 0 < error < self._first_error:
            return ERROR_EXPONENT
        return find_error_exponent(self.n_first, self._first_error, n_rows, error)

    @property
    def max_rows(self) -> int:
        """Rows of the largest lesson that the rows left and the memory allow; at most half of those that failed."""
        return self.costs.largest_lesson_rows(int(min(self.n_usable, self._most_rows)))

    @property
    def has_poor_model(self) -> bool:
        """Whether the only model is one of the first rows that was cut short."""
        best = self.best
        is_cut = best is not None and best.was_cut_short and len(best.lesson) == self.n_first
        return is_cut and self.costs.can_be_ended

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
        """Teach these rows and examine the model; return None if the learner failed or took too much memory."""
        stop_after = max(_LEAST_SECONDS, min(most_seconds, self.seconds_for_fit(len(rows))))
        exams = self.make_exams(self.count_exam_rows(len(rows)), self.find_exam_seconds(len(rows)))
        lesson = Lesson(
            rows, exams[-1:], stop_after=make_limit(stop_after), give_up_over=give_up_over, oversampled=oversampled
        )
        try:
            report = yield from teach(lesson)
            if report.is_best and len(exams) > 1:
                # The model is saved by now: the deadline during this exam does not lose it (benchmarks/tunnel, T up to
                # 1.25 t_full: losses to Double 13.0 % -> 12.2 %, to sized 21.3 % -> 20.6 %, score + 0.11 points).
                yield exams[0]
        except OutOfMemory:
            return None
        except (LearnerRaised, LearnerDied) as failure:
            self.failure, self._most_rows = self.failure or failure, len(rows) // 2
            return None
        if not report.gave_up:
            self._note_report(rows, report, oversampled=oversampled)
        return report

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
