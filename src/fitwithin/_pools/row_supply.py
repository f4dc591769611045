"""Which rows of a data set on disk have been read so far."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fitwithin._pools.block_index import BlockIndex

_CHECK_SECONDS = 0.05
"""Seconds between two looks at the time, while nothing is read."""

_LEAD = 2
"""How many times the rows in use are read without a pause, so that the next deals find theirs."""


class RowSupply:
    """Rows that are read block by block: one thread reads, and others wait for rows.

    The rows of a cell are in random order: its first rows are a random sample of it.

    Parameters
    ----------
    index : BlockIndex
        The blocks in the order of reading.

    Attributes
    ----------
    n_rows : int
        Rows of the data set.
    cell_counts : array of int of shape (n_places, n_classes)
        Rows of each cell that are not held out.
    shares : array of int of shape (n_places, n_classes)
        Rows that each cell stands for: its own, and those of the rest of its block until that has been read.
    n_places_read : int
        Places of the order that have been read.
    is_over : bool
        Whether no further rows will come.
    failure : str or None
        Why reading ended before all blocks were read.

    Examples
    --------
    >>> import numpy as np
    >>> supply = RowSupply(BlockIndex(np.array([[2, 1], [3, 0]])))
    >>> supply.n_rows, supply.n_rows_read
    (6, 0)
    >>> supply.add_block()
    >>> supply.n_rows_read, supply.is_over
    (3, False)
    """

    def __init__(self, index: BlockIndex) -> None:
        self.index = index
        self.n_rows = int(index.row_starts[-1])
        self.cell_counts = index.training_counts
        self.shares = self.cell_counts.copy()
        self.shares[index.heads[index.is_rest]] += self.cell_counts[index.is_rest]
        self.failure: str | None = None
        self.n_places_read = 0
        self.is_over = not len(index.cell_counts)
        self._n_dealt = 0
        self._n_waiting = 0
        self._changed = threading.Condition()

    @property
    def n_rows_read(self) -> int:
        """Rows that have been read: those with smaller numbers."""
        return int(self.index.row_starts[self.n_places_read])

    def add_block(self) -> None:
        """Note that the next block has been read."""
        with self._changed:
            head = self.index.heads[self.n_places_read]
            if head < self.n_places_read:
                self.shares[head] = self.cell_counts[head]
            self.n_places_read += 1
            self.is_over = self.n_places_read == len(self.cell_counts)
            self._changed.notify_all()

    def end(self, failure: str | None = None) -> None:
        """Note that no further block will be read, and why."""
        with self._changed:
            if not self.is_over:
                self.failure = failure
            self.is_over = True
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
                    if self.is_over or seconds <= 0:
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
                lambda: self.is_over or self._n_waiting > 0 or self.n_rows_read < _LEAD * self._n_dealt, seconds
            )
