"""TCTBase on finitely many points, compared with a slow loop written from the paper's Algorithm 2."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin_paper.theory.bad_example import make_bad_example
from fitwithin_paper.theory.finite_problem import (
    FiniteProblem,
    _masses_given_mistake,
    count_mistakes,
    simulate_tbatch,
    simulate_tct_base,
)
from fitwithin_paper.theory.high_probability_bound import high_probability_bound
from fitwithin_paper.theory.round_schedule import RoundSchedule


def algorithm_2(masses, wrong, alpha, rounds, ties, rng):
    """Return the hypotheses of all rounds; examples are drawn one at a time, mistakes by rejection."""
    points = range(len(masses))

    def sample():
        return rng.choices(points, masses)[0]

    def learner(examples):
        mistakes = [sum(row[x] for x in examples) for row in wrong]
        best = [h for h, count in enumerate(mistakes) if count == min(mistakes)]
        return rng.choice(best) if ties == "random" else best[0]

    s = [sample()]
    hypotheses = []
    for i in range(1, rounds + 1):
        h = learner(s)
        hypotheses.append(h)
        if not any(wrong[h]):
            return hypotheses + [h] * (rounds - i)
        mistakes = int(alpha * 2**i)
        unbiased = [sample() for _ in range(2**i - mistakes)]
        found = []
        while len(found) < mistakes:
            x = sample()
            if wrong[h][x]:
                found.append(x)
        s += unbiased + found
    return hypotheses


REALIZABLE = FiniteProblem(
    np.array([0.5, 0.3, 0.2]), np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
)


@pytest.mark.parametrize("ties", ["first", "random"])
@pytest.mark.parametrize("problem", [make_bad_example(), REALIZABLE], ids=["bad example", "realizable"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
def test_each_round_returns_each_hypothesis_as_often_as_the_slow_loop(problem, ties, alpha):
    attempts, rounds, rng = 800, 5, random.Random(1)
    masses, wrong = problem.masses.tolist(), problem.wrong.tolist()
    slow = np.array([algorithm_2(masses, wrong, alpha, rounds, ties, rng) for _ in range(attempts)]).T

    fast = simulate_tct_base(problem, RoundSchedule(alpha, rounds), 20 * attempts, np.random.default_rng(2), ties)

    for h in range(len(wrong)):
        expected = (fast == h).mean(axis=1)
        spread = np.sqrt(expected * (1 - expected) / attempts) + 1 / attempts
        assert np.all(np.abs((slow == h).mean(axis=1) - expected) < 5 * spread)


def test_mistakes_are_drawn_from_the_masses_conditional_on_a_mistake():
    h1_is_wrong_on_2_4_and_5 = [0, 1 / 4, 0, 1 / 4, 1 / 2, 0]

    np.testing.assert_allclose(_masses_given_mistake(make_bad_example())[0], h1_is_wrong_on_2_4_and_5)


def test_a_hypothesis_that_is_never_wrong_ends_the_search():
    always_right, once_wrong = [False, False], [True, False]
    problem = FiniteProblem(np.array([0.01, 0.99]), np.array([once_wrong, always_right]))

    chosen = simulate_tct_base(problem, RoundSchedule(0.5, 8), 200, np.random.default_rng(0), "random")

    assert set(chosen[0]) == {0, 1}
    for attempt in chosen.T:
        if 1 in attempt:
            assert np.all(attempt[attempt.tolist().index(1) :] == 1)


def test_a_hypothesis_that_is_wrong_only_on_points_of_mass_zero_is_never_wrong():
    problem = FiniteProblem(np.array([1.0, 0.0]), np.array([[False, True]]))

    assert simulate_tct_base(problem, RoundSchedule(0.5, 4), 3, np.random.default_rng(0)).tolist() == [[0, 0, 0]] * 4


def test_the_first_of_tied_hypotheses_wins_unless_ties_are_random():
    equals = FiniteProblem(np.array([1.0]), np.array([[True], [True]]))

    assert set(simulate_tbatch(equals, 5, 50, np.random.default_rng(0))) == {0}
    assert set(simulate_tbatch(equals, 5, 50, np.random.default_rng(0), "random")) == {0, 1}


@settings(max_examples=60)
@given(data=st.data(), points=st.integers(1, 6), hypotheses=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_the_returned_hypothesis_has_the_fewest_mistakes_in_the_sample(data, points, hypotheses, seed):
    wrong = data.draw(st.lists(st.lists(st.booleans(), min_size=points, max_size=points), min_size=1, max_size=5))
    problem = FiniteProblem(np.full(points, 1 / points), np.array(wrong))
    sample = np.random.default_rng(seed).multinomial(9, problem.masses, size=20)

    mistakes = count_mistakes(problem, sample)
    chosen = simulate_tbatch(problem, 9, 20, np.random.default_rng(seed))

    for row, counts in enumerate(sample):
        by_hand = [sum(count for count, is_wrong in zip(counts, h, strict=True) if is_wrong) for h in wrong]
        assert mistakes[row].tolist() == by_hand
        assert by_hand[chosen[row]] == min(by_hand)


def test_worst_first_sorts_by_falling_error():
    assert np.all(np.diff(REALIZABLE.sort_worst_first().errors) <= 0)
    assert REALIZABLE.excess_errors.tolist() == pytest.approx([0.5, 0.5, 0.2, 0])


@given(values=st.lists(st.integers(0, 9), min_size=1, max_size=60), delta=st.sampled_from([0.01, 0.05, 0.2, 0.5, 1.0]))
def test_the_bound_is_the_smallest_value_that_few_enough_attempts_exceed(values, delta):
    bounds = [value for value in values if sum(other > value for other in values) < delta * len(values)]

    assert high_probability_bound(np.array(values, dtype=float), delta) == min(bounds)


def test_the_same_seed_gives_the_same_hypotheses():
    schedule = RoundSchedule(0.7, 6)
    once, again, other = (
        simulate_tct_base(make_bad_example(), schedule, 50, np.random.default_rng(seed), "random").tolist()
        for seed in (1, 1, 2)
    )

    assert once == again != other
