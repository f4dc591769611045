"""Orders and piles: every number comes once, at random, and for a large pool nothing is listed."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers._random_order import LazyPile, RandomOrder, ShuffledPile, make_pile

seeds = st.integers(0, 2**32 - 1)


def an_order(size, seed=0):
    return RandomOrder(size, np.random.default_rng(seed))


@given(st.integers(1, 3000), seeds)
def test_every_number_comes_once(size, seed):
    numbers = an_order(size, seed).find_numbers(np.arange(size))

    assert sorted(numbers.tolist()) == list(range(size))


@given(st.integers(1, 10**10), st.lists(st.floats(0, 1, exclude_max=True), max_size=20), seeds)
def test_the_position_of_a_number_is_where_it_comes(size, shares, seed):
    positions = np.array([int(share * size) for share in shares], dtype=np.int64)
    order = an_order(size, seed)

    numbers = order.find_numbers(positions)

    assert (numbers < size).all()
    assert order.find_positions(numbers).tolist() == positions.tolist()


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    first, again, other = (an_order(10**6, seed).find_numbers(np.arange(100)).tolist() for seed in (1, 1, 2))

    assert first == again
    assert first != other


@pytest.mark.parametrize("size", [5, 16, 23])
def test_every_pair_of_numbers_is_equally_likely_at_the_first_two_positions(size):
    n_trials = 60 * size * size
    pairs = np.zeros((size, size))
    for seed in range(n_trials):
        first, second = an_order(size, seed).find_numbers(np.arange(2)).astype(int)
        pairs[first, second] += 1

    off_diagonal = pairs[~np.eye(size, dtype=bool)]
    expected = n_trials / (size * (size - 1))
    statistic = ((off_diagonal - expected) ** 2 / expected).sum()
    freedom = len(off_diagonal) - 1
    # The statistic has this mean if all are equally likely, with a standard deviation of sqrt(2 * freedom).
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


def test_neighbours_in_the_order_are_not_neighbours_in_the_pool():
    size = 50_000_000
    numbers = an_order(size).find_numbers(np.arange(200_000)).astype(float) / size

    # A correlation of random numbers has the standard deviation 1 / sqrt(200,000) = 0.0022.
    for lag in (1, 2, 7071, 8192):
        assert abs(np.corrcoef(numbers[lag:], numbers[:-lag])[0, 1]) < 0.012
    counts = np.histogram(numbers, bins=1000, range=(0, 1))[0]
    assert ((counts - 200) ** 2 / 200).sum() < 999 + 5 * np.sqrt(2 * 999)


piles = pytest.mark.parametrize("make", [ShuffledPile, LazyPile])
steps = st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=12)


@piles
@given(st.integers(1, 120), steps, seeds)
def test_a_pile_is_like_a_set_that_numbers_are_taken_from(make, size, steps, seed):
    pile, others = make(size, np.random.default_rng(seed)), set(range(size))
    rng = np.random.default_rng(seed)

    for is_draw, count in steps:
        if is_draw:
            drawn = pile.draw(count).tolist()
            assert len(drawn) == len(set(drawn)) == min(count, len(others))
            assert set(drawn) <= others
            others -= set(drawn)
        else:
            removed = rng.integers(size, size=count)
            pile.remove(removed)
            others -= set(removed.tolist())
        assert pile.left == len(others)


@piles
def test_removed_numbers_leave_the_others_equally_likely(make):
    counts = np.zeros(12)
    for seed in range(2200):
        pile = make(12, np.random.default_rng(seed))
        pile.remove(np.array([5]))
        counts[pile.draw(1)] += 1

    assert counts[5] == 0
    # 200 of each are expected, with a standard deviation of 13.5.
    assert np.abs(np.delete(counts, 5) - 200).max() < 60


def test_a_long_draw_skips_numbers_that_were_removed_everywhere():
    pile, removed = LazyPile(300_000, np.random.default_rng(0)), np.arange(0, 300_000, 3)
    pile.remove(removed)

    first, rest = pile.draw(100_001), pile.draw(300_000)

    assert (len(first), len(rest), pile.left) == (100_001, 99_999, 0)
    assert sorted([*first.tolist(), *rest.tolist()]) == np.setdiff1d(np.arange(300_000), removed).tolist()


def test_a_pile_of_many_numbers_takes_memory_for_those_that_are_drawn():
    tracemalloc.start()
    try:
        pile = make_pile(50_000_000, np.random.default_rng(0))
        pile.remove(np.arange(1000))
        drawn = pile.draw(10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(drawn) == 10_000
    assert peak < 4_000_000
