"""Seconds of a fit by its rows, and the chance that it ends in time."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.fit_cost import DEFAULT_GROWTH, FitCost, SecondsByRows

sizes = st.integers(1, 10**7)
seconds = st.just(0.0) | st.floats(1e-6, 1e5)
fits = st.lists(st.tuples(sizes, seconds), min_size=1, max_size=6)
shares = st.floats(0, 1)


def after(fits, *settings):
    part = SecondsByRows(*settings)
    for rows, took in fits:
        part.observe(rows, took)
    return part


def a_learner(*fits, growth=DEFAULT_GROWTH):
    """What is known after fits of so many rows, seconds and, perhaps, seconds of set-up."""
    cost = FitCost(growth)
    for fit in fits:
        cost.observe(*fit)
    return cost


@st.composite
def learners(draw):
    """A learner after some fits, with or without known steps."""
    cost = FitCost(draw(st.sampled_from([1.0, 1.1])), draw(shares))
    has_setup = draw(st.booleans())
    for rows, took in draw(fits):
        cost.observe(rows, took, draw(shares) * took if has_setup else None)
    return cost


# Seconds by rows


@given(fits, st.floats(0.5, 2), shares, sizes, sizes)
def test_more_rows_never_take_less_time(fits, growth, first_share, rows, more):
    part = after(fits, growth, first_share)

    fewer, all_of_them = part.predict(rows), part.predict(rows + more)

    assert 0 <= fewer <= all_of_them * (1 + 1e-9) < math.inf


@given(fits)
def test_an_observed_size_takes_what_it_took_unless_a_larger_fit_was_faster(fits):
    part = after(fits)

    for size in part.observed:
        at_least_as_large = [took for rows, took in part.observed.items() if rows >= size]
        assert part.predict(size) == pytest.approx(min(at_least_as_large), rel=1e-9)


@given(sizes, seconds, seconds)
def test_of_two_fits_of_the_same_size_the_newest_counts(rows, before, now):
    assert after([(rows, before), (rows, now)]).predict(rows) == pytest.approx(now)


@given(sizes, seconds, sizes)
def test_a_part_that_does_not_grow_is_the_same_for_any_rows(size, took, rows):
    assert after([(size, took)], 1.0, 0.0).predict(rows) == took


def test_nothing_is_predicted_before_the_first_fit():
    assert SecondsByRows().predict(100) == 0.0


def test_between_two_sizes_seconds_are_interpolated():
    assert after([(100, 1.0), (300, 5.0)]).predict(200) == pytest.approx(3.0)


def test_below_the_smallest_of_two_sizes_seconds_are_those_of_it():
    assert after([(100, 1.0), (300, 5.0)]).predict(10) == 1.0


@pytest.mark.parametrize("growth", [0.9, 1.1, 1.75])
def test_before_a_second_size_seconds_grow_as_those_of_this_kind_of_learner_do(growth):
    assert after([(100, 1.0)], growth).predict(800) == pytest.approx(8**growth)


@given(st.floats(0.5, 2), st.floats(0, 3))
def test_beyond_two_sizes_growth_lies_between_what_they_show_and_that_of_the_kind_of_learner(growth, shown):
    predicted = after([(100, 1.0), (200, 2**shown)], growth).predict(400) / 2**shown

    # Some part of the seconds always grows.
    assert min(growth, shown) - 1e-9 <= math.log2(predicted) <= max(growth, shown, 0.2) + 1e-9


def test_what_two_sizes_have_in_common_does_not_grow_with_the_rows():
    assert after([(100, 2.5), (200, 3.0)], 1.0).predict(1000) == pytest.approx(7.0)


def test_faster_growth_than_that_of_the_kind_of_learner_is_believed_in_part():
    assert 8.0 < after([(100, 1.0), (200, 4.0)], 1.0).predict(400) < 16.0


def test_a_larger_fit_that_was_faster_corrects_a_smaller_one():
    part = after([(100, 3.0), (200, 2.0)])

    assert part.predict(100) == part.predict(150) == part.predict(200) == 2.0
    assert part.predict(1000) > 2.0


def test_a_short_fit_says_nothing_about_the_growth():
    assert after([(250, 1e-6), (2000, 0.1)], 1.0).predict(8000) == pytest.approx(0.4)


# Fits: set-up and steps


@given(sizes, seconds, shares)
def test_set_up_and_steps_together_are_the_fit(rows, took, share):
    cost = a_learner((rows, took, share * took))

    assert cost.setup_seconds(rows) == pytest.approx(share * took)
    assert cost.seconds(rows) == pytest.approx(took)


def test_set_up_and_steps_each_have_their_growth():
    setup, steps = (lambda rows: 1e-6 * rows**1.4), (lambda rows: 1 + 1e-4 * rows)

    fits = [(rows, setup(rows) + steps(rows), setup(rows)) for rows in (5000, 20_000)]
    cost = a_learner(*fits, growth=1.0)

    # That the set-up grows faster than expected is believed in part.
    assert 4 * setup(20_000) < cost.setup_seconds(80_000) < setup(80_000)
    assert cost.seconds(80_000) - cost.setup_seconds(80_000) == pytest.approx(steps(80_000))


def test_a_learner_whose_steps_are_unknown_has_no_set_up():
    assert a_learner((100, 2.0)).setup_seconds(100) is None


@given(learners(), sizes, sizes)
def test_every_prediction_is_finite_and_more_rows_never_take_less_time(cost, rows, more):
    assert 0 <= cost.seconds(rows) <= cost.seconds(rows + more) * (1 + 1e-9) < math.inf
    assert (cost.setup_seconds(rows) or 0) <= cost.seconds(rows) * (1 + 1e-9)


@given(learners(), sizes)
def test_observations_that_are_restored_predict_the_same(cost, rows):
    other = FitCost(cost._steps._growth, cost._steps._first_growing_share)

    other.restore(json.loads(json.dumps(cost.observations())))

    assert other.seconds(rows) == pytest.approx(cost.seconds(rows), abs=1e-9)
    assert other.setup_seconds(rows) == pytest.approx(cost.setup_seconds(rows))
    assert other.deviation(rows) == pytest.approx(cost.deviation(rows))
    assert other.largest_known_rows == cost.largest_known_rows
    assert other.knows_first_fit_only == cost.knows_first_fit_only


# The chance to end in time


@given(learners(), sizes, st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_chance_is_a_probability_and_grows_with_the_seconds(cost, rows, within, more):
    chance, better = cost.chance_to_end(rows, within), cost.chance_to_end(rows, within + more)

    assert 0 <= chance <= better + 1e-12 <= 1 + 1e-9


@given(learners(), sizes, st.floats(0, 1e6), shares)
def test_fewer_steps_never_lower_the_chance(cost, rows, within, share):
    chance = cost.chance_to_end(rows, within)

    assert cost.chance_to_end(rows, within, share_of_steps=share) >= chance - 1e-9
    assert cost.chance_to_end(rows, within, share_of_steps=0.85) >= chance - 1e-9


@given(st.floats(0.1, 10), st.integers(1, 10**5), st.integers(0, 10**5), st.floats(1, 1e4))
def test_the_chance_of_a_fit_that_should_end_shrinks_with_the_rows(took, rows, more, within):
    cost = a_learner((100, took), (1000, 9 * took))

    if within >= cost.seconds(rows + more):
        assert cost.chance_to_end(rows + more, within) <= cost.chance_to_end(rows, within) + 1e-9


@given(learners(), sizes)
def test_the_chance_is_0_without_time_and_1_without_a_limit(cost, rows):
    assert cost.chance_to_end(rows, 0.0) == 0.0
    assert cost.chance_to_end(rows, math.inf) == 1.0


def test_half_of_the_fits_take_longer_than_predicted():
    assert a_learner((1000, 3.0)).chance_to_end(1000, 3.0) == 0.5


def test_a_size_far_from_those_that_were_seen_is_less_certain():
    cost = a_learner((100, 1.0), (1000, 8.0))

    deviations = [cost.deviation(rows) for rows in (1000, 4000, 16_000)]

    assert deviations == sorted(set(deviations))


def test_a_learner_whose_growth_varies_less_is_more_certain_far_from_the_sizes_that_were_seen():
    tree, solver = FitCost(1.1, spread=0.05), FitCost(1.1, spread=0.35)
    for cost in (tree, solver):
        cost.observe(1000, 1.0)

    assert tree.deviation(16_000) < solver.deviation(16_000)
    assert tree.deviation(1000) == solver.deviation(1000)


def test_a_second_size_makes_predictions_more_certain():
    assert a_learner((100, 1.0), (1000, 10.0)).deviation(4000) < a_learner((1000, 10.0)).deviation(4000)


def test_overruns_widen_the_deviation_and_good_predictions_narrow_it():
    before = a_learner((1000, 1.0), (1000, 1.0))
    surprised = a_learner((1000, 1.0), (1000, 1.0), (1000, 3.0))
    confirmed = a_learner((1000, 1.0), (1000, 1.0), (1000, 1.0))

    assert confirmed.deviation(1000) < before.deviation(1000) < surprised.deviation(1000)


def test_one_pause_of_the_machine_counts_no_more_than_a_large_surprise():
    surprised, paused = a_learner((1000, 0.1), (1000, 10.0)), a_learner((1000, 0.1), (1000, 1e4))

    assert paused.deviation(1000) == surprised.deviation(1000)


def test_a_fit_of_milliseconds_says_nothing_about_the_deviation():
    assert a_learner((100, 1e-3), (100, 9e-3)).deviation(100) == a_learner((100, 1e-3)).deviation(100)


def test_the_first_fit_is_the_only_one_until_another_is_observed():
    assert not FitCost().knows_first_fit_only
    assert a_learner((100, 1.0)).knows_first_fit_only
    assert not a_learner((100, 1.0), (100, 1.0)).knows_first_fit_only
