"""The order in which a data set on disk is read: the first rows of every large block before the rest of any."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.block_index import BlockIndex, Counts, Places
from fitwithin._pools.target_pass import TargetPass

_MAX_ORDERED_BLOCKS = 512
"""Blocks at the beginning that are chosen one by one; by then the class proportions are near those of all rows."""

_SORTED_DISTANCE = 0.1
"""Share of its rows that a block must have in other classes than the data set, for its files to count as sorted."""


def choose_reading_order(
    found: TargetPass, rng: np.random.Generator, rests: frozenset[int] = frozenset(), *, is_shuffled: bool = False
) -> BlockIndex:
    """Return the order in which to read a data set: blocks at random, the rests of large ones last.

    Parameters
    ----------
    found : TargetPass
        Rows and classes of each block.
    rng : numpy.random.Generator
        Makes the order random.
    rests : set of int
        Blocks that are the rest of the one before.
    is_shuffled : bool, default=False
        Whether the rows lie in random order; then blocks are read one after the other.
    """
    counts = found.count_cells()
    is_rest = np.isin(np.arange(len(counts)), list(rests))
    is_held_out = (counts[:, :, 0].sum(axis=1) == 0) & counts.any(axis=(1, 2))
    first, last = (
        choose_block_order(counts[:, :, 0] * chosen[:, np.newaxis], rng, is_shuffled=is_shuffled)
        for chosen in (~is_rest, is_rest)
    )
    # Validation rows are needed early, and a part of them will do.
    order = np.concatenate([np.flatnonzero(is_held_out & ~is_rest), first, last, np.flatnonzero(is_held_out & is_rest)])
    return BlockIndex(counts[order].sum(axis=2), order, counts[order][:, :, 1:], rests)


def order_rows(seed: int, block: int, n_rows: int, cells: Array | None) -> Rows:
    """Return the random order in which the rows of a block are numbered: cell after cell.

    Parameters
    ----------
    seed : int
        Makes the order random.
    block : int
        The block's number in the data set.
    n_rows : int
        Its rows.
    cells : array of int or None
        The cell of each row; None if there is one cell.
    """
    order = np.arange(n_rows)
    np.random.default_rng((seed, block)).shuffle(order)
    return order if cells is None else order[np.argsort(cells[order], kind="stable")]


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
    if len(order) < 3:
        return order
    counts = class_counts[order].astype(np.float64)
    share = counts.sum(axis=0) / counts.sum()
    distance = np.abs(counts / counts.sum(axis=1, keepdims=True) - share).sum(axis=1) / 2
    return order if distance.max() < _SORTED_DISTANCE else order[_follow_shares(counts, share)]


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
