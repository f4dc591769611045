"""The order in which a data set is read, and where each row is: its block, and the class within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters

if TYPE_CHECKING:
    from fitwithin._pools.target_pass import TargetPass

Counts = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

_MAX_ORDERED_BLOCKS = 512
"""Blocks at the beginning that are chosen one by one; by then the class proportions are near those of all rows."""

_SORTED_DISTANCE = 0.1
"""Share of its rows that a block must have in other classes than the data set, for its files to count as sorted."""


class BlockIndex:
    """The blocks of a data set in the order of reading, and the rows of each.

    Rows are numbered in this order. Those of a block lie side by side, class after class. The rows of one class in one
    block are a *cell*. The rest of a large block is a block of its own, with a later place than the first rows.

    `cell_counts` are the rows of each class at each place, in one column if the rows have no classes; `held_counts` the
    validation and holdout rows at the end of each cell, and `training_counts` the others. `cell_starts` and
    `row_starts` are the numbers of the first row of each cell and of each place. `numbers` are the blocks' numbers in
    the data set, and `rests` those of blocks that are the rest of the one before; `heads` is the place of the first
    rows by that of the rest. The first `n_given` blocks are those of X; those of X_val come after them.

    Examples
    --------
    >>> index = BlockIndex(np.array([[2, 1], [3, 0], [4, 0]]), np.array([1, 0, 2]), rests=frozenset({2}))
    >>> index.find_places(np.array([2, 5, 3]))
    array([0, 1, 1])
    >>> index.heads
    {2: 0}
    """

    def __init__(
        self,
        cell_counts: Counts,
        numbers: Places | None = None,
        held_counts: Counts | None = None,
        rests: frozenset[int] = frozenset(),
        n_given: int | None = None,
    ) -> None:
        self.cell_counts = cell_counts
        self.held_counts: Counts = np.zeros((*cell_counts.shape, 2), np.int64) if held_counts is None else held_counts
        self.training_counts: Counts = cell_counts - self.held_counts.sum(axis=2)
        self.numbers: Places = np.arange(len(cell_counts)) if numbers is None else numbers
        ends = np.cumsum(cell_counts.reshape(-1), dtype=np.int64).reshape(cell_counts.shape)
        self.cell_starts: Counts = ends - cell_counts
        self.row_starts: Counts = np.concatenate([np.zeros(1, np.int64), ends[:, -1]])
        places = {number: place for place, number in enumerate(self.numbers.tolist())}
        self.heads = {places[rest]: places[rest - 1] for rest in rests if rest in places and rest - 1 in places}
        # Rows of a large block may be much alike, in its rest too.
        self._clusters: Places = self.numbers - np.isin(self.numbers, list(rests))
        self._n_given = int(self.numbers.max(initial=-1)) + 1 if n_given is None else n_given

    def find_places(self, rows: Rows) -> Places:
        """Return the place of each row's block in the order of reading."""
        return np.searchsorted(self.row_starts, rows, side="right") - 1

    def count_by_cell(self, rows: Rows) -> Counts:
        """Return how many of these rows are in each cell."""
        return np.bincount(self._find_cells(rows), minlength=self.cell_counts.size).reshape(self.cell_counts.shape)

    def _find_cells(self, rows: Rows) -> Places:
        # Cells without rows begin where the next one does, so the last of them is the one with rows.
        return np.searchsorted(self.cell_starts.reshape(-1), rows, side="right") - 1

    def list_training_rows(self, n_places: int) -> Rows:
        """Return the rows at the first places that are not held out."""
        return list_ranges(self.cell_starts[:n_places], self.training_counts[:n_places])

    def drop_held_out(self, rows: Rows) -> Rows:
        """Return those of these rows that are not held out."""
        cells = self._find_cells(rows)
        return rows[rows - self.cell_starts.reshape(-1)[cells] < self.training_counts.reshape(-1)[cells]]

    def list_held_out(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Return the validation and the holdout rows, in random order."""
        starts, found = self.cell_starts + self.training_counts, []
        for number in range(2):
            counts = self.held_counts[:, :, number]
            found.append(rng.permutation(list_ranges(starts, counts)))
            starts = starts + counts
        return found[0], found[1]

    def find_clusters(self, rows: Rows, codes: Array) -> Clusters:
        """Return the blocks that rows come from."""
        blocks = self._clusters[self.find_places(rows)]
        n_rows = np.bincount(self._clusters, np.diff(self.row_starts))
        if len(rows) and blocks.min() >= self._n_given:
            # Rows of X_val stand for the blocks of X_val, and not for those of X.
            n_rows[: self._n_given] = 0
        return Clusters(blocks, codes if codes.dtype.kind == "u" else None, n_rows)


def list_ranges(starts: Counts, counts: Counts) -> Rows:
    """Return the numbers of ranges, one after the other."""
    starts, counts = starts.reshape(-1), counts.reshape(-1)
    rows: Rows = np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    return rows


def choose_reading_order(
    found: TargetPass,
    rng: np.random.Generator,
    rests: frozenset[int] = frozenset(),
    *,
    is_shuffled: bool = False,
    n_given: int | None = None,
) -> BlockIndex:
    """Return the order in which to read a data set: blocks at random, the rests of large ones last.

    Blocks of a shuffled data set are read one after the other. For `rests` and `n_given` see `BlockIndex`.
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
    return BlockIndex(counts[order].sum(axis=2), order, counts[order][:, :, 1:], rests, n_given)


def choose_block_order(class_counts: Counts, rng: np.random.Generator, *, is_shuffled: bool = False) -> Places:
    """Return the numbers of all blocks that have rows, in random order, or as they are if their rows are shuffled.

    If the classes are spread unevenly over the blocks, as in files that are sorted by class, the order is chosen so
    that the first blocks together have about the class proportions of all rows.

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
