"""Simulation of the agnostic theorem."""

import numpy as np
import pytest

from fitwithin_paper.theory.agnostic_theorem import (
    AGNOSTIC_PROBLEMS,
    ALPHAS,
    largest_deviations,
    make_seesaw,
    simulate_agnostic_theorem,
)
from fitwithin_paper.theory.finite_problem import FiniteProblem


@pytest.fixture(scope="module")
def result():
    return simulate_agnostic_theorem(np.random.default_rng(11))


def test_the_bound_is_epsilon_plus_the_term_for_mistakes(result):
    for row in result.excess_errors:
        assert row.bound == pytest.approx(row.epsilon + row.alpha / (1 - row.alpha))


def test_the_excess_stays_below_the_bound_in_every_round(result):
    assert {(row.problem, row.alpha) for row in result.excess_errors} == {
        (name, alpha) for name in AGNOSTIC_PROBLEMS for alpha in ALPHAS
    }
    for row in result.excess_errors:
        assert row.above < row.delta
        assert row.excess <= row.bound


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5])
def test_the_seesaw_nearly_reaches_the_bound(result, alpha):
    (row,) = [row for row in result.summary() if (row.problem, row.alpha) == ("seesaw", alpha)]

    assert row.excess == pytest.approx(0.9 * alpha / (1 - alpha))
    assert row.excess > 0.8 * row.bound


def test_without_mistakes_the_best_hypothesis_is_found(result):
    last = [row for row in result.excess_errors if row.alpha == 0 and row.round == 18]

    assert [row.mean_excess for row in last] == [0, 0]


def test_epsilon_falls_with_the_square_root_of_the_number_of_examples(result):
    rows = [row for row in result.excess_errors if (row.problem, row.alpha) == ("bad example", 0.0)]
    first, last = rows[4], rows[-1]

    assert first.epsilon / last.epsilon == pytest.approx(np.sqrt(last.unbiased / first.unbiased), rel=0.15)


def test_the_seesaw_has_two_hypotheses_that_are_wrong_at_different_points():
    problem = make_seesaw(0.2)

    assert problem.errors.tolist() == pytest.approx([0.05 + 0.9 * 0.25, 0.05])
    assert not np.any(problem.wrong[0] & problem.wrong[1])
    assert problem.masses.sum() == pytest.approx(1)


def test_a_deviation_is_the_largest_over_the_class():
    problem = FiniteProblem(np.array([0.75, 0.25]), np.array([[True, False], [False, True], [True, True]]))
    one_draw = largest_deviations(problem, 1, 400, np.random.default_rng(0))

    # The first point gives a sample error of 1 instead of 0.75, the second 0 instead of 0.75.
    assert set(one_draw.round(12)) == {0.25, 0.75}
    assert np.mean(one_draw == 0.25) == pytest.approx(0.75, abs=0.1)


def test_the_same_seed_gives_the_same_records(result):
    assert simulate_agnostic_theorem(np.random.default_rng(11)) == result
