"""Theorem 1, in the simulation and in the proof's own count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._research.theory.clock import GROWTHS, LearnerTime, overhead_bound
from fitwithin._research.theory.fallback import ALPHAS, PROBLEMS, measure_fallback, proof_round, singletons, steps
from fitwithin._research.theory.finite import tbatch, tct_base
from fitwithin._research.theory.guarantee import guaranteed
from fitwithin._research.theory.schedule import Schedule


@pytest.fixture(scope="module")
def measured():
    return measure_fallback(np.random.default_rng(5), attempts=500)


@settings(max_examples=300)
@given(
    alpha=st.floats(0, 0.99),
    k=st.integers(1, 4),
    growth=st.sampled_from(sorted(GROWTHS)),
    batch=st.integers(1, 3000),
)
def test_as_many_unbiased_examples_come_within_the_theorems_time(alpha, k, growth, batch):
    clock, schedule = LearnerTime(k, growth), Schedule(alpha, 30)
    place = int(proof_round(schedule, np.array([batch]))[0])

    assert schedule.unbiased[place] >= batch
    assert place == 0 or schedule.unbiased[place - 1] < batch
    assert clock.after(schedule)[place] <= overhead_bound(alpha, k) * clock.of(batch)


@given(alpha=st.floats(0, 0.99), batch=st.integers(1, 3000))
def test_they_come_no_later_than_in_the_round_of_the_proof(alpha, batch):
    schedule = Schedule(alpha, 30)
    first_with_enough = next(i for i, size in enumerate(schedule.examples) if size * (1 - alpha) >= batch)

    assert proof_round(schedule, np.array([batch]))[0] <= first_with_enough


def test_the_measured_overhead_stays_below_the_theorem(measured):
    assert len(measured.overhead) == 3 * len(GROWTHS) * len(ALPHAS)
    for row in measured.overhead:
        assert max(row.proof, row.singletons, row.steps) <= row.bound


def test_mistakes_save_time_on_thresholds_and_cost_time_on_singletons(measured):
    none, many = (
        next(row for row in measured.overhead if (row.k, row.growth, row.alpha) == (1, "1", alpha))
        for alpha in (0.0, 0.9)
    )

    assert many.steps < none.steps
    assert many.singletons > 2 * none.singletons


def test_the_error_exceeds_what_tbatch_promises_in_less_than_a_share_delta(measured):
    assert {row.problem for row in measured.errors} == set(PROBLEMS)
    for row in measured.errors:
        assert row.above < row.delta
        assert row.error <= row.epsilon


@pytest.mark.parametrize("make", PROBLEMS.values())
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
def test_the_worst_learners_error_never_rises(make, alpha):
    problem = make()
    errors = problem.errors[tct_base(problem, Schedule(alpha, 9), 100, np.random.default_rng(0))]

    assert np.all(np.diff(errors, axis=0) <= 0)


def test_singletons_are_wrong_on_one_point_each_and_the_last_on_none():
    problem = singletons(5)

    assert problem.wrong.sum(axis=1).tolist() == [1, 1, 1, 1, 1, 0]
    np.testing.assert_allclose(problem.errors[:-1], problem.masses)


def test_steps_are_thresholds_around_the_middle():
    distances = [0.5, 0.5, 1 / 3, 1 / 3, 1 / 6, 1 / 6, 0]

    np.testing.assert_allclose(steps(6).errors, distances, atol=1e-12)


@pytest.mark.parametrize("batch", [8, 30, 100])
def test_what_tbatch_promises_on_steps_is_what_the_formula_gives(batch):
    """The worst threshold is d points off if d points next to the truth, on either side, were not drawn."""
    points, delta = 96, 0.05

    def missed(d):
        return 2 * (1 - d / points) ** batch - (1 - 2 * d / points) ** batch

    exact = next(d for d in range(points // 2) if missed(d + 1) < delta) / points
    problem = steps(points)

    found = guaranteed(problem.errors[tbatch(problem, batch, 20_000, np.random.default_rng(1))], delta)

    assert found == pytest.approx(exact, abs=0.05 * exact + 1 / points)


@pytest.mark.parametrize("make", PROBLEMS.values())
def test_more_examples_never_hurt_the_worst_learner(make):
    problem, rng = make(), np.random.default_rng(2)
    promised = [guaranteed(problem.errors[tbatch(problem, 4**i, 2000, rng)]) for i in range(1, 6)]

    assert promised == sorted(promised, reverse=True)
