"""The order of reading: the heads of large blocks before the rest of any, and blocks of all classes early."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disk_rows import make_numbers, open_pool, read_all, write_blocks
from fitwithin._core.target import Labels, Values
from fitwithin._pools.reading_order import BlockIndex, choose_block_order, choose_reading_order
from fitwithin._pools.sources.dataset_blocks import HEAD_ROWS
from fitwithin._pools.target_pass import TargetPass

SIZES = st.lists(st.sampled_from([0, 3, 40]), min_size=1, max_size=6).filter(any)


def a_target(sizes, n_classes, seed=0):
    """Return the target of blocks of these sizes; the first class lies at the beginning of each block."""
    rng, sizes = np.random.default_rng(seed), np.array(sizes, dtype=np.int64)
    if n_classes == 1:
        return TargetPass(sizes, Values(np.zeros(0)))
    codes = np.concatenate([np.sort(rng.integers(n_classes, size=size)).astype(np.uint8) for size in sizes])
    return TargetPass(sizes, Labels(np.arange(n_classes), codes, np.bincount(codes, minlength=n_classes)))


@given(SIZES, st.integers(1, 3), st.sets(st.integers(0, 5)), st.booleans(), st.integers(0, 99))
def test_every_block_has_one_place_and_its_rows_are_counted_by_class(sizes, n_classes, rests, is_shuffled, seed):
    found = a_target(sizes, n_classes)
    index = choose_reading_order(found, np.random.default_rng(seed), frozenset(rests), is_shuffled=is_shuffled)

    assert sorted(index.numbers.tolist()) == [number for number, size in enumerate(sizes) if size]
    for number, n_rows, counts in zip(index.numbers, np.diff(index.row_starts), index.cell_counts, strict=True):
        assert counts.sum() == n_rows == sizes[number]
        if n_classes > 1:
            assert np.bincount(found.split(found.target.column)[number], minlength=n_classes).tolist() == list(counts)


def test_all_rests_come_after_the_first_rows_of_every_block():
    rests = frozenset(range(1, 18, 2))
    index = choose_reading_order(a_target([40] * 18 + [7], 2), np.random.default_rng(0), rests)

    assert [number in rests for number in index.numbers] == [False] * 10 + [True] * 9
    assert {index.numbers[rest] - index.numbers[head] for rest, head in index.heads.items()} == {1}
    assert index.numbers[:2].tolist() != [0, 2], "in random order"


def test_rows_of_a_head_and_of_the_rest_are_of_one_block():
    index = BlockIndex(np.array([[2], [2], [3]]), np.array([1, 0, 2]), rests=frozenset({2}))

    clusters = index.find_clusters(np.array([6, 0, 3]), np.array([1, 0, 1], np.uint8))

    assert clusters.blocks.tolist() == [1, 1, 0]
    assert clusters.block_rows.tolist() == [2, 5]


@pytest.mark.parametrize(("n_given", "n_rows"), [(4, [4, 4, 4, 4]), (2, [0, 0, 4, 4])])
def test_rows_of_held_out_blocks_stand_for_all_blocks_unless_these_are_a_validation_set(n_given, n_rows):
    counts = np.full((4, 1), 4)
    held = np.array([[[0, 0]], [[0, 0]], [[4, 0]], [[0, 4]]])
    index = BlockIndex(counts, held_counts=held, n_given=n_given)

    clusters = index.find_clusters(np.arange(8, 16), np.zeros(8, np.uint8))

    assert clusters.block_rows.tolist() == n_rows


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_pool_with_heads_has_every_row_once_with_its_label(tmp_path, weight):
    n_rows = 9 * HEAD_ROWS
    frame = make_numbers(n_rows, n_columns=2).assign(place=np.arange(n_rows, dtype=np.float32))
    frame = frame if weight else frame.drop(columns="w")
    pool = open_pool(write_blocks(frame, tmp_path / "rows.parquet", 4 * HEAD_ROWS), weight)
    rows = read_all(pool)
    pool.close()

    assert sorted(pool.index.heads) == [3, 4]
    places = rows.X["place"].to_numpy().astype(int)
    assert np.sort(places).tolist() == list(range(n_rows))
    assert (rows.y == frame["label"].to_numpy()[places]).all()
    assert (rows.X["x0"].to_numpy() == frame["x0"].to_numpy()[places]).all()
    assert (rows.clusters.blocks == 2 * (places // (4 * HEAD_ROWS))).all()
    if weight:
        assert np.allclose(rows.row_params["sample_weight"], frame["w"].to_numpy()[places])


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
