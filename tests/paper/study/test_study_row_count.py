"""The number of rows for which a full training takes the requested time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin_paper.study.row_count import MIN_ROWS, find_row_count, scale_min_rows


@given(
    seconds=st.floats(0.5, 60),
    fixed=st.floats(0, 0.3),
    each=st.floats(1e-7, 1e-4),
    power=st.sampled_from([0.8, 1.0, 1.2]),
    most=st.integers(MIN_ROWS, 2_000_000),
)
def test_the_time_is_close_or_all_rows_or_the_fewest_are_used(seconds, fixed, each, power, most):
    def cost(rows):
        return fixed + each * rows**power

    rows = find_row_count(seconds, cost, most)

    if rows is None:
        assert cost(MIN_ROWS) > 3 * seconds
    elif rows < most and rows > MIN_ROWS:
        assert cost(rows) == pytest.approx(seconds, rel=0.3)
    elif rows == most:
        assert cost(rows) < 1.3 * seconds or most == MIN_ROWS
    else:
        assert cost(rows) > 0.75 * seconds


def test_the_fewest_rows_may_take_longer_but_not_far_longer():
    assert find_row_count(4.0, lambda rows: 10.0 * rows / MIN_ROWS, 100_000) == MIN_ROWS
    assert find_row_count(4.0, lambda rows: 30.0 * rows / MIN_ROWS, 100_000) is None


def test_a_learner_that_is_slow_with_any_number_of_rows_is_given_up():
    assert find_row_count(1.0, lambda rows: 100.0, 100_000) is None


def test_all_rows_of_a_small_set_are_used():
    assert find_row_count(4.0, lambda rows: rows / 1000, 300) == 300


def test_after_the_last_trial_the_nearest_row_count_is_returned():
    tried = []

    def cost(rows):
        tried.append((rows, 8.0 if len(tried) == 3 else 19.0 if len(tried) % 2 else 0.3))
        return tried[-1][1]

    assert find_row_count(4.0, cost, 1_000_000) == tried[3][0]


def test_the_fewest_rows_shrink_with_the_scale():
    assert scale_min_rows(0.05) == 250
    assert find_row_count(0.2, lambda rows: rows / 2000, 100_000, min_rows=250) == 400
    assert find_row_count(0.2, lambda rows: rows / 2000, 100_000) is None
