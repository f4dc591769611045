"""The next lesson: the one with the best score expected at the deadline, among those that should end in time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fitwithin.teachers._auto.learning_curve import Expectation
from fitwithin.teachers._auto.mistake_search import MistakeSearch
from fitwithin.teachers._auto.state import TeachingState

_MIN_CHANCE = 0.9  # to end in time
_MIN_CHANCE_UNKILLABLE = 0.98  # the same where a fit that does not end makes the session late
_MIN_GROWTH = 1.1  # times the rows of the last lesson
_MIN_STEP_GROWTH = 2  # times the rows of the last lesson, for a lesson on the way to a larger one
_SIZE_RATIO = 1.25  # between two sizes that are considered
_MAX_EMPHASIS_SHARE = 0.6  # of the rows: in a larger lesson there are no easy rows left to leave out
_MAX_RETRY_SHARE = 0.7  # of the rows: a larger lesson of other rows has mostly the same ones
_MAX_RETRIES = 3  # lessons of other rows in a row that did not help
_MIN_GAIN = 0.05  # standard errors of the best score; less is not worth a lesson
_NO_EXPECTATION = Expectation(0.0, 1.0)  # without any score, every lesson is as good as the next

# Exceptions
_SECOND_TRY_TIME = 0.1  # of the time limit; with more left, a second lesson is tried whatever the first one took
_MUCH_TIME = 0.3  # of the time limit; with more left, a lesson that will be cut short is better than none
_MAX_STEP_GROWTH = 4  # times the rows of the last lesson
_LONGER_TIME = 1.25  # times the seconds of a lesson that was cut short, for another try to be worth it


@dataclass(frozen=True)
class LessonPlan:
    """A lesson that could come next.

    Parameters
    ----------
    n_rows : int
        Its rows.
    emphasis : bool
        Whether mistakes are among the new ones.
    is_retry : bool
        Whether all of its rows are new ones, instead of those of the last lesson and more.
    chance : float
        Chance to end in time.
    expected : Expectation
        Its score.
    gain : float
        Expected gain on the best score at the deadline, by this lesson and a last one after it.
    """

    n_rows: int
    emphasis: bool
    is_retry: bool
    chance: float
    expected: Expectation
    gain: float

    @property
    def expected_score(self) -> float | None:
        """Mean of the expected score; None if nothing is known about it."""
        return None if self.expected is _NO_EXPECTATION else self.expected.mean


def plan_next_lesson(state: TeachingState, search: MistakeSearch | None) -> LessonPlan | None:
    """Return the lesson with the best expected score at the deadline; None if none is worth its time."""
    plans = list(_consider_lessons(state, search))
    best = max(plans, key=lambda plan: plan.gain, default=None)
    if best is not None and best.gain > _least_gain(state):
        return best
    return None if plans else _plan_exception(state)


def _consider_lessons(state: TeachingState, search: MistakeSearch | None) -> Iterator[LessonPlan]:
    """Yield the lessons that should end in time."""
    yield from _consider_larger_lessons(state, None, state.max_rows)
    if search is None:
        return
    most = _find_most_with_emphasis(state, search)
    yield from _consider_larger_lessons(state, search, most)
    if state.best is not None and state.retries < _MAX_RETRIES:
        for n_rows in (len(state.best.rows), 2 * len(state.best.rows)):
            if n_rows <= min(_MAX_RETRY_SHARE * state.n_usable, most):
                plan = _evaluate(state, search, n_rows, is_retry=True)
                if plan.chance >= _min_chance(state):
                    yield plan


def _consider_larger_lessons(state: TeachingState, search: MistakeSearch | None, largest: int) -> Iterator[LessonPlan]:
    """Yield the largest lesson that should end in time, and smaller ones as steps on the way to a later one."""
    has_largest = False
    for n_rows in _list_sizes(len(state.lesson), largest):
        if has_largest and n_rows < _MIN_STEP_GROWTH * len(state.lesson):
            return
        plan = _evaluate(state, search, n_rows)
        if plan.chance >= _min_chance(state):
            has_largest = True
            yield plan


def _list_sizes(smallest: int, largest: int) -> Iterator[int]:
    """Yield sizes from the largest down to a little more than the smallest."""
    size = float(largest)
    while size >= _MIN_GROWTH * smallest:
        yield int(size)
        size /= _SIZE_RATIO


def _find_most_with_emphasis(state: TeachingState, search: MistakeSearch) -> int:
    """Return the rows of the largest lesson for which the rows left hold enough mistakes."""
    most_new = state.error_rate * state.deck.left / max(search.alpha, 1e-9)
    return int(min(state.max_rows, _MAX_EMPHASIS_SHARE * state.n_usable, len(state.lesson) + most_new))


def _evaluate(state: TeachingState, search: MistakeSearch | None, n_rows: int, *, is_retry: bool = False) -> LessonPlan:
    outlook, emphasis = state.outlook, search is not None
    search_seconds = _predict_search(state, search, n_rows, is_retry=is_retry)
    other_seconds = state.reserved_seconds(n_rows) + search_seconds
    chance = outlook.chance_to_end(n_rows, outlook.seconds_left - other_seconds)
    expected = _expect_score(state, n_rows, emphasis=emphasis)
    seconds_after = outlook.seconds_left - other_seconds - outlook.fit_seconds(n_rows)
    later = _expect_later_gain(state, n_rows, expected, seconds_after, emphasis=emphasis)
    # A learner that can stop early leaves a model even if it does not end.
    gain = (1.0 if outlook.can_stop_early else chance) * expected.gain_over(_score_in_hand(state, expected))
    gain += chance * _MIN_CHANCE * later
    return LessonPlan(n_rows, emphasis, is_retry, chance, expected, gain)


def _expect_later_gain(
    state: TeachingState, n_rows: int, expected: Expectation, seconds_left: float, *, emphasis: bool
) -> float:
    """Return the gain by the largest lesson that should end in the time after a lesson of `n_rows`."""
    outlook = state.outlook
    if seconds_left <= 0:
        return 0.0
    for size in _list_sizes(n_rows, state.max_rows):
        chance = outlook.chance_to_end(size, seconds_left - state.reserved_seconds(size), after=n_rows)
        if chance >= _min_chance(state):
            last = _expect_score(state, size, emphasis=emphasis)
            # What the first of the two lessons shows will be known by then.
            deviation = math.sqrt(max(last.deviation**2 - expected.deviation**2, (0.1 * last.deviation) ** 2))
            in_hand = max(expected.mean, _score_in_hand(state, expected))
            return Expectation(last.mean, deviation).gain_over(in_hand)
    return 0.0


def _predict_search(state: TeachingState, search: MistakeSearch | None, n_rows: int, *, is_retry: bool) -> float:
    if search is None:
        return 0.0
    n_new = n_rows if is_retry else n_rows - len(state.lesson)
    return state.outlook.exam_seconds(search.rows_to_examine(state, n_new))


def _expect_score(state: TeachingState, n_rows: int, *, emphasis: bool) -> Expectation:
    if not len(state.curve):
        return _NO_EXPECTATION
    return state.curve.predict(n_rows, emphasis=emphasis)


def _score_in_hand(state: TeachingState, expected: Expectation) -> float:
    return expected.mean if state.best is None else state.best.score.value


def _least_gain(state: TeachingState) -> float:
    return 0.0 if state.best is None else _MIN_GAIN * state.best.score.standard_error


def _min_chance(state: TeachingState) -> float:
    return _MIN_CHANCE if state.outlook.killable else _MIN_CHANCE_UNKILLABLE


def _plan_exception(state: TeachingState) -> LessonPlan | None:
    """Return a lesson that will hardly end, where nothing else can be done with the time; None if it is not worth it.

    The first lesson may have paid for what is paid once, such as a GPU's start. And a learner that can stop early, for
    which even the smallest lessons are too long, makes the most of the time with a lesson that is cut short.
    """
    outlook, last_size = state.outlook, len(state.lesson)
    n_rows = min(_MAX_STEP_GROWTH * last_size, state.max_rows)
    if outlook.can_stop_early:
        is_longer = outlook.seconds_left > _MUCH_TIME * state.time_limit
        is_worth_a_try = state.was_cut_short and is_longer and n_rows > last_size
    else:
        is_worth_a_try = outlook.may_try_again and outlook.seconds_left > _SECOND_TRY_TIME * state.time_limit
    if not is_worth_a_try or n_rows < _MIN_GROWTH * last_size:
        return None
    return LessonPlan(n_rows, False, False, 0.0, _NO_EXPECTATION, 0.0)
