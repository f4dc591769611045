"""The rows of a pool that can be dealt: all but the held-out ones, by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitwithin._core.records import Mask, Rows

# Rows of a pool up to which the rows are listed, 4 bytes for each. Finding a row in a list takes a tenth of the time.
_MAX_LISTED = 2_000_000


class DealableRows:
    """Translate between rows of a pool and their numbers among those that are not held out.

    Parameters
    ----------
    pool_size : int
        Rows of the pool.
    held_out : array of int, optional
        The rows without a number.

    Examples
    --------
    >>> rows = DealableRows(6, np.array([3, 1]))
    >>> rows.list()
    array([0, 2, 4, 5], dtype=int32)
    >>> rows.find_rows(np.array([3, 0])).tolist(), rows.find_numbers(np.array([5, 1, 0])).tolist()
    ([5, 0], [3, 0])
    """

    def __init__(self, pool_size: int, held_out: Rows | None = None) -> None:
        self._pool_size = pool_size
        self._dtype: type[np.integer[Any]] = np.int32 if pool_size < 2**31 else np.int64
        self._held_out = np.zeros(0, dtype=np.intp) if held_out is None else np.unique(held_out)
        self._size = pool_size - len(self._held_out)
        # How many rows with a number come before each held-out one.
        self._n_before = self._held_out - np.arange(len(self._held_out))
        # Rows before the first held-out one are their own numbers; often these are all.
        self._has_gaps = len(self._held_out) > 0 and int(self._held_out[0]) < self._size
        self._listed = self.list() if self._has_gaps and pool_size <= _MAX_LISTED else None

    def __len__(self) -> int:
        return self._size

    def list(self) -> Rows:
        """Return all rows with a number, in the order of the pool."""
        if not self._has_gaps:
            return np.arange(self._size, dtype=self._dtype)
        return np.delete(np.arange(self._pool_size, dtype=self._dtype), self._held_out)

    def find_rows(self, numbers: Rows) -> Rows:
        """Return the rows with these numbers."""
        if not self._has_gaps:
            return numbers
        if self._listed is not None:
            return self._listed[numbers]
        return numbers + np.searchsorted(self._n_before, numbers, side="right").astype(numbers.dtype)

    def find_numbers(self, rows: Rows) -> Rows:
        """Return the numbers of these rows, without the held-out ones."""
        rows = self.drop_held_out(rows)
        return rows - np.searchsorted(self._held_out, rows).astype(rows.dtype) if self._has_gaps else rows

    def drop_held_out(self, rows: Rows) -> Rows:
        """Return those of the rows that have a number."""
        if not len(self._held_out):
            return rows
        if not self._has_gaps:
            return rows[rows < self._size]
        places = np.searchsorted(self._held_out, rows)
        has_number: Mask = self._held_out[np.minimum(places, len(self._held_out) - 1)] != rows
        return rows[has_number]
