"""Mistakes of the last model: how many to look for, and what becomes of the other rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers._auto import Emphasis
from teacher_driver import a_course, an_outlook, driven


def looked_for(course, alpha, new, answer):
    return driven(Emphasis(alpha).find_mistakes(course, new), answer)


@given(
    st.floats(0, 1),
    st.integers(0, 3000),
    st.sampled_from([0, 1, 50, 200, 900, 1000]),
    st.integers(501, 4000),
    st.floats(0, 1),
)
def test_only_mistakes_are_found_and_not_too_many_and_no_row_is_lost(alpha, new, wrong, size, error):
    course = a_course(size, first=50)
    course.error = error
    before = course.deck.left

    search = looked_for(course, alpha, new, lambda rows: rows * 7919 % 1000 < wrong)

    mistakes = search.result
    assert (mistakes * 7919 % 1000 < wrong).all()
    assert len(np.unique(mistakes)) == len(mistakes) <= round(alpha * new)
    assert course.deck.left == before - len(mistakes)
    rest = course.deck.deal(size)
    assert len(np.unique(np.concatenate([rest, mistakes]))) == before


@given(st.floats(0, 1), st.integers(0, 10_000), st.floats(0, 1), st.floats(1e-6, 1))
def test_rows_to_look_at_are_within_the_deck_and_within_the_time(alpha, new, error, exam):
    course = a_course(outlook=an_outlook(10, exam=exam))
    course.error = error

    rows = Emphasis(alpha).rows_to_examine(course, new)

    assert 0 <= rows <= min(4 * new, course.deck.left)
    assert course.outlook.exam_seconds(rows) <= 0.35 * course.outlook.seconds_left * (1 + 1e-9)


def test_the_rarer_mistakes_are_the_more_rows_are_looked_at():
    course, emphasis, rows = a_course(), Emphasis(0.2), []

    for error in (0.5, 0.2, 0.1, 0.0):
        course.error = error
        rows.append(emphasis.rows_to_examine(course, 500))

    assert rows == [210, 525, 1050, 2000]


@pytest.mark.parametrize(("alpha", "new"), [(0.0, 500), (0.2, 0)])
def test_where_no_mistakes_are_wanted_nobody_is_asked(alpha, new):
    search = looked_for(a_course(), alpha, new, lambda rows: rows >= 0)

    assert not search.asked
    assert len(search.result) == 0


def test_a_model_without_mistakes_gives_none():
    course = a_course()

    search = looked_for(course, 0.2, 500, lambda rows: rows < 0)

    assert len(search.exams) == 1
    assert len(search.result) == 0
