"""The sizes of Auto's lessons."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers._auto import MistakeSearch, choose_next_size, find_largest_size
from fitwithin.testing import FakeClock
from teacher_driver import a_state, an_outlook

searches = st.none() | st.builds(MistakeSearch, st.floats(0, 1))


def state_after(limit, seconds, *, size=6000, exam=1e-6, can_stop_early=False, spent=0.0):
    """The state after a first lesson that took `seconds`."""
    clock = FakeClock()
    outlook = an_outlook(limit, lessons=[(250, seconds)], exam=exam, can_stop_early=can_stop_early, clock=clock)
    state = a_state(size, outlook=outlook)
    clock.advance(spent)
    return state


@pytest.mark.parametrize("can_stop_early", [False, True])
@pytest.mark.parametrize("search", [None, MistakeSearch(0.2)])
def test_without_a_time_limit_every_row_can_be_taught(can_stop_early, search):
    state = state_after(math.inf, 1.0, can_stop_early=can_stop_early)

    assert find_largest_size(state, search) == state.max_rows


@given(st.floats(0, 100), st.floats(0, 100), st.floats(1e-4, 50), st.booleans(), searches)
def test_more_time_never_makes_the_largest_lesson_smaller(spent, more, seconds, can_stop_early, search):
    sizes = [
        find_largest_size(state_after(100, seconds, can_stop_early=can_stop_early, spent=min(gone, 100)), search)
        for gone in (spent + more, spent)
    ]

    assert sizes[0] <= sizes[1]


@given(st.floats(0.01, 1000), st.floats(1e-4, 50), st.integers(501, 20_000), st.booleans(), searches)
def test_no_lesson_is_larger_than_the_rows_left_allow_or_smaller_than_the_last(
    limit, seconds, size, can_stop_early, search
):
    state = state_after(limit, seconds, size=size, can_stop_early=can_stop_early)

    assert find_largest_size(state, search) <= state.max_rows
    rows = choose_next_size(state, search)
    assert rows == 0 or len(state.lesson) < rows <= state.max_rows


@given(st.floats(0.01, 1000), st.floats(1e-4, 50))
def test_a_learner_that_cannot_stop_early_gets_only_lessons_that_should_end_in_time(limit, seconds):
    state = state_after(limit, seconds)
    # The first fit alone says little: it may have paid for what is paid once.
    state.outlook.cost.observe_fit(250, seconds)

    rows = choose_next_size(state, None)

    assert state.outlook.fit_seconds(rows) <= state.outlook.seconds_left or rows == 0


def test_a_second_lesson_is_tried_whatever_the_first_one_took():
    assert choose_next_size(state_after(100, 80.0, spent=85.0), None) == 1000


def test_a_second_lesson_is_not_tried_with_hardly_any_time_left_or_where_it_cannot_be_killed():
    unkillable = state_after(100, 80.0, spent=85.0)
    unkillable.outlook.killable = False

    assert choose_next_size(state_after(100, 80.0, spent=95.0), None) == 0
    assert choose_next_size(unkillable, None) == 0


def test_a_lesson_that_is_hardly_larger_is_not_worth_its_time():
    assert choose_next_size(state_after(100, 1.0, spent=98.8), None) == 0


def test_the_last_rows_are_worth_their_time_however_few_they_are():
    state = state_after(math.inf, 1.0)
    state.deck.deal(state.deck.left - 3)

    assert choose_next_size(state, None) == len(state.lesson) + 3


def test_a_learner_that_can_stop_early_gets_the_largest_lesson_at_once():
    state = state_after(50, 0.5, size=100_000, can_stop_early=True)

    assert choose_next_size(state, None) == find_largest_size(state, None)


def test_a_learner_that_cannot_stop_early_takes_a_step_first():
    state = state_after(50, 0.1, size=100_000)

    assert choose_next_size(state, None) == 4 * len(state.lesson)


def test_a_learner_that_can_stop_early_gets_a_lesson_too_large_to_finish_while_much_time_is_left():
    slow = {"size": 100_000, "can_stop_early": True}

    assert choose_next_size(state_after(10, 100.0, **slow), None) == 1000
    assert choose_next_size(state_after(10, 100.0, spent=8, **slow), None) == 0


def test_the_search_for_mistakes_takes_time_from_the_lesson():
    state = state_after(20, 0.5, size=100_000, exam=1e-3)

    assert find_largest_size(state, MistakeSearch(0.5)) < find_largest_size(state, MistakeSearch(0.0))
