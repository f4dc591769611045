"""What Auto knows while it teaches: the last lesson, the best one, and the rows kept back."""

from __future__ import annotations

import math

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Answers, Estimate, Lesson, ResumePoint, Rows, examine
from fitwithin._pools.decks.deck import Deck, FirstSize
from fitwithin.teachers._auto.best_lesson import BestLesson
from fitwithin.teachers._auto.learning_curve import LearningCurve
from fitwithin.teachers._base import Subgenerator

NOTE_ERROR_RATE = "error rate"
"""Name of a note for a later fit: the fraction of validation rows that the last model gets wrong."""

# Validation rows, which are not taught before the end. There are as many holdout rows.
_VALIDATION_ONE_IN = 25  # rows of the pool for each validation row
_MAX_VALIDATION_ROWS = 10_000  # the standard error of an accuracy is 0.5 % at most
_MIN_VALIDATION_ROWS = 200  # also the rows of the first exam, when the cost of exams is unknown
_SMALL_POOL_VALIDATION_ONE_IN = 10  # rows of the pool for each one, where `_MIN_VALIDATION_ROWS` would be more
_VALIDATION_TIME = 0.01  # for one exam, of the time left

# Exams of models that take longer to predict the more rows they have, such as nearest neighbours. They are examined on
# fewer of the same rows.
_EXAM_TIME = 0.1  # for one exam, of the time left before the lesson
_LATE_EXAM_TIME = 0.4  # for one exam, of the time left after the fit
_MIN_EXAM_ROWS = 100  # also the rows of the exam that tells what others would take
_MIN_LATE_EXAM_ROWS = 30  # a score on fewer rows says nothing

# Time that a lesson leaves for what follows its training
_EXAM_SAFETY_FACTOR = 1.3  # on the predicted seconds of exams
_OVERHEAD_SAFETY_FACTOR = 1.2  # on the predicted seconds of the overhead
_DELAY_SECONDS = 0.05  # for unexpected delays, such as a pause of the machine
_DELAY_FRACTION = 0.02  # of the time limit, for the same
_MAX_DELAY_SECONDS = 0.3  # that this fraction amounts to

# Seconds for a lesson that there is no time for: with none at all it would be a measurement, whose model never counts.
_LEAST_SECONDS = 1e-3

# Share of the rows from which on a model is good enough to fall back on, if later ones are late.
_SAFE_SHARE = 0.1

# Least chance to end with which the best lesson is taught again with the rows kept back: its model is there already.
_REFIT_CHANCE = 0.95

# Measurements of a few steps, of a learner that can stop early
_MEASURING_TIME = 0.05  # for one measurement, of the time left
_MEASURED_STEPS = 0.02  # of all steps
_MIN_MEASURED_GROWTH = 3  # times the rows of the largest lesson so far
_MAX_MEASURED_GROWTH = 16  # times the same; the set-up is hard to predict for more
_FIRST_MEASURED_OVERSIZE = 8  # times the rows that should end in time, while only one size is known

# Share of the time that is left at the end for a better estimate, and the rows that are enough for it.
_FINAL_EXAM_TIME = 0.3
_MAX_FINAL_EXAM_ROWS = 100_000


def count_validation_rows(pool_size: int) -> int:
    """Return the number of validation rows, and of holdout rows, that are kept back of a pool.

    Examples
    --------
    >>> [count_validation_rows(size) for size in (400, 4000, 40_000, 4_000_000)]
    [40, 200, 1600, 10000]
    """
    min_rows = min(_MIN_VALIDATION_ROWS, pool_size // _SMALL_POOL_VALIDATION_ONE_IN)
    return min(_MAX_VALIDATION_ROWS, max(pool_size // _VALIDATION_ONE_IN, min_rows))


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
            self._validation_pool, self._holdout_pool = deck.validation_rows, deck.holdout_rows
        else:
            n_rows = count_validation_rows(deck.size)
            self._validation_pool, self._holdout_pool = deck.deal(n_validation_rows or n_rows), deck.deal(n_rows)
        self.validation_set = self._validation_pool[:_MIN_VALIDATION_ROWS]

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
        self._stored: BestLesson | None = None
        self._can_measure = deck.costs.can_stop_early
        self._cut_after = math.inf
        self._n_holdout = 0
        self.retries = 0
        self.spare_time = 0.0

    @classmethod
    def resume(cls, deck: Deck, past: ResumePoint) -> TeachingState:
        """Return the state in which an earlier fit ended, with the lesson of its best model."""
        state = cls.__new__(cls)
        # The best model may have been fitted again with these rows.
        kept_back = np.concatenate([past.validation_rows, past.holdout_rows])
        state._begin(deck, deck.take(past.lesson[~np.isin(past.lesson, kept_back)]))
        deck.take(kept_back)
        state.validation_set = state._validation_pool = past.validation_rows
        state._holdout_pool = past.holdout_rows
        state.score, state.was_cut_short = past.score, past.was_cut_short
        state._cut_after = past.fit_seconds if past.was_cut_short else math.inf
        if past.score is not None:
            state.best = state._stored = BestLesson(state.lesson, past.score, past.was_cut_short)
            state.curve.observe(len(state.lesson), past.score.value, past.score.standard_error)
        deck.notes.update(past.notes)
        error_rate = past.notes.get(NOTE_ERROR_RATE)
        state.error_rate = error_rate if isinstance(error_rate, float) else state.error_rate
        return state

    def find_usable_rows(self) -> Rows:
        """Return every row that may be taught, whether it was dealt or not, in the order of the pool."""
        rows = self.deck.rows
        is_kept_back = np.zeros(self.deck.pool_size, dtype=np.bool_)
        is_kept_back[self._validation_pool] = True
        is_kept_back[self._holdout_pool] = True
        return rows[~is_kept_back[rows]]

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

    @property
    def n_validation_rows(self) -> int:
        """Rows that may be validation rows."""
        return len(self._validation_pool)

    def list_validation_rows(self, count: int) -> Rows:
        """Return the first validation rows."""
        return self._validation_pool[:count]

    def list_holdout_rows(self, count: int) -> Rows:
        """Return the first holdout rows."""
        return self._holdout_pool[:count]

    def switch_learner(self, costs: CostEstimates, curve: LearningCurve, best: BestLesson | None) -> None:
        """Go on with another learner, from the same rows; there is no model of it to examine."""
        self.deck.costs = self.costs = costs
        self.curve, self.best, self.retries = curve, best, 0
        self.score = None if best is None else best.score
        self.was_cut_short = best is not None and best.was_cut_short
        self.has_model = False
        self._can_measure = costs.can_stop_early

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

    def enlarge_validation_set(self) -> Subgenerator[None]:
        """Use as many validation rows as the time allows, and examine the first model on all of them too."""
        n_before = len(self.validation_set)
        n_affordable = self.costs.affordable_exam_rows(_VALIDATION_TIME, len(self._validation_pool))
        self.validation_set = self._validation_pool[: max(n_affordable, n_before)]
        if n_affordable > n_before:
            # On few rows the first model may look better than it is, and no later model would have the same luck.
            yield from self._examine_holdout_rows(n_affordable)
            self.best, self.curve = None, LearningCurve()
            yield from self._validate(n_affordable)

    def count_exam_rows(self, n_rows: int, seconds_left: float | None = None) -> int:
        """Return how many validation rows, and holdout rows, the model of a lesson is examined on.

        Parameters
        ----------
        n_rows : int
            Rows of the lesson.
        seconds_left : float, optional
            Seconds left before the lesson; by default now.
        """
        seconds = _EXAM_TIME * (self.costs.seconds_left if seconds_left is None else seconds_left)
        n_most = len(self.validation_set)
        return min(n_most, max(_MIN_EXAM_ROWS, self.costs.count_exam_rows(seconds, n_most, n_rows)))

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
        exams = _EXAM_SAFETY_FACTOR * self.costs.exam_seconds(n_exam_rows, n_rows)
        overhead = _OVERHEAD_SAFETY_FACTOR * self.costs.overhead_seconds(n_rows)
        delay = _DELAY_SECONDS + min(_DELAY_FRACTION * self.time_limit, _MAX_DELAY_SECONDS)
        has_some_rows = self.best is not None and len(self.best.rows) >= _SAFE_SHARE * self.n_usable
        # Without a deadline there is nothing to spare.
        spare = self.spare_time * self.costs.seconds_left if self.spare_time and not has_some_rows else 0.0
        return exams + overhead + delay + spare

    def measure_steps(self) -> Subgenerator[None]:
        """Let a learner that can stop early take a few steps on many rows, to learn what all of them would take.

        It costs the set-up on these rows and little more. The last model is lost.
        """
        while self._can_measure:
            n_rows = self._choose_measured_size()
            if n_rows <= _MIN_MEASURED_GROWTH * self.costs.largest_known_rows:
                return
            new = self.deck.deal(n_rows - len(self.lesson))
            self.has_model = False
            try:
                yield Lesson(np.concatenate([self.lesson, new]), within=0.0)
            except OutOfMemory:
                # The next lesson is chosen by what is known now.
                self._can_measure = False
            self.deck.put_back(new)
            # A learner that does not know how many steps are left tells nothing.
            self._can_measure &= self.costs.largest_known_rows >= n_rows

    def _choose_measured_size(self) -> int:
        """Return the most rows whose set-up is cheap, and no more than could be taught."""
        costs, limit = self.costs, _MEASURING_TIME * self.costs.seconds_left
        oversize = _FIRST_MEASURED_OVERSIZE if costs.may_try_again else 1
        n_rows = min(self.max_rows, _MAX_MEASURED_GROWTH * costs.largest_known_rows)
        while n_rows > 1 and (
            costs.setup_seconds(n_rows) + _MEASURED_STEPS * costs.fit_seconds(n_rows) > limit
            or costs.fit_seconds(n_rows // oversize) > costs.seconds_left
        ):
            n_rows //= 2
        return n_rows

    def teach_and_validate(
        self,
        lesson: Rows,
        time_fraction: float = 1.0,
        *,
        emphasis: bool = False,
        expected_score: float | None = None,
    ) -> Subgenerator[None]:
        """Teach these rows in at most a fraction of the time left, then examine holdout and validation rows."""
        within, seconds_left = self._seconds_within(len(lesson), time_fraction), self.costs.seconds_left
        self.has_model = False
        yield Lesson(lesson, within=within if np.isfinite(within) else None, expected_score=expected_score)
        self.lesson, self.has_model, self._n_holdout = lesson, True, 0
        self.was_cut_short = self.costs.fit_seconds(len(lesson)) > within
        # Holdout rows come first: once a model is chosen, it should have its estimate.
        n_rows = self.count_exam_rows(len(lesson), seconds_left)
        limit = min(_EXAM_TIME * seconds_left, _LATE_EXAM_TIME * self.costs.seconds_left)
        if self.costs.most_exam_seconds(n_rows, len(lesson)) > limit:
            # Some rows tell what the others would take.
            yield from self._examine_holdout_rows(min(n_rows, _MIN_EXAM_ROWS))
            n_rows = min(self.count_exam_rows(len(lesson), seconds_left), self._count_late_exam_rows(n_rows))
        else:
            yield from self._examine_holdout_rows(n_rows)
        yield from self._validate(n_rows, emphasis=emphasis)
        yield from self._examine_holdout_rows(self._n_holdout + self._count_late_exam_rows(n_rows - self._n_holdout))

    def _count_late_exam_rows(self, most: int) -> int:
        """Return how many rows an exam of the last model may have, so that another one of the same size ends."""
        n_rows = self.costs.affordable_exam_rows(_LATE_EXAM_TIME, max(0, most))
        return min(max(0, most), max(n_rows, _MIN_LATE_EXAM_ROWS))

    def _examine_holdout_rows(self, until: int) -> Subgenerator[None]:
        """Examine the holdout rows up to the one with this number, without those that were examined before."""
        rows = self._holdout_pool[self._n_holdout : until]
        self._n_holdout += len(rows)
        yield from examine(rows, purpose="holdout")

    def repeat_if_cut_short(self) -> Subgenerator[None]:
        """Teach every row once more, if an earlier fit had to stop with them and now there is more time."""
        if not self.deck.left and self._seconds_within(len(self.lesson)) > self._cut_after:
            yield from self.teach_and_validate(self.lesson)

    def lesson_seconds(self, n_rows: int) -> float | None:
        """Return the seconds after which a lesson should stop, for its model to count; None without a deadline."""
        seconds = self._seconds_within(n_rows)
        return seconds if math.isfinite(seconds) else None

    def _seconds_within(self, n_rows: int, time_fraction: float = 1.0) -> float:
        seconds_left = self.costs.seconds_left
        seconds = min(time_fraction * seconds_left, seconds_left - self.reserved_seconds(n_rows))
        return max(_LEAST_SECONDS, seconds)

    def _validate(self, n_rows: int, *, emphasis: bool = False) -> Subgenerator[None]:
        answers = yield from examine(self.validation_set[:n_rows], purpose="validation")
        self.score = answers.score
        if len(answers.rows):
            # Without validation rows the error rate stays unknown.
            self.error_rate = answers.mistakes / len(answers.rows)
            self.deck.notes[NOTE_ERROR_RATE] = self.error_rate
        self._note_score(answers, emphasis=emphasis)

    def _note_score(self, answers: Answers, *, emphasis: bool) -> None:
        score = answers.score
        if score is None:
            return
        if not self.was_cut_short:
            self.curve.observe(len(self.lesson), score.value, score.standard_error, emphasis=emphasis)
        if self._is_best(score, answers):
            self.best = BestLesson(self.lesson, score, self.was_cut_short, answers.influence, len(answers.rows))
            self.retries = 0
        elif self.best is not None and len(self.lesson) <= len(self.best.rows):
            self.retries += 1

    def _is_best(self, score: Estimate, answers: Answers) -> bool:
        """Whether the session takes the last model for the best one."""
        if self._stored is not None and score.value < self._stored.score.value:
            # The model of an earlier fit stays unless a new one is at least as good.
            return False
        if self.best is None or self.best is self._stored:
            return True
        return self.best.yields_to(len(self.lesson), score, answers.influence, len(answers.rows))

    def refit_with_every_row(self) -> Subgenerator[None]:
        """Teach every row, also those kept back, if the best model has all others and that is sure to end in time."""
        best = self.best
        if best is None or best.was_cut_short or len(best.rows) < self.n_usable or not self.deck.can_refit:
            return
        rows = np.arange(self.deck.pool_size, dtype=best.rows.dtype)
        exam_rows = self.validation_set[: best.n_validation_rows or None]
        within = self.costs.seconds_left - self.reserved_seconds(len(rows), len(exam_rows))
        if self.costs.largest_lesson_rows(len(rows)) < len(rows) or not self.costs.may_begin(len(rows)):
            return
        if self.costs.chance_to_end(len(rows), within) >= _REFIT_CHANCE:
            yield Lesson(rows, within=within if np.isfinite(within) else None, refit=True)
            yield from examine(exam_rows, purpose="validation")

    def examine_unused_rows(self) -> Subgenerator[None]:
        """Examine more rows for the estimate, if the last model is the best one and there are rows and time left.

        First come holdout rows for which there was no time. If the user chose holdout rows, others may be too much like
        training rows.
        """
        if not self.has_best_model:
            return
        n_left = max(0, min(len(self._holdout_pool), len(self.validation_set)) - self._n_holdout)
        n_rows = self.costs.affordable_exam_rows(_FINAL_EXAM_TIME, n_left)
        yield from self._examine_holdout_rows(self._n_holdout + n_rows)
        if n_rows == n_left and self.deck.left and self.deck.holdout_rows is None:
            n_rows = self.costs.affordable_exam_rows(_FINAL_EXAM_TIME, min(_MAX_FINAL_EXAM_ROWS, self.deck.left))
            # These are no holdout rows: a later fit that goes on from this one may be trained on them.
            yield from examine(self.deck.deal(n_rows))
