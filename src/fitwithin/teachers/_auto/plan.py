"""The next lesson: the one with the best score expected at the deadline, among those that should end in time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fitwithin.teachers._auto.learning_curve import Expectation
from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._shared_steps import find_largest_size, list_sizes

# Least chance to end in time: of a learner that can stop early, which leaves a model anyway, and of its second lesson,
# if that is not much larger; of a learner that would be killed; of one that cannot be killed, which would be late.
_MIN_CHANCE_STOPPABLE = 0.9
_MIN_CHANCE_SECOND = 0.5
_MAX_BOLD_GROWTH = 4  # times the rows of the first lesson
_MIN_CHANCE_KILLABLE = 0.95
_MIN_CHANCE_UNKILLABLE = 0.99

_MIN_GROWTH = 1.1  # times the rows of the last lesson
_MIN_STEP_GROWTH = 2  # times the rows of the last lesson, for a lesson on the way to a larger one
_CHEAP_TIME = 0.08  # of the time left, for a lesson on the way that is too cheap to matter
_MAX_EMPHASIS_SHARE = 0.6  # of the rows: in a larger lesson there are no easy rows left to leave out
_MAX_RETRIES = 3  # lessons of other rows in a row that did not help
_CLOSE_GAIN = 0.9  # of the largest gain; a lesson with less is worse
_MIN_GAIN = 0.05  # standard errors of the best score; less is not worth a lesson

# Exceptions
_SECOND_TRY_TIME = 0.1  # of the time limit; with more left, a second lesson is tried whatever the first one took
_MUCH_TIME = 0.3  # of the time limit; with more left, a lesson that will be cut short is better than none
_MAX_EXCEPTION_GROWTH = 4  # times the rows of the last lesson


@dataclass(frozen=True)
class LessonOption:
    """A lesson that could come next.

    Parameters
    ----------
    n_rows : int
        Its rows.
    emphasis : bool, default=False
        Whether mistakes are among the new ones.
    is_retry : bool, default=False
        Whether all of its rows are new ones, instead of those of the last lesson and more.
    chance : float, default=0.0
        Chance to end in time.
    seconds : float, default=0.0
        Seconds that it is expected to take, with everything besides its fit.
    expected_score : float or None, default=None
        Mean of the score that it is expected to have; None if nothing is known about it.
    gain : float, default=0.0
        Expected gain on the best score at the deadline, by this lesson and a last one after it.
    final_rows : int, default=0
        Rows of that last lesson, or of this one if it leaves no time for another.
    """

    n_rows: int
    emphasis: bool = False
    is_retry: bool = False
    chance: float = 0.0
    seconds: float = 0.0
    expected_score: float | None = None
    gain: float = 0.0
    final_rows: int = 0


def plan_next_lesson(state: TeachingState, search: MistakeSearch | None) -> LessonOption | None:
    """Return the lesson with the best expected score at the deadline; None if none is worth its time.

    Parameters
    ----------
    state : TeachingState
        The lessons so far.
    search : MistakeSearch or None
        How mistakes are found, if lessons may hold some.
    """
    return Planner(state, search).choose()


class Planner:
    """Compares the lessons that could come next.

    For each: the chance that it ends in time, the gain on the best score that is expected of it, and the gain that is
    expected of the largest lesson that should end in the time after it.

    Parameters
    ----------
    state, search
        As in `plan_next_lesson`.
    """

    def __init__(self, state: TeachingState, search: MistakeSearch | None) -> None:
        self._state = state
        self._costs = state.costs
        self._search = search
        self._expected: dict[tuple[int, bool], Expectation] = {}
        self._in_hand = -math.inf if state.best is None else state.best.score.value

    def choose(self) -> LessonOption | None:
        """Return the lesson with the largest gain: a larger one, or one of other rows if no larger one gains."""
        if not len(self._state.curve):
            # Nothing is known about scores.
            largest = self._find_largest_that_ends(len(self._state.lesson), self._costs.seconds_left)
            return LessonOption(largest) if largest else _plan_exception(self._state)
        larger = [*self._consider_larger(emphasis=False), *self._consider_larger(emphasis=True)]
        if not larger:
            return self._choose_best(list(self._consider_retries())) or _plan_exception(self._state)
        # A flat learning curve promises little. But if all rows end in time, the model should have them: time that is
        # left over is worth nothing, and then the rows kept back can be added too.
        every_row = next((plan for plan in larger if plan.n_rows == self._state.max_rows), None)
        best = self._choose_best(larger)
        if best is None and every_row is not None and self._may_be_best(every_row):
            return every_row
        return best or self._choose_best(list(self._consider_retries())) or every_row

    def find_largest_plain_lesson(self, most: int) -> int:
        """Return the rows, up to `most`, of the largest lesson without mistakes that should end; 0 if none should."""
        most = self._costs.largest_lesson_rows(most)
        return self._find_largest_that_ends(len(self._state.lesson), self._costs.seconds_left, most=most)

    def _choose_best(self, plans: list[LessonOption]) -> LessonOption | None:
        """Return the lesson with the largest gain; None if it is not worth its time."""
        gain = max((plan.gain for plan in plans), default=0.0)
        if gain <= self._least_gain:
            return None
        # Expected scores are rough. Of lessons with about the same gain, take the one that leads to more rows.
        close = [plan for plan in plans if plan.gain >= _CLOSE_GAIN * gain]
        return max(close, key=lambda plan: (plan.final_rows, plan.gain))

    def _may_be_best(self, plan: LessonOption) -> bool:
        """Whether a lesson may well score as high as the best one so far."""
        expected = self._expect(plan.n_rows, emphasis=plan.emphasis)
        return expected.mean + expected.deviation >= self._in_hand

    def _consider_larger(self, *, emphasis: bool) -> Iterator[LessonOption]:
        """Yield the largest lesson that should end in time, and steps: smaller ones on the way to a later one."""
        last_size, seconds_left = len(self._state.lesson), self._costs.seconds_left
        largest = self._find_largest_that_ends(last_size, seconds_left, emphasis=emphasis)
        if not largest:
            return
        yield self._evaluate(largest, emphasis=emphasis)
        for n_rows in list_sizes(int(largest / _MIN_STEP_GROWTH), _MIN_GROWTH * _MIN_STEP_GROWTH * last_size):
            step = self._evaluate(n_rows, emphasis=emphasis)
            # A step pays if the costs are known better after it, or if it is too cheap to matter.
            if step.seconds <= _CHEAP_TIME * seconds_left or step.final_rows > largest:
                yield step

    def _find_largest_that_ends(
        self,
        last_size: int,
        seconds_left: float,
        *,
        emphasis: bool = False,
        is_next: bool = True,
        most: int | None = None,
    ) -> int:
        """Return the rows of the largest lesson that should end in time; 0 if none should.

        Parameters
        ----------
        last_size : int
            Rows of the lesson before it.
        seconds_left : float
            Seconds left then.
        emphasis : bool, default=False
            Whether it holds mistakes.
        is_next : bool, default=True
            Whether it comes next; otherwise the lesson before it will tell more about its seconds.
        most : int, optional
            Most rows; by default as many as the rows left and the memory allow.
        """
        if seconds_left <= 0:
            return 0

        def is_likely(n_rows: int) -> bool:
            within = seconds_left - self._seconds_besides_fit(n_rows, n_rows - last_size, emphasis=emphasis)
            chance = self._costs.chance_to_end(n_rows, within, after=None if is_next else last_size)
            if chance < (self._find_min_chance(n_rows) if is_next else self._min_chance):
                return False
            return not is_next or self._costs.may_begin(n_rows)

        most = self._find_most(emphasis=emphasis) if most is None else most
        return find_largest_size(most, is_likely, _MIN_GROWTH * last_size)

    def _consider_retries(self) -> Iterator[LessonOption]:
        """Yield lessons of the best size so far, and of twice that, with other rows and mistakes among them."""
        state = self._state
        if state.best is None or state.retries >= _MAX_RETRIES:
            return
        most = min(state.deck.left, self._find_most(emphasis=True))
        for n_rows in (len(state.best.rows), 2 * len(state.best.rows)):
            if n_rows <= most:
                plan = self._evaluate(n_rows, emphasis=True, is_retry=True)
                if plan.chance >= self._min_chance and self._costs.may_begin(n_rows):
                    yield plan

    def _find_most(self, *, emphasis: bool) -> int:
        """Return the rows of the largest lesson; with emphasis, the rows left must hold enough mistakes."""
        state = self._state
        if not emphasis:
            return state.max_rows
        if self._search is None:
            return 0
        most_new = state.error_rate * state.deck.left / max(self._search.alpha, 1e-9)
        return int(min(state.max_rows, _MAX_EMPHASIS_SHARE * state.n_usable, len(state.lesson) + most_new))

    def _evaluate(self, n_rows: int, *, emphasis: bool, is_retry: bool = False) -> LessonOption:
        costs = self._costs
        n_new = n_rows if is_retry else n_rows - len(self._state.lesson)
        besides = self._seconds_besides_fit(n_rows, n_new, emphasis=emphasis)
        chance = costs.chance_to_end(n_rows, costs.seconds_left - besides)
        expected = self._expect(n_rows, emphasis=emphasis)
        seconds = besides + costs.fit_seconds(n_rows)
        largest = self._find_largest_that_ends(n_rows, costs.seconds_left - seconds, emphasis=emphasis, is_next=False)
        later = self._expect_later_gain(expected, largest, emphasis=emphasis) if largest else 0.0
        # A learner that can stop early leaves a model even if it does not end.
        gain = (1.0 if costs.can_stop_early else chance) * expected.gain_over(self._in_hand) + chance * later
        return LessonOption(n_rows, emphasis, is_retry, chance, seconds, expected.mean, gain, max(n_rows, largest))

    def _expect_later_gain(self, first: Expectation, n_rows: int, *, emphasis: bool) -> float:
        """Return the gain by a lesson of `n_rows` after one whose expected score is given."""
        last = self._expect(n_rows, emphasis=emphasis)
        # What the first of the two lessons shows will be known by then.
        variance = max(last.deviation**2 - first.deviation**2, (0.1 * last.deviation) ** 2)
        return self._min_chance * Expectation(last.mean, math.sqrt(variance)).gain_over(max(first.mean, self._in_hand))

    def _seconds_besides_fit(self, n_rows: int, n_new: int, *, emphasis: bool) -> float:
        return self._state.reserved_seconds(n_rows) + self._predict_search(n_new, emphasis=emphasis)

    def _predict_search(self, n_new: int, *, emphasis: bool) -> float:
        if self._search is None or not emphasis:
            return 0.0
        return self._costs.exam_seconds(self._search.rows_to_examine(self._state, n_new))

    def _expect(self, n_rows: int, *, emphasis: bool) -> Expectation:
        key = n_rows, emphasis
        if key not in self._expected:
            self._expected[key] = self._state.curve.predict(n_rows, emphasis=emphasis)
        return self._expected[key]

    @property
    def _least_gain(self) -> float:
        best = self._state.best
        return 0.0 if best is None else _MIN_GAIN * best.score.standard_error

    @property
    def _min_chance(self) -> float:
        if not self._costs.killable:
            return _MIN_CHANCE_UNKILLABLE
        return _MIN_CHANCE_STOPPABLE if self._costs.can_stop_early else _MIN_CHANCE_KILLABLE

    def _find_min_chance(self, n_rows: int) -> float:
        """Return the least chance to end that the next lesson must have; a second one may be bold."""
        is_second = self._costs.can_stop_early and self._costs.may_try_again
        is_bold = is_second and n_rows <= _MAX_BOLD_GROWTH * len(self._state.lesson)
        return _MIN_CHANCE_SECOND if is_bold else self._min_chance


def _plan_exception(state: TeachingState) -> LessonOption | None:
    """Return a lesson that will hardly end, where nothing else can be done with the time; None if it is not worth it.

    The first lesson may have paid for what is paid once, such as a GPU's start. And a learner that can stop early, for
    which even the smallest lessons are too long, makes the most of the time with a lesson that is cut short.
    """
    costs, last_size = state.costs, len(state.lesson)
    n_rows = min(_MAX_EXCEPTION_GROWTH * last_size, state.max_rows)
    if costs.can_stop_early:
        is_worth_a_try = state.was_cut_short and costs.seconds_left > _MUCH_TIME * state.time_limit
    else:
        is_worth_a_try = costs.may_try_again and costs.seconds_left > _SECOND_TRY_TIME * state.time_limit
    return LessonOption(n_rows) if is_worth_a_try and n_rows >= _MIN_GROWTH * last_size else None
