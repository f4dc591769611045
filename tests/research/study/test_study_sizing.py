"""As many rows as take about the time that was asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._research.study.sizing import FEWEST, fewest_rows, rows_for


@given(
    seconds=st.floats(0.5, 60),
    fixed=st.floats(0, 0.3),
    each=st.floats(1e-7, 1e-4),
    power=st.sampled_from([0.8, 1.0, 1.2]),
    most=st.integers(FEWEST, 2_000_000),
)
def test_it_comes_near_the_time_or_uses_all_rows_or_the_fewest(seconds, fixed, each, power, most):
    def cost(rows):
        return fixed + each * rows**power

    rows = rows_for(seconds, cost, most)

    if rows is None:
        assert cost(FEWEST) > 3 * seconds
    elif rows < most and rows > FEWEST:
        assert cost(rows) == pytest.approx(seconds, rel=0.3)
    elif rows == most:
        assert cost(rows) < 1.3 * seconds or most == FEWEST
    else:
        assert cost(rows) > 0.75 * seconds


def test_the_fewest_rows_may_take_longer_but_not_far_longer():
    assert rows_for(4.0, lambda rows: 10.0 * rows / FEWEST, 100_000) == FEWEST
    assert rows_for(4.0, lambda rows: 30.0 * rows / FEWEST, 100_000) is None


def test_a_learner_that_takes_its_time_over_any_number_of_rows_is_given_up():
    assert rows_for(1.0, lambda rows: 100.0, 100_000) is None


def test_a_small_set_is_used_whole():
    assert rows_for(4.0, lambda rows: rows / 1000, 300) == 300


def test_after_the_last_trial_the_nearest_is_taken():
    tried = []

    def cost(rows):
        tried.append((rows, 8.0 if len(tried) == 3 else 19.0 if len(tried) % 2 else 0.3))
        return tried[-1][1]

    assert rows_for(4.0, cost, 1_000_000) == tried[3][0]


def test_the_fewest_rows_shrink_with_the_scale():
    assert fewest_rows(0.05) == 250
    assert rows_for(0.2, lambda rows: rows / 2000, 100_000, fewest=250) == 400
    assert rows_for(0.2, lambda rows: rows / 2000, 100_000) is None
