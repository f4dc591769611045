"""The order in which a data set on disk is read: the first rows of every large block before the rest of any."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.block_index import BlockIndex, Counts, Places
from fitwithin._pools.target_pass import TargetPass

HEAD_ROWS = 1 << 16
"""Rows of a large block that are read first: few enough to be quick, many enough for the first fits."""

_LARGE_BLOCK_ROWS = 4 * HEAD_ROWS
"""Rows from which on a block counts as large: its head is decoded twice, which takes a quarter of its time at most."""

_MAX_ORDERED_BLOCKS = 512
"""Blocks at the beginning that are chosen one by one; by then the class proportions are near those of all rows."""

_SORTED_DISTANCE = 0.1
"""Share of its rows that a block must have in other classes than the data set, for its files to count as sorted."""


def choose_reading_order(
    found: TargetPass, rng: np.random.Generator, *, has_quick_heads: bool = False, is_shuffled: bool = False
) -> BlockIndex:
    """Return the order in which to read a data set: blocks at random, the heads of large ones first.

    Parameters
    ----------
    found : TargetPass
        Rows and classes of each block.
    rng : numpy.random.Generator
        Makes the order random.
    has_quick_heads : bool, default=False
        Whether the first rows of a block are read in a fraction of the time that all of it takes.
    is_shuffled : bool, default=False
        Whether the rows lie in random order; then blocks are read whole, one after the other.
    """
    rows = found.block_rows
    heads = np.where(rows >= _LARGE_BLOCK_ROWS, HEAD_ROWS, rows) if has_quick_heads and not is_shuffled else rows
    head_counts = found.count_cells(heads)
    held_out, order = _choose_order(head_counts, rng, is_shuffled=is_shuffled)
    numbers, counts = [held_out, order], [head_counts[held_out], head_counts[order]]
    if (heads < rows).any():
        rest_counts = found.count_cells(rows) - head_counts
        # Validation rows are needed early, and a part of them will do.
        held_out, order = _choose_order(rest_counts, rng, is_shuffled=False)
        numbers, counts = [*numbers, order, held_out], [*counts, rest_counts[order], rest_counts[held_out]]
    cell_counts = np.concatenate(counts)
    return BlockIndex(cell_counts.sum(axis=2), np.concatenate(numbers), cell_counts[:, :, 1:])


def order_rows(seed: int, block: int, n_before: int, n_rows: int, cells: Array | None) -> Rows:
    """Return the random order in which rows of a block are numbered: cell after cell.

    Parameters
    ----------
    seed : int
        Makes the order random.
    block : int
        The block's number in the data set.
    n_before : int
        Rows of the block before these.
    n_rows : int
        How many there are.
    cells : array of int or None
        The cell of each row; None if there is one cell.
    """
    order = np.arange(n_rows)
    np.random.default_rng((seed, block, n_before)).shuffle(order)
    return order if cells is None else order[np.argsort(cells[order], kind="stable")]


def _choose_order(counts: Counts, rng: np.random.Generator, *, is_shuffled: bool) -> tuple[Places, Places]:
    """Return the blocks with held-out rows only, and the others in the order of reading."""
    is_held_out = (counts[:, :, 0].sum(axis=1) == 0) & counts.any(axis=(1, 2))
    return np.flatnonzero(is_held_out), choose_block_order(counts[:, :, 0], rng, is_shuffled=is_shuffled)


def choose_block_order(class_counts: Counts, rng: np.random.Generator, *, is_shuffled: bool = False) -> Places:
    """Return the numbers of all blocks that have rows, in random order.

    If the classes are spread unevenly over the blocks, as in files that are sorted by class, the order is chosen so
    that the first blocks together have about the class proportions of all rows.

    Parameters
    ----------
    class_counts : array of int of shape (n_blocks, n_classes)
        Rows of each class in each block.
    rng : numpy.random.Generator
        Makes the order random.
    is_shuffled : bool, default=False
        Whether the rows lie in random order; then blocks are read one after the other.

    Examples
    --------
    >>> sorted_by_class = np.array([[9, 0], [9, 0], [9, 0], [0, 9], [0, 9], [0, 9], [0, 0]])
    >>> order = choose_block_order(sorted_by_class, np.random.default_rng(0))
    >>> [(block < 3).item() for block in order]
    [False, True, False, True, False, True]
    """
    rows = class_counts.sum(axis=1)
    order: Places = np.flatnonzero(rows)
    if is_shuffled:
        return order
    rng.shuffle(order)
    counts = class_counts[order].astype(np.float64)
    share = counts.sum(axis=0) / counts.sum()
    distance = np.abs(counts / counts.sum(axis=1, keepdims=True) - share).sum(axis=1) / 2
    if len(order) < 3 or distance.max() < _SORTED_DISTANCE:
        return order
    return order[_follow_shares(counts, share)]


def _follow_shares(counts: npt.NDArray[np.float64], share: npt.NDArray[np.float64]) -> Places:
    """Return places in `counts`, so that each next block brings the rows so far nearest to the shares."""
    so_far = np.zeros_like(share)
    is_left = np.ones(len(counts), dtype=np.bool_)
    first = []
    for _ in range(min(_MAX_ORDERED_BLOCKS, len(counts))):
        total = so_far + counts
        distance = np.abs(total / total.sum(axis=1, keepdims=True) - share).sum(axis=1)
        best = int(np.where(is_left, distance, np.inf).argmin())
        first.append(best)
        is_left[best] = False
        so_far += counts[best]
    return np.concatenate([np.array(first, dtype=np.intp), np.flatnonzero(is_left)])
