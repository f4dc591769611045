"""How many rows the next lesson has."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers._auto import Emphasis, largest_size, next_size
from fitwithin.testing import FakeClock
from teacher_driver import a_course, an_outlook

emphases = st.none() | st.builds(Emphasis, st.floats(0, 1))


def course_after(limit, seconds, *, size=6000, exam=1e-6, can_stop_early=False, spent=0.0):
    """A course after a first lesson of so many seconds."""
    clock = FakeClock()
    outlook = an_outlook(limit, lessons=[(250, seconds)], exam=exam, can_stop_early=can_stop_early, clock=clock)
    course = a_course(size, outlook=outlook)
    clock.advance(spent)
    return course


@pytest.mark.parametrize("can_stop_early", [False, True])
@pytest.mark.parametrize("emphasis", [None, Emphasis(0.2)])
def test_without_a_limit_everything_can_be_taught(can_stop_early, emphasis):
    course = course_after(math.inf, 1.0, can_stop_early=can_stop_early)

    assert largest_size(course, emphasis) == course.most


@given(st.floats(0, 100), st.floats(0, 100), st.floats(1e-4, 50), st.booleans(), emphases)
def test_more_time_never_makes_the_largest_lesson_smaller(spent, more, seconds, can_stop_early, emphasis):
    sizes = [
        largest_size(course_after(100, seconds, can_stop_early=can_stop_early, spent=min(gone, 100)), emphasis)
        for gone in (spent + more, spent)
    ]

    assert sizes[0] <= sizes[1]


@given(st.floats(0.01, 1000), st.floats(1e-4, 50), st.integers(501, 20_000), st.booleans(), emphases)
def test_no_lesson_is_larger_than_what_there_is_nor_smaller_than_the_last(
    limit, seconds, size, can_stop_early, emphasis
):
    course = course_after(limit, seconds, size=size, can_stop_early=can_stop_early)

    assert largest_size(course, emphasis) <= course.most
    rows = next_size(course, emphasis)
    assert rows == 0 or len(course.lesson) < rows <= course.most


@given(st.floats(0.01, 1000), st.floats(1e-4, 50))
def test_a_black_box_gets_a_lesson_only_if_it_is_expected_to_end_in_time(limit, seconds):
    course = course_after(limit, seconds)

    rows = next_size(course, None)

    assert course.outlook.fit_seconds(rows) <= course.outlook.seconds_left or rows == 0


def test_a_lesson_that_is_hardly_larger_is_not_worth_its_time():
    assert next_size(course_after(100, 1.0, spent=98.8), None) == 0


def test_the_last_rows_are_worth_it_however_few_they_are():
    course = course_after(math.inf, 1.0)
    course.deck.deal(course.deck.left - 3)

    assert next_size(course, None) == len(course.lesson) + 3


def test_who_can_be_stopped_goes_for_the_largest_lesson_at_once():
    course = course_after(50, 0.5, size=100_000, can_stop_early=True)

    assert next_size(course, None) == largest_size(course, None)


def test_a_black_box_takes_a_step_first():
    course = course_after(50, 0.1, size=100_000)

    assert next_size(course, None) == 4 * len(course.lesson)


def test_who_can_be_stopped_is_given_more_rows_while_much_time_is_left_even_if_it_will_not_end():
    slow = {"size": 100_000, "can_stop_early": True}

    assert next_size(course_after(10, 100.0, **slow), None) == 1000
    assert next_size(course_after(10, 100.0, spent=8, **slow), None) == 0


def test_looking_for_mistakes_takes_time_that_is_not_for_the_lesson():
    course = course_after(20, 0.5, size=100_000, exam=1e-3)

    assert largest_size(course, Emphasis(0.5)) < largest_size(course, Emphasis(0.0))
