"""Which rows of a data set on disk have been read so far."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

_CHECK_SECONDS = 0.05
"""Seconds between two looks at the time, while nothing is read."""

_LEAD = 2
"""How many times the rows in use are read without a pause, so that the next deals find theirs."""


class RowSupply:
    """Rows that are read block by block: one thread reads, and others wait for rows.

    Rows are numbered in the order in which they are read. Those of a block lie side by side, class after class, and
    in random order within their class. The rows of one class in one block are a *cell*: its first rows are a random
    sample of it.

    Parameters
    ----------
    cell_counts : array of int of shape (n_blocks, n_classes)
        Rows of each class in each block, in the order of reading; one column if the rows have no classes.
    numbers : array of int, optional
        Two blocks with the same number are the head of a large block and the rest of it. By default all differ.

    Attributes
    ----------
    shares : array of int of shape (n_blocks, n_classes)
        Rows that each cell stands for: its own, and those of the rest of its block until that has been read.
    cell_starts : array of int of shape (n_blocks, n_classes)
        Number of the first row of each cell.
    block_starts : array of int of shape (n_blocks + 1,)
        Number of the first row of each block, and the number of rows.
    failure : str or None
        Why reading ended before all blocks were read.

    Examples
    --------
    >>> supply = RowSupply(np.array([[2, 1], [3, 0]]))
    >>> supply.n_rows, supply.n_rows_read
    (6, 0)
    >>> supply.add_block()
    >>> supply.n_rows_read, supply.is_over
    (3, False)
    >>> supply.find_blocks(np.array([2, 5, 3]))
    array([0, 1, 1])
    """

    def __init__(self, cell_counts: npt.NDArray[np.int64], numbers: npt.NDArray[np.intp] | None = None) -> None:
        self.cell_counts = cell_counts
        self.numbers = np.arange(len(cell_counts)) if numbers is None else numbers
        self._heads = find_heads(self.numbers)
        self.shares = cell_counts.copy()
        for rest, head in self._heads.items():
            self.shares[head] += cell_counts[rest]
        ends = np.cumsum(cell_counts.reshape(-1), dtype=np.int64).reshape(cell_counts.shape)
        self.cell_starts = ends - cell_counts
        self.block_starts = np.concatenate([np.zeros(1, np.int64), ends[:, -1]])
        self.failure: str | None = None
        self.n_blocks_read = 0
        self._has_ended = not len(cell_counts)
        self._n_dealt = 0
        self._n_waiting = 0
        self._changed = threading.Condition()

    @property
    def n_blocks(self) -> int:
        """Blocks of the data set that have rows."""
        return len(self.cell_counts)

    @property
    def n_rows(self) -> int:
        """Rows of the data set."""
        return int(self.block_starts[-1])

    @property
    def n_rows_read(self) -> int:
        """Rows that have been read: those with smaller numbers."""
        return int(self.block_starts[self.n_blocks_read])

    @property
    def is_over(self) -> bool:
        """Whether no further rows will come."""
        return self._has_ended

    def find_blocks(self, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
        """Return the block of each row, by its place in the order of reading."""
        return np.searchsorted(self.block_starts, rows, side="right") - 1

    def add_block(self) -> None:
        """Note that the next block has been read."""
        with self._changed:
            head = self._heads.get(self.n_blocks_read)
            if head is not None:
                self.shares[head] = self.cell_counts[head]
            self.n_blocks_read += 1
            self._has_ended = self.n_blocks_read == self.n_blocks
            self._changed.notify_all()

    def end(self, failure: str | None = None) -> None:
        """Note that no further block will be read, and why."""
        with self._changed:
            if not self._has_ended:
                self.failure = failure
            self._has_ended = True
            self._changed.notify_all()

    def wait(self, is_enough: Callable[[], bool], seconds_left: Callable[[], float]) -> bool:
        """Wait until enough has been read, or nothing more will be.

        Parameters
        ----------
        is_enough : callable
            Returns whether enough has been read.
        seconds_left : callable
            Returns the seconds that may still be waited.

        Returns
        -------
        bool
            Whether enough has been read.
        """
        with self._changed:
            self._n_waiting += 1
            self._changed.notify_all()
            try:
                while not is_enough():
                    seconds = seconds_left()
                    if self._has_ended or seconds <= 0:
                        return False
                    self._changed.wait(min(_CHECK_SECONDS, seconds))
            finally:
                self._n_waiting -= 1
        return True

    def note_dealt(self, n_rows: int) -> None:
        """Note how many rows are in use."""
        with self._changed:
            self._n_dealt = n_rows
            self._changed.notify_all()

    def pause(self, seconds: float) -> bool:
        """Wait for the given time, or until more rows are wanted; return whether they are, or reading has ended.

        Reading and the learner share the processor, so rows that are not needed yet are read slowly.
        """
        with self._changed:
            return self._changed.wait_for(
                lambda: self._has_ended or self._n_waiting > 0 or self.n_rows_read < _LEAD * self._n_dealt, seconds
            )


def find_heads(numbers: npt.NDArray[np.intp]) -> dict[int, int]:
    """Return, for the place of each block that is the rest of another, the place of that one.

    Examples
    --------
    >>> find_heads(np.array([2, 0, 1, 0]))
    {3: 1}
    """
    first: dict[int, int] = {}
    heads = {}
    for place, number in enumerate(numbers.tolist()):
        if number in first:
            heads[place] = first[number]
        first[number] = place
    return heads
