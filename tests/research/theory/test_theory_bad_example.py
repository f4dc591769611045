"""The bad example of the paper's appendix."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fitwithin._research.theory.bad_example import (
    PAPER_TBATCH,
    PAPER_TCTBASE,
    TIES,
    bad_example,
    measure_bad_example,
    safe_alpha,
)
from fitwithin._research.theory.finite import tct_base
from fitwithin._research.theory.schedule import Schedule

MU = {1: Fraction(2, 9), 2: Fraction(1, 9), 3: Fraction(2, 9), 4: Fraction(1, 9), 5: Fraction(2, 9), 6: Fraction(1, 9)}
WRONG = {"h1": {2, 4, 5}, "h2": {2, 6, 3}, "h3": {4, 6, 1}, "best": {2, 4, 6}}


@pytest.fixture(scope="module")
def measured():
    return measure_bad_example(np.random.default_rng(7), attempts=400)


def the_found(measured, teacher, rounding, ties):
    (row,) = [row for row in measured.found if (row.teacher, row.rounding, row.ties) == (teacher, rounding, ties)]
    return row


def test_the_classifiers_are_wrong_where_the_paper_says():
    by_hand = [[x in wrong for x in range(1, 7)] for wrong in WRONG.values()]

    assert bad_example().wrong.tolist() == by_hand
    np.testing.assert_allclose(bad_example().masses, [float(mass) for mass in MU.values()])
    np.testing.assert_allclose(bad_example().errors, [4 / 9, 4 / 9, 4 / 9, 1 / 3])


def fewest_mistakes(sample):
    counts = {name: sum(x in wrong for x in sample) for name, wrong in WRONG.items()}
    return min(counts, key=counts.get)


def exact_probability_in_round(number):
    """Of the best classifier, ties by the list, all samples of the first rounds counted out.

    With 0.9 * 2 and 0.9 * 4 rounded to the nearest, the first two rounds add mistakes alone.
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
def test_the_first_rounds_find_the_best_as_often_as_all_samples_counted_out(number):
    attempts = 200_000
    schedule = Schedule(0.9, number, "nearest")
    assert schedule.mistakes_added.tolist()[: number - 1] == [2, 4][: number - 1]

    found = np.mean(tct_base(bad_example(), schedule, attempts, np.random.default_rng(3))[-1] == 3)

    exact = float(exact_probability_in_round(number))
    assert found == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / attempts) + 1e-9)


def test_rounding_to_the_nearest_and_ties_by_the_list_give_the_papers_figure(measured):
    row = the_found(measured, "TCTBase", "nearest", "as listed")

    assert row.low <= PAPER_TCTBASE <= row.high
    assert row.any_round == pytest.approx(PAPER_TCTBASE, abs=0.015)


def test_tbatch_always_finds_the_best(measured):
    assert {row.any_round for row in measured.found if row.teacher == "TBatch"} == {PAPER_TBATCH}


@pytest.mark.parametrize("rounding", ["down", "nearest", "up"])
def test_how_ties_are_broken_matters_more_than_anything_else(measured, rounding):
    listed, first, random = (the_found(measured, "TCTBase", rounding, ties) for ties in TIES)

    assert listed.any_round + 0.2 < random.any_round < first.any_round - 0.2


def test_at_nine_tenths_the_best_is_never_the_one_returned(measured):
    assert {row.last_round for row in measured.found if row.teacher == "TCTBase"} == {0.0}


def test_below_the_agnostic_theorems_share_the_best_is_returned(measured):
    assert safe_alpha() == pytest.approx(0.1)
    assert {row.last_round for row in measured.curve if row.alpha < safe_alpha()} == {1.0}


def test_a_larger_share_of_mistakes_never_helps_the_search(measured):
    for ties in TIES:
        shares = [row.any_round for row in measured.curve if row.ties == ties]
        assert len(shares) == 20
        assert np.all(np.diff(shares) < 0.08)
