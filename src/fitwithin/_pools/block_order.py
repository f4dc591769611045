"""The order in which the blocks of a data set on disk are read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MAX_ORDERED_BLOCKS = 512
"""Blocks at the beginning that are chosen one by one; by then the class proportions are near those of all rows."""

_SORTED_DISTANCE = 0.1
"""Share of its rows that a block must have in other classes than the data set, for its files to count as sorted."""


def choose_block_order(
    class_counts: npt.NDArray[np.int64], rng: np.random.Generator, *, is_shuffled: bool = False
) -> npt.NDArray[np.intp]:
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
    order: npt.NDArray[np.intp] = np.flatnonzero(rows)
    if is_shuffled:
        return order
    rng.shuffle(order)
    counts = class_counts[order].astype(np.float64)
    share = counts.sum(axis=0) / counts.sum()
    distance = np.abs(counts / counts.sum(axis=1, keepdims=True) - share).sum(axis=1) / 2
    if len(order) < 3 or distance.max() < _SORTED_DISTANCE:
        return order
    return order[_follow_shares(counts, share)]


def _follow_shares(counts: npt.NDArray[np.float64], share: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
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
