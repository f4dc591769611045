"""What a teacher may afford."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.cost import Outlook
from fitwithin.testing import FakeClock
from teacher_driver import an_outlook


def test_without_a_budget_there_is_time_for_everything():
    outlook = Outlook()

    assert outlook.seconds_left == math.inf
    assert outlook.affordable_exam_rows(0.01, 10**9) == 10**9
    assert (outlook.fit_seconds(1000), outlook.exam_seconds(1000)) == (0.0, 0.0)


def test_what_is_left_goes_by_the_budget():
    clock = FakeClock()
    outlook = an_outlook(10, clock=clock)
    clock.advance(4)

    assert outlook.seconds_left == 6


def test_lessons_and_exams_cost_what_the_last_ones_did():
    outlook = an_outlook(lessons=[(100, 2.0)], exam=0.01)

    assert outlook.fit_seconds(100) == 2.0
    assert outlook.exam_seconds(300) == pytest.approx(3.0)


@pytest.mark.parametrize(("share", "most", "rows"), [(0.1, 50, 50), (0.1, 500, 100), (0.0, 500, 0), (0.5, 0, 0)])
def test_as_many_rows_are_examinable_as_their_share_of_the_time_allows(share, most, rows):
    assert an_outlook(100, exam=0.1).affordable_exam_rows(share, most) == rows


@given(st.floats(0, 1), st.integers(0, 10**7), st.floats(1e-9, 10), st.floats(0.01, 1e6))
def test_what_is_examinable_is_within_bounds_and_within_its_time(share, most, exam, limit):
    outlook = an_outlook(limit, exam=exam)

    rows = outlook.affordable_exam_rows(share, most)

    assert 0 <= rows <= most
    assert outlook.exam_seconds(rows) <= share * outlook.seconds_left * (1 + 1e-9)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e4)), max_size=6))
def test_the_doubt_is_a_factor_of_at_least_one_and_less_than_the_headroom(lessons):
    outlook = an_outlook(lessons=lessons)

    assert 1 <= outlook.safety_factor <= outlook.cost.headroom
