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
    block are a *cell*. The rest of a large block is a block of its own, with a later place than the first rows.

    Parameters
    ----------
    cell_counts : array of int of shape (n_places, n_classes)
        Rows of each class at each place; one column if the rows have no classes.
    numbers : array of int, optional
        Number in the data set of the block at each place. By default they count up.
    held_counts : array of int of shape (n_places, n_classes, 2), optional
        Validation and holdout rows in each cell, at its end; by default there are none.
    rests : set of int
        Numbers of blocks that are the rest of the one before.

    Attributes
    ----------
    training_counts : array of int of shape (n_places, n_classes)
        Other rows of each cell.
    heads : dict of int
        The place of the first rows of a large block, by the place of the rest.
    cell_starts : array of int of shape (n_places, n_classes)
        Number of the first row of each cell.
    row_starts : array of int of shape (n_places + 1,)
        Number of the first row of each place, and the number of rows.

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
        n_rows = np.bincount(self._clusters, np.diff(self.row_starts))
        return Clusters(self._clusters[self.find_places(rows)], codes if codes.dtype.kind == "u" else None, n_rows)


def list_ranges(starts: Counts, counts: Counts) -> Rows:
    """Return the numbers of ranges, one after the other."""
    starts, counts = starts.reshape(-1), counts.reshape(-1)
    rows: Rows = np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    return rows
