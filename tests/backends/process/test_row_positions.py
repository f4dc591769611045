"""Positions of rows: as in a dictionary, in memory that grows with the rows that have one."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.backends._process.row_positions import RowPositions

# Few rows are listed; many rows are in a hash table, until an eighth of them has a position.
SIZES = [50, 3_000_000, 10**12]
updates = st.lists(
    st.lists(st.tuples(st.integers(0, 49), st.integers(0, 10**6)), max_size=40, unique_by=lambda pair: pair[0]),
    max_size=6,
)


@pytest.mark.parametrize("n_rows", SIZES)
@given(updates, st.integers(0, 2**31))
def test_positions_are_those_that_were_set_last(n_rows, updates, stride):
    positions, expected = RowPositions(n_rows), {}
    every = np.arange(50) * (stride % (n_rows // 50) if n_rows > 50 else 1)
    every = np.unique(every)
    for update in updates:
        pairs = [(every[row % len(every)], position) for row, position in update]
        expected.update({int(row): position for row, position in dict(pairs).items()})

        kept = dict(pairs)
        positions.set(np.array(list(kept), dtype=np.int64), np.array(list(kept.values()), dtype=np.int64))

        assert positions.find(every).tolist() == [expected.get(int(row), -1) for row in every]


@pytest.mark.parametrize("n_rows", SIZES)
def test_of_a_row_that_comes_twice_the_last_position_counts(n_rows):
    positions = RowPositions(n_rows)

    positions.set(np.array([7, 9, 7]), np.array([0, 1, 2]))

    assert positions.find(np.array([7, 9, 8])).tolist() == [2, 1, -1]


def test_many_rows_of_a_large_pool_have_their_positions():
    n_rows = 3_000_000
    rows = np.random.default_rng(0).permutation(n_rows)[:600_000].astype(np.int32)
    positions = RowPositions(n_rows)

    for start in range(0, len(rows), 50_000):
        positions.set(rows[start : start + 50_000], np.arange(start, start + 50_000))
        assert (positions.find(rows[: start + 50_000]) == np.arange(start + 50_000)).all()
        assert (positions.find(rows[start + 50_000 :]) == -1).all()


def test_memory_grows_with_the_rows_that_have_a_position():
    rows = np.random.default_rng(0).integers(2**31 - 2, size=10_000)
    tracemalloc.start()
    try:
        positions = RowPositions(2**31 - 2)
        for start in range(0, len(rows), 1000):
            positions.set(rows[start : start + 1000], np.arange(start, start + 1000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert positions.find(rows[-1:]).tolist() == [9999]
    assert peak < 2_000_000


def test_positions_of_few_rows_are_sent_in_few_bytes():
    positions = RowPositions(2**31 - 2)
    positions.set(np.array([5]), np.array([0]))

    assert positions.find(np.array([5])).dtype == np.int32
