"""Where a row of a data set on disk is: its block, and the class within it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters

Counts = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]


class BlockIndex:
    """The blocks of a data set in the order of reading, and the rows of each.

    Rows are numbered in this order. Those of a block lie side by side, class after class. The rows of one class in one
    block are a *cell*. A large block has two places in the order: one for its head, and a later one for its rest.

    Parameters
    ----------
    cell_counts : array of int of shape (n_places, n_classes)
        Rows of each class at each place; one column if the rows have no classes.
    numbers : array of int, optional
        Number in the data set of the block at each place. By default they count up.
    held_counts : array of int of shape (n_places, n_classes, 2), optional
        Validation and holdout rows in each cell, at its end; by default there are none.

    Attributes
    ----------
    training_counts : array of int of shape (n_places, n_classes)
        Other rows of each cell.
    heads : array of int
        The place of the head of each block; its own if the block is read whole.
    cell_starts : array of int of shape (n_places, n_classes)
        Number of the first row of each cell.
    row_starts : array of int of shape (n_places + 1,)
        Number of the first row of each place, and the number of rows.
    offsets : array of int
        Rows of the block before the first row of each place.
    block_rows : array of int
        Rows of each block, by its number in the data set.

    Examples
    --------
    >>> index = BlockIndex(np.array([[2, 1], [3, 0], [4, 0]]), np.array([1, 0, 1]))
    >>> index.find_places(np.array([2, 5, 3]))
    array([0, 1, 1])
    >>> index.offsets, index.block_rows
    (array([0, 0, 3]), array([3, 7]))
    """

    def __init__(self, cell_counts: Counts, numbers: Places | None = None, held_counts: Counts | None = None) -> None:
        self.cell_counts = cell_counts
        self.held_counts: Counts = np.zeros((*cell_counts.shape, 2), np.int64) if held_counts is None else held_counts
        self.training_counts: Counts = cell_counts - self.held_counts.sum(axis=2)
        self.numbers: Places = np.arange(len(cell_counts)) if numbers is None else numbers
        ends = np.cumsum(cell_counts.reshape(-1), dtype=np.int64).reshape(cell_counts.shape)
        self.cell_starts: Counts = ends - cell_counts
        self.row_starts: Counts = np.concatenate([np.zeros(1, np.int64), ends[:, -1]])
        _, heads, inverse = np.unique(self.numbers, return_index=True, return_inverse=True)
        self.heads: Places = heads[inverse]
        n_rows = np.diff(self.row_starts)
        self.offsets: Counts = np.where(self.is_rest, n_rows[self.heads], 0)
        self.block_rows: Counts = np.zeros(self.numbers.max(initial=-1) + 1, np.int64)
        np.add.at(self.block_rows, self.numbers, n_rows)

    @property
    def is_rest(self) -> npt.NDArray[np.bool_]:
        """Whether the rows of each place are the rest of a block whose head has another place."""
        return self.heads < np.arange(len(self.heads))

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
        blocks = self.numbers[self.find_places(rows)]
        return Clusters(blocks, codes if codes.dtype.kind == "u" else None, self.block_rows)


def list_ranges(starts: Counts, counts: Counts) -> Rows:
    """Return the numbers of ranges, one after the other."""
    starts, counts = starts.reshape(-1), counts.reshape(-1)
    rows: Rows = np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    return rows
