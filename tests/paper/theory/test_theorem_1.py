"""Theorem 1, in the simulation and in the count that its proof uses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin_paper.theory.finite_problem import simulate_tbatch, simulate_tct_base
from fitwithin_paper.theory.high_probability_bound import high_probability_bound
from fitwithin_paper.theory.round_schedule import RoundSchedule
from fitwithin_paper.theory.theorem_1 import (
    ALPHAS,
    REALIZABLE_PROBLEMS,
    find_proof_rounds,
    make_singletons,
    make_steps,
    overhead_bound,
    simulate_theorem_1,
)
from fitwithin_paper.theory.training_time import GROWTH_FACTORS, TrainingTime


@pytest.fixture(scope="module")
def result():
    return simulate_theorem_1(np.random.default_rng(5), n_attempts=500)


@settings(max_examples=300)
@given(
    alpha=st.floats(0, 0.99),
    k=st.integers(1, 4),
    growth=st.sampled_from(sorted(GROWTH_FACTORS)),
    batch=st.integers(1, 3000),
)
def test_as_many_unbiased_examples_are_reached_within_the_theorems_time(alpha, k, growth, batch):
    training_time, schedule = TrainingTime(k, growth), RoundSchedule(alpha, 30)
    index = int(find_proof_rounds(schedule, np.array([batch]))[0])

    assert schedule.n_unbiased[index] >= batch
    assert index == 0 or schedule.n_unbiased[index - 1] < batch
    assert training_time.after_rounds(schedule)[index] <= overhead_bound(alpha, k) * training_time.of_training(batch)


@given(alpha=st.floats(0, 0.99), batch=st.integers(1, 3000))
def test_as_many_unbiased_examples_are_reached_no_later_than_in_the_proof(alpha, batch):
    schedule = RoundSchedule(alpha, 30)
    first_with_enough = next(i for i, size in enumerate(schedule.n_examples) if size * (1 - alpha) >= batch)

    assert find_proof_rounds(schedule, np.array([batch]))[0] <= first_with_enough


def test_the_measured_overhead_stays_below_the_theorem(result):
    assert len(result.overheads) == 3 * len(GROWTH_FACTORS) * len(ALPHAS)
    for row in result.overheads:
        assert max(row.proof, row.singletons, row.steps) <= row.bound


def test_mistakes_save_time_on_thresholds_and_cost_time_on_singletons(result):
    none, many = (
        next(row for row in result.overheads if (row.k, row.growth, row.alpha) == (1, "1", alpha))
        for alpha in (0.0, 0.9)
    )

    assert many.steps < none.steps
    assert many.singletons > 2 * none.singletons


def test_less_than_a_share_delta_of_the_attempts_exceeds_tbatchs_guarantee(result):
    assert {row.problem for row in result.errors} == set(REALIZABLE_PROBLEMS)
    for row in result.errors:
        assert row.above < row.delta
        assert row.error <= row.epsilon


@pytest.mark.parametrize("make_problem", REALIZABLE_PROBLEMS.values())
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
def test_the_worst_learners_error_never_rises(make_problem, alpha):
    problem = make_problem()
    errors = problem.errors[simulate_tct_base(problem, RoundSchedule(alpha, 9), 100, np.random.default_rng(0))]

    assert np.all(np.diff(errors, axis=0) <= 0)


def test_each_singleton_is_wrong_at_one_point_and_the_last_at_none():
    problem = make_singletons(5)

    assert problem.wrong.sum(axis=1).tolist() == [1, 1, 1, 1, 1, 0]
    np.testing.assert_allclose(problem.errors[:-1], problem.masses)


def test_steps_are_thresholds_around_the_middle():
    distances = [0.5, 0.5, 1 / 3, 1 / 3, 1 / 6, 1 / 6, 0]

    np.testing.assert_allclose(make_steps(6).errors, distances, atol=1e-12)


@pytest.mark.parametrize("batch", [8, 30, 100])
def test_tbatchs_guarantee_on_steps_follows_the_formula(batch):
    """The worst threshold is off by d points if the d points next to the truth, on either side, were not drawn."""
    points, delta = 96, 0.05

    def missed(d):
        return 2 * (1 - d / points) ** batch - (1 - 2 * d / points) ** batch

    exact = next(d for d in range(points // 2) if missed(d + 1) < delta) / points
    problem = make_steps(points)

    found = high_probability_bound(
        problem.errors[simulate_tbatch(problem, batch, 20_000, np.random.default_rng(1))], delta
    )

    assert found == pytest.approx(exact, abs=0.05 * exact + 1 / points)


@pytest.mark.parametrize("make_problem", REALIZABLE_PROBLEMS.values())
def test_more_examples_never_hurt_the_worst_learner(make_problem):
    problem, rng = make_problem(), np.random.default_rng(2)
    bounds = [high_probability_bound(problem.errors[simulate_tbatch(problem, 4**i, 2000, rng)]) for i in range(1, 6)]

    assert bounds == sorted(bounds, reverse=True)


def test_the_bound_is_the_one_of_theorem_1():
    assert overhead_bound(0.0, k=2) == 16
    assert overhead_bound(0.2, k=1) == pytest.approx(12.5)
