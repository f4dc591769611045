"""Rows that are read in the background: as fast as they are needed, and slowly otherwise."""

import threading
import time

import numpy as np
import pytest

from fitwithin._pools.block_reader import RowSupply
from fitwithin._pools.reading_order import BlockIndex

LONG = 60.0


@pytest.fixture
def supply():
    """A supply of which one of three blocks has been read."""
    supply = RowSupply(BlockIndex(np.array([[100], [100], [100]])))
    supply.add_block()
    return supply


def test_reading_pauses_while_nobody_needs_rows(supply):
    supply.note_dealt(50)
    assert not supply.pause(0.01)


def test_a_pause_ends_when_somebody_waits_for_rows(supply):
    thread = threading.Thread(target=supply.pause, args=(LONG,), daemon=True)
    thread.start()
    end = time.monotonic() + 10.0
    assert supply.wait(lambda: not thread.is_alive(), lambda: end - time.monotonic())


@pytest.mark.parametrize("cause", [lambda supply: supply.note_dealt(51), lambda supply: supply.end()])
def test_a_pause_ends_when_half_of_the_rows_read_is_in_use_or_reading_ends(supply, cause):
    cause(supply)
    assert supply.pause(LONG)


def test_a_head_stands_for_its_whole_block_until_the_rest_is_read():
    supply = RowSupply(BlockIndex(np.array([[10, 5], [7, 7], [90, 1]]), np.array([0, 2, 1]), rests=frozenset({1})))
    assert supply.shares.tolist() == [[100, 6], [7, 7], [90, 1]]
    for _ in range(3):
        supply.add_block()
    assert supply.shares.tolist() == supply.cell_counts.tolist()
