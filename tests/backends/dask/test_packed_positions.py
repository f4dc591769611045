"""Positions in a partition come back as they were, in as few bytes as possible."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.backends._dask.partitions import pack_positions, unpack_positions


@given(n_rows=st.integers(1, 300), data=st.data())
def test_positions_come_back_as_they_were(n_rows, data):
    positions = np.array(sorted(data.draw(st.sets(st.integers(0, n_rows - 1)))), dtype=np.uint32)

    packed = pack_positions(positions, n_rows)

    np.testing.assert_array_equal(unpack_positions(packed), positions)
    assert packed.nbytes <= positions.nbytes


def test_many_positions_take_one_bit_a_row():
    assert pack_positions(np.arange(0, 8000, 2), 8000).nbytes == 1000


def test_few_positions_stay_as_they_are():
    positions = np.array([3, 7000], dtype=np.uint32)

    assert pack_positions(positions, 8000) is positions
