"""Threshold learning, compared with a slow loop over real examples and with the theorem's law."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, linregress

from fitwithin_paper.theory.high_probability_bound import high_probability_bound
from fitwithin_paper.theory.round_schedule import RoundSchedule
from fitwithin_paper.theory.threshold_problem import (
    THRESHOLD_LEARNERS,
    simulate_tbatch_thresholds,
    simulate_tct_base_thresholds,
)
from fitwithin_paper.theory.threshold_theorem import find_batch_size, fit_line, simulate_threshold_theorem


@pytest.fixture(scope="module")
def result():
    return simulate_threshold_theorem(np.random.default_rng(13))


def algorithm_2(learner, alpha, rounds, v_star, rng):
    """Return the errors of all rounds; examples are numbers in a list, and so is the hypothesis.

    Mistakes are drawn by rejection, or directly from the interval of mistakes where rejection would take too long.
    """

    def hypothesis(s, evaluated):
        a = max([x for x in s if x < v_star], default=0.0)
        b = min([x for x in s if x >= v_star], default=1.0)
        if learner == "middle":
            return (a + b) / 2
        near, far = sorted([a, b], key=lambda v: abs(v - v_star))
        return near if learner == "switching" and not evaluated else far

    s, errors = [rng.random()], []
    for i in range(1, rounds + 1):
        errors.append(abs(hypothesis(s, evaluated=True) - v_star))
        v = hypothesis(s, evaluated=False)
        mistakes = int(alpha * 2**i)
        unbiased = [rng.random() for _ in range(2**i - mistakes)]
        found = []
        while len(found) < mistakes:
            x = rng.random() if abs(v - v_star) > 0.02 else rng.uniform(v, v_star)
            if (x >= v) != (x >= v_star):
                found.append(x)
        s += unbiased + found
    return errors


@pytest.mark.parametrize("learner", THRESHOLD_LEARNERS)
@pytest.mark.parametrize(("alpha", "v_star"), [(0.0, 0.5), (0.5, 0.5), (0.5, 0.2)])
def test_the_errors_of_each_round_are_distributed_as_in_the_slow_loop(learner, alpha, v_star):
    rounds, rng = 4, random.Random(4)
    slow = np.array([algorithm_2(learner, alpha, rounds, v_star, rng) for _ in range(800)]).T

    fast = simulate_tct_base_thresholds(
        RoundSchedule(alpha, rounds), learner, 20_000, np.random.default_rng(5), threshold=v_star
    )

    for mine, theirs in zip(fast, slow, strict=True):
        assert ks_2samp(mine, theirs).pvalue > 1e-3


def test_the_worst_learners_error_never_rises_and_never_reaches_zero():
    errors = simulate_tct_base_thresholds(RoundSchedule(0.5, 40), "worst", 300, np.random.default_rng(0))

    assert np.all(np.diff(errors, axis=0) <= 0)
    assert np.all(errors > 0)
    assert errors[-1].max() < 1e-60


@pytest.mark.parametrize("learner", ["worst", "middle"])
@pytest.mark.parametrize("epsilon", [0.1, 0.01, 1e-4, 1e-7])
def test_tbatch_keeps_the_error_with_the_batch_size_found(learner, epsilon):
    attempts, examples = 40_000, find_batch_size(epsilon, learner)

    missed = np.mean(simulate_tbatch_thresholds(examples, learner, attempts, np.random.default_rng(6)) > epsilon)

    # One example fewer is too few, and each example lowers the probability by this factor at most.
    floor = 0.05 * (1 - 2 * epsilon)
    spread = 5 * math.sqrt(0.05 * 0.95 / attempts)
    assert floor - spread < missed < 0.05 + spread


@given(epsilon=st.floats(1e-9, 0.2), learner=st.sampled_from(["worst", "middle"]), delta=st.floats(0.01, 0.5))
def test_the_batch_size_is_the_least_that_keeps_the_error(epsilon, learner, delta):
    def failure(m):
        both = math.exp(m * math.log1p(-2 * epsilon))
        return both if learner == "middle" else 2 * math.exp(m * math.log1p(-epsilon)) - both

    size = find_batch_size(epsilon, learner, delta)

    assert failure(size) <= delta < failure(size - 1)


def test_a_side_without_examples_is_one_whole_gap():
    errors = simulate_tbatch_thresholds(1, "worst", 1000, np.random.default_rng(0), threshold=0.25)

    assert np.mean(errors == 0.75) == pytest.approx(0.25, abs=0.05)
    assert np.all((errors >= 0.25) & (errors <= 0.75))


def scaling_fit(result, learner, alpha, orders, k=1):
    (fit,) = [f for f in result.fits if (f.learner, f.alpha, f.orders, f.k) == (learner, alpha, orders, k)]
    return fit


@pytest.mark.parametrize("learner", ["worst", "middle"])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
def test_log_time_is_linear_in_the_square_root_of_log_one_over_epsilon(result, learner, alpha):
    six, sixty = (scaling_fit(result, learner, alpha, orders) for orders in (6, 60))

    assert six.r2 > six.power_r2
    assert sixty.r2 > 0.99 > sixty.power_r2
    # The sides shrink alternately, by about 2^i: log2(1/epsilon) is about i^2 / 4, and log2 T about i.
    assert sixty.slope == pytest.approx(2, abs=0.2)
    assert sixty.power < 0.2


def test_tbatchs_time_is_one_over_epsilon_to_the_k(result):
    for fit in result.fits:
        assert fit.tbatch == pytest.approx(fit.k, rel=0.01)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
def test_a_learner_that_switches_sides_at_the_end_gains_nothing_from_mistakes(result, alpha):
    assert scaling_fit(result, "switching", alpha, 6).power == pytest.approx(1, abs=0.05)


def test_the_theorems_constant_does_not_grow_as_epsilon_falls(result):
    for learner, alpha in (("worst", 0.2), ("middle", 0.5)):
        c = [row.c for row in result.times if (row.learner, row.alpha, row.k) == (learner, alpha, 1)]
        assert np.mean(c[-40:]) < np.mean(c[20:60]) < 4


def test_the_time_to_an_error_is_that_of_the_first_round_that_keeps_it(result):
    schedule = RoundSchedule(0.2, 36)
    rows = [row for row in result.errors if (row.teacher, row.learner, row.alpha) == ("TCTBase", "worst", 0.2)]
    assert [row.examples for row in rows] == schedule.n_examples.tolist()

    for time_to_error in [row for row in result.times if (row.learner, row.alpha, row.k) == ("worst", 0.2, 1)]:
        assert time_to_error.tct_base == next(row.time for row in rows if row.error <= time_to_error.epsilon)


@given(
    slope=st.floats(-10, 10), intercept=st.floats(-10, 10), noise=st.lists(st.floats(-1, 1), min_size=3, max_size=20)
)
def test_the_fitted_line_equals_scipys(slope, intercept, noise):
    x = np.arange(len(noise), dtype=float)
    y = slope * x + intercept + np.array(noise) + np.where(x == 0, 0.5, 0)

    if np.ptp(y) > 1e-3:
        theirs = linregress(x, y)
        assert fit_line(x, y) == pytest.approx((theirs.slope, theirs.intercept, theirs.rvalue**2), abs=1e-7)


def test_the_same_seed_gives_the_same_records(result):
    assert simulate_threshold_theorem(np.random.default_rng(13)) == result


def test_bounds_are_computed_for_each_round():
    errors = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])

    assert high_probability_bound(errors, 0.5).tolist() == [0, 0]
    assert high_probability_bound(errors, 0.1).tolist() == [1, 0]
