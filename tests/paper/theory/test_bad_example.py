"""The bad example of the paper's appendix."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fitwithin_paper.theory.bad_example import (
    PAPER_TBATCH,
    PAPER_TCTBASE,
    TIE_BREAKING,
    find_safe_alpha,
    make_bad_example,
    simulate_bad_example,
)
from fitwithin_paper.theory.finite_problem import simulate_tct_base
from fitwithin_paper.theory.round_schedule import RoundSchedule

MU = {1: Fraction(2, 9), 2: Fraction(1, 9), 3: Fraction(2, 9), 4: Fraction(1, 9), 5: Fraction(2, 9), 6: Fraction(1, 9)}
WRONG = {"h1": {2, 4, 5}, "h2": {2, 6, 3}, "h3": {4, 6, 1}, "best": {2, 4, 6}}


@pytest.fixture(scope="module")
def result():
    return simulate_bad_example(np.random.default_rng(7), n_attempts=400)


def rate_of(result, teacher, rounding, ties):
    (row,) = [row for row in result.rates if (row.teacher, row.rounding, row.ties) == (teacher, rounding, ties)]
    return row


def test_the_classifiers_are_wrong_where_the_paper_says():
    by_hand = [[x in wrong for x in range(1, 7)] for wrong in WRONG.values()]

    assert make_bad_example().wrong.tolist() == by_hand
    np.testing.assert_allclose(make_bad_example().masses, [float(mass) for mass in MU.values()])
    np.testing.assert_allclose(make_bad_example().errors, [4 / 9, 4 / 9, 4 / 9, 1 / 3])


def fewest_mistakes(sample):
    counts = {name: sum(x in wrong for x in sample) for name, wrong in WRONG.items()}
    return min(counts, key=counts.get)


def exact_probability_in_round(number):
    """Return the probability that this round has the best classifier, by enumerating all samples.

    Ties go to the first in the list. With 0.9 * 2 and 0.9 * 4 rounded to the nearest, the first two rounds add
    only mistakes.
    """
    samples = {(x,): mass for x, mass in MU.items()}
    for i in range(1, number):
        grown = {}
        for sample, probability in samples.items():
            wrong = WRONG[fewest_mistakes(sample)]
            total = sum(MU[x] for x in wrong)
            for new in product(wrong, repeat=2**i):
                key = tuple(sorted(sample + new))
                chance = np.prod([MU[x] / total for x in new])
                grown[key] = grown.get(key, 0) + probability * chance
        samples = grown
    assert sum(samples.values()) == 1
    return sum(probability for sample, probability in samples.items() if fewest_mistakes(sample) == "best")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_first_rounds_find_the_best_as_often_as_an_enumeration_of_all_samples(number):
    attempts = 200_000
    schedule = RoundSchedule(0.9, number, "nearest")
    assert schedule.n_mistakes_added.tolist()[: number - 1] == [2, 4][: number - 1]

    found = np.mean(simulate_tct_base(make_bad_example(), schedule, attempts, np.random.default_rng(3))[-1] == 3)

    exact = float(exact_probability_in_round(number))
    assert found == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / attempts) + 1e-9)


def test_rounding_to_the_nearest_with_ties_as_listed_gives_the_papers_rate(result):
    row = rate_of(result, "TCTBase", "nearest", "as listed")

    assert row.low <= PAPER_TCTBASE <= row.high
    assert row.any_round == pytest.approx(PAPER_TCTBASE, abs=0.015)


def test_tbatch_always_finds_the_best_classifier(result):
    assert {row.any_round for row in result.rates if row.teacher == "TBatch"} == {PAPER_TBATCH}


@pytest.mark.parametrize("rounding", ["down", "nearest", "up"])
def test_the_tie_rule_changes_the_rate_by_more_than_a_fifth(result, rounding):
    listed, first, random = (rate_of(result, "TCTBase", rounding, ties) for ties in TIE_BREAKING)

    assert listed.any_round + 0.2 < random.any_round < first.any_round - 0.2


def test_at_nine_tenths_mistakes_the_best_classifier_is_never_returned(result):
    assert {row.last_round for row in result.rates if row.teacher == "TCTBase"} == {0.0}


def test_below_the_agnostic_theorems_share_the_best_classifier_is_returned(result):
    assert find_safe_alpha() == pytest.approx(0.1)
    assert {row.last_round for row in result.rates_by_alpha if row.alpha < find_safe_alpha()} == {1.0}


def test_a_larger_share_of_mistakes_never_raises_the_discovery_rate(result):
    for ties in TIE_BREAKING:
        shares = [row.any_round for row in result.rates_by_alpha if row.ties == ties]
        assert len(shares) == 20
        assert np.all(np.diff(shares) < 0.08)
