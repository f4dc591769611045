"""Piles: every row comes once, at random, and the rows of a large table are not listed."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._pools.decks import table_pile
from fitwithin._pools.decks.table_pile import RowSet, TablePile, drop_repeats, sort_distinct

seeds = st.integers(0, 2**32 - 1)
steps = st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=12)


@pytest.fixture(autouse=True, scope="module", params=[0, 2_000_000], ids=["as a large table", "as a small table"])
def largest_small_table(request):
    """Run every test as if its table were large, and by the size that it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_pile, "MAX_SHUFFLED", request.param)
        yield


@given(st.lists(st.lists(st.integers(0, 99), max_size=50), max_size=5), st.integers(1, 60))
def test_a_row_set_is_like_a_set(parts, part_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_pile, "_PART_ROWS", part_rows)
        found = RowSet(100)
        for part in parts:
            found.add(np.array(part, dtype=np.int32))
        expected = np.isin(np.arange(100), [row for part in parts for row in part])

        np.testing.assert_array_equal(found.holds(np.arange(100)), expected)
        np.testing.assert_array_equal(found.make_mask(), expected)


@given(st.lists(st.integers(0, 20)))
def test_distinct_rows_are_in_ascending_order_or_in_that_of_their_first_occurrence(rows):
    assert sort_distinct(np.array(rows, dtype=np.int32)).tolist() == sorted(set(rows))
    assert drop_repeats(np.array(rows, dtype=np.int32)).tolist() == list(dict.fromkeys(rows))


@given(st.integers(1, 400), steps, seeds)
def test_a_pile_is_like_a_set_that_rows_are_taken_from(size, steps, seed):
    pile, others = TablePile(size, np.random.default_rng(seed)), set(range(size))
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


@given(st.integers(2, 60), st.sets(st.integers(0, 59)), seeds)
def test_a_sample_is_of_the_rows_that_are_not_held_out(size, held_out, seed):
    held_out = {row for row in held_out if row < size - 1}
    pile = TablePile(size, np.random.default_rng(seed))
    pile.hold_out(np.array(sorted(held_out), dtype=np.intp))

    sample = pile.sample(50)

    numbers = np.random.default_rng(seed).integers(pile.size, size=50)
    np.testing.assert_array_equal(sample, np.delete(np.arange(size), sorted(held_out))[numbers])


def test_every_pair_of_rows_is_equally_likely_to_be_drawn_first():
    size, n_trials = 17, 10_000
    pairs = np.zeros((size, size))
    for seed in range(n_trials):
        first, second = TablePile(size, np.random.default_rng(seed)).draw(2)
        pairs[first, second] += 1

    off_diagonal = pairs[~np.eye(size, dtype=bool)]
    expected = n_trials / (size * (size - 1))
    statistic = ((off_diagonal - expected) ** 2 / expected).sum()
    freedom = len(off_diagonal) - 1
    # The statistic has this mean if all are equally likely, with a standard deviation of sqrt(2 * freedom).
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


def test_removed_rows_leave_the_others_equally_likely():
    counts = np.zeros(12)
    for seed in range(2200):
        pile = TablePile(12, np.random.default_rng(seed))
        pile.remove(np.array([5]))
        counts[pile.draw(1)] += 1

    assert counts[5] == 0
    # 200 of each are expected, with a standard deviation of 13.5.
    assert np.abs(np.delete(counts, 5) - 200).max() < 60


def test_a_long_draw_skips_rows_that_were_removed_everywhere():
    pile, removed = TablePile(300_000, np.random.default_rng(0)), np.arange(0, 300_000, 3)
    pile.remove(removed)

    first, rest = pile.draw(10_001), pile.draw(300_000)

    assert (len(first), len(rest), pile.left) == (10_001, 189_999, 0)
    assert sorted([*first.tolist(), *rest.tolist()]) == np.setdiff1d(np.arange(300_000), removed).tolist()


def test_a_pile_of_many_rows_takes_memory_for_those_that_are_drawn_and_a_bit_for_each():
    tracemalloc.start()
    try:
        pile = TablePile(50_000_000, np.random.default_rng(0))
        pile.remove(np.arange(1000))
        drawn = pile.draw(10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(drawn) == 10_000
    assert peak < 4_000_000 + 50_000_000 / 8
