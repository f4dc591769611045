"""The agnostic theorem in the simulation."""

import numpy as np
import pytest

from fitwithin._research.theory.agnostic import ALPHAS, PROBLEMS, deviations, measure_agnostic, seesaw
from fitwithin._research.theory.finite import Problem


@pytest.fixture(scope="module")
def measured():
    return measure_agnostic(np.random.default_rng(11))


def test_the_bound_is_epsilon_and_the_price_of_mistakes(measured):
    for row in measured.rows:
        assert row.bound == pytest.approx(row.epsilon + row.alpha / (1 - row.alpha))


def test_the_excess_stays_below_the_bound_in_every_round(measured):
    assert {(row.problem, row.alpha) for row in measured.rows} == {
        (name, alpha) for name in PROBLEMS for alpha in ALPHAS
    }
    for row in measured.rows:
        assert row.above < row.delta
        assert row.excess <= row.bound


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5])
def test_the_seesaw_comes_near_the_bound(measured, alpha):
    (row,) = [row for row in measured.summary() if (row.problem, row.alpha) == ("seesaw", alpha)]

    assert row.excess == pytest.approx(0.9 * alpha / (1 - alpha))
    assert row.excess > 0.8 * row.bound


def test_without_mistakes_the_best_is_found(measured):
    last = [row for row in measured.rows if row.alpha == 0 and row.round == 18]

    assert [row.mean_excess for row in last] == [0, 0]


def test_epsilon_falls_with_the_root_of_the_examples(measured):
    rows = [row for row in measured.rows if (row.problem, row.alpha) == ("bad example", 0.0)]
    first, last = rows[4], rows[-1]

    assert first.epsilon / last.epsilon == pytest.approx(np.sqrt(last.unbiased / first.unbiased), rel=0.15)


def test_the_seesaw_has_two_hypotheses_wrong_in_different_places():
    problem = seesaw(0.2)

    assert problem.errors.tolist() == pytest.approx([0.05 + 0.9 * 0.25, 0.05])
    assert not np.any(problem.wrong[0] & problem.wrong[1])
    assert problem.masses.sum() == pytest.approx(1)


def test_the_deviation_is_the_largest_over_the_class():
    problem = Problem(np.array([0.75, 0.25]), np.array([[True, False], [False, True], [True, True]]))
    one_draw = deviations(problem, 1, 400, np.random.default_rng(0))

    # Drawn: the first point with error 1 for 0.75, or the second with 0 for 0.75.
    assert set(one_draw.round(12)) == {0.25, 0.75}
    assert np.mean(one_draw == 0.25) == pytest.approx(0.75, abs=0.1)


def test_the_same_seed_gives_the_same_records(measured):
    assert measure_agnostic(np.random.default_rng(11)) == measured
