"""Sample sizes and training times of TCTBase's rounds, compared with values computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin_paper.theory.round_schedule import RoundSchedule
from fitwithin_paper.theory.training_time import GROWTH_FACTORS, TrainingTime


def test_twenty_rounds_give_the_papers_number_of_examples():
    schedule = RoundSchedule(0.9, 20)

    assert schedule.n_examples[-1] + schedule.n_added[-1] == 2**21 - 1


def test_the_first_round_trains_on_the_one_example_of_s_0():
    assert RoundSchedule(0.5, 3).n_examples.tolist() == [1, 3, 7]
    assert RoundSchedule(0.5, 3).n_unbiased[0] == 1


@pytest.mark.parametrize(
    ("rounding", "mistakes"), [("down", [1, 3, 7, 14]), ("nearest", [2, 4, 7, 14]), ("up", [2, 4, 8, 15])]
)
def test_nine_tenths_of_each_round_are_rounded_by_the_given_rule(rounding, mistakes):
    assert RoundSchedule(0.9, 4, rounding).n_mistakes_added.tolist() == mistakes


@given(alpha=st.floats(0, 1, exclude_max=True), rounds=st.integers(1, 30))
def test_rounding_down_keeps_the_unbiased_share_that_the_proofs_need(alpha, rounds):
    schedule = RoundSchedule(alpha, rounds)

    assert np.all(schedule.n_unbiased >= (1 - alpha) * schedule.n_examples * (1 - 1e-12))
    assert np.all(schedule.n_unbiased <= schedule.n_examples)


@given(
    alpha=st.floats(0, 1, exclude_max=True),
    rounds=st.integers(1, 12),
    rounding=st.sampled_from(["down", "nearest", "up"]),
)
def test_the_sizes_equal_those_of_a_counting_loop(alpha, rounds, rounding):
    schedule = RoundSchedule(alpha, rounds, rounding)
    examples = unbiased = 1

    for i in range(1, rounds + 1):
        assert schedule.n_examples[i - 1] == examples
        assert schedule.n_unbiased[i - 1] == unbiased
        examples += 2**i
        unbiased += 2**i - schedule.n_mistakes_added[i - 1]


@pytest.mark.parametrize("arguments", [(-0.1, 3), (1, 3), (float("nan"), 3), (0.5, 0), (0.5, 3, "sideways")])
def test_an_invalid_schedule_is_rejected(arguments):
    with pytest.raises(ValueError, match=r"Got .*; .* must be "):
        RoundSchedule(*arguments)


def test_time_is_summed_over_the_rounds():
    assert TrainingTime(1).after_rounds(RoundSchedule(0.5, 3)).tolist() == [1, 4, 11]
    assert TrainingTime(2, "sqrt m").of_training([4]).tolist() == [32]


@given(growth=st.sampled_from(sorted(GROWTH_FACTORS)), m=st.floats(1, 1e9), c=st.floats(1, 1e6))
def test_every_growth_factor_is_increasing_and_at_most_linear(growth, m, c):
    f = GROWTH_FACTORS[growth]
    small, large = f(np.array([m])), f(np.array([c * m]))

    assert small <= large * (1 + 1e-12)
    assert large <= c * small * (1 + 1e-12)
