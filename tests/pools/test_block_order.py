"""The order in which blocks are read."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._pools.block_order import choose_block_order

seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1).filter(lambda c: np.any(c)), seeds)
def test_every_block_with_rows_is_read_once(counts, seed):
    order = choose_block_order(np.array(counts), np.random.default_rng(seed))

    assert sorted(order.tolist()) == [number for number, count in enumerate(counts) if sum(count)]


@settings(deadline=None)
@given(seeds, st.integers(1, 9))
def test_the_first_blocks_of_a_sorted_file_have_its_class_proportions(seed, n_rare):
    counts = np.array([[100, 0]] * (20 - n_rare) + [[0, 100]] * n_rare)
    order = choose_block_order(counts, np.random.default_rng(seed))
    so_far = counts[order].cumsum(axis=0)

    shares = so_far[:, 1] / so_far.sum(axis=1)
    assert (np.abs(shares - n_rare / 20)[3:] <= 0.2).all()


def test_blocks_that_are_much_alike_are_read_in_random_order():
    counts = np.full((50, 2), 100)
    orders = {tuple(choose_block_order(counts, np.random.default_rng(seed))) for seed in range(5)}

    assert len(orders) == 5


def test_shuffled_rows_are_read_in_order():
    order = choose_block_order(np.full((9, 2), 5), np.random.default_rng(0), is_shuffled=True)

    assert order.tolist() == list(range(9))
