"""The sizes and times of TCTBase's rounds, beside a count by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._research.theory.clock import GROWTHS, LearnerTime, overhead_bound
from fitwithin._research.theory.schedule import Schedule


def test_twenty_rounds_leave_the_number_of_examples_that_the_paper_gives():
    schedule = Schedule(0.9, 20)

    assert schedule.examples[-1] + schedule.added[-1] == 2**21 - 1


def test_the_first_round_trains_on_the_one_example_of_s_0():
    assert Schedule(0.5, 3).examples.tolist() == [1, 3, 7]
    assert Schedule(0.5, 3).unbiased[0] == 1


@pytest.mark.parametrize(
    ("rounding", "mistakes"), [("down", [1, 3, 7, 14]), ("nearest", [2, 4, 7, 14]), ("up", [2, 4, 8, 15])]
)
def test_nine_tenths_of_each_round_are_rounded_as_asked(rounding, mistakes):
    assert Schedule(0.9, 4, rounding).mistakes_added.tolist() == mistakes


@given(alpha=st.floats(0, 1, exclude_max=True), rounds=st.integers(1, 30))
def test_rounding_down_keeps_the_unbiased_share_that_the_proofs_need(alpha, rounds):
    schedule = Schedule(alpha, rounds)

    assert np.all(schedule.unbiased >= (1 - alpha) * schedule.examples * (1 - 1e-12))
    assert np.all(schedule.unbiased <= schedule.examples)


@given(
    alpha=st.floats(0, 1, exclude_max=True),
    rounds=st.integers(1, 12),
    rounding=st.sampled_from(["down", "nearest", "up"]),
)
def test_the_sizes_are_those_of_a_loop_that_counts(alpha, rounds, rounding):
    schedule = Schedule(alpha, rounds, rounding)
    examples = unbiased = 1

    for i in range(1, rounds + 1):
        assert schedule.examples[i - 1] == examples
        assert schedule.unbiased[i - 1] == unbiased
        examples += 2**i
        unbiased += 2**i - schedule.mistakes_added[i - 1]


@pytest.mark.parametrize("arguments", [(-0.1, 3), (1, 3), (float("nan"), 3), (0.5, 0), (0.5, 3, "sideways")])
def test_a_schedule_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(ValueError, match=r"must be .*; got"):
        Schedule(*arguments)


def test_time_is_summed_over_the_rounds():
    assert LearnerTime(1).after(Schedule(0.5, 3)).tolist() == [1, 4, 11]
    assert LearnerTime(2, "sqrt m").of([4]).tolist() == [32]


@given(growth=st.sampled_from(sorted(GROWTHS)), m=st.floats(1, 1e9), c=st.floats(1, 1e6))
def test_every_factor_grows_but_not_faster_than_linearly(growth, m, c):
    f = GROWTHS[growth]
    small, large = f(np.array([m])), f(np.array([c * m]))

    assert small <= large * (1 + 1e-12)
    assert large <= c * small * (1 + 1e-12)


def test_the_bound_is_the_one_of_theorem_1():
    assert overhead_bound(0.0, k=2) == 16
    assert overhead_bound(0.2, k=1) == pytest.approx(12.5)
