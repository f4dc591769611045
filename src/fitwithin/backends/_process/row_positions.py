"""Where rows of a pool lie in the shared map, in memory that grows with the rows that lie there."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows

# Rows of a pool up to which there is an entry for each: 8 MB, and a fifth of the time for a look-up.
_MAX_LISTED_ROWS = 2_000_000

# An entry for each row takes less memory than a hash table of more than one row in so many.
_LISTED_ONE_IN = 8

# The golden ratio in 64 bits: the upper bits of its multiples are spread evenly.
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)

_MIN_TABLE_BITS = 12


class RowPositions:
    """The position of each row that has one.

    Parameters
    ----------
    n_rows : int
        Rows of the pool.

    Examples
    --------
    >>> positions = RowPositions(10**9)
    >>> positions.set(np.array([999_999_999, 5]), np.array([0, 1]))
    >>> positions.find(np.array([5, 6, 999_999_999]))
    array([ 1, -1,  0], dtype=int32)
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._table: _Table = _List(n_rows) if n_rows <= _MAX_LISTED_ROWS else _HashTable(n_rows)

    def find(self, rows: Rows) -> Rows:
        """Return the position of each of these rows, -1 for one that has none."""
        positions: Rows = self._table.get(rows) - 1
        return positions

    def set(self, rows: Rows, positions: Rows) -> None:
        """Give these rows new positions; of a row that comes twice, the last counts."""
        self._table.put(rows, positions + 1)
        if isinstance(self._table, _HashTable) and _LISTED_ONE_IN * self._table.n_used > self._n_rows:
            listed = _List(self._n_rows)
            listed.put(*self._table.items())
            self._table = listed


class _Table(Protocol):
    """A positive number for some of the rows, and 0 for the others."""

    def get(self, rows: Rows) -> Rows: ...

    def put(self, rows: Rows, values: Rows) -> None: ...


class _List:
    """An entry for each row; zeroed memory costs nothing until it is written."""

    def __init__(self, n_rows: int) -> None:
        self._values: Rows = np.zeros(n_rows, dtype=_int_type(n_rows))

    def get(self, rows: Rows) -> Rows:
        return self._values[rows]

    def put(self, rows: Rows, values: Rows) -> None:
        self._values[rows] = values


class _HashTable:
    """An entry for each row that has a value: open addressing, at most half full."""

    def __init__(self, n_rows: int) -> None:
        self._dtype = _int_type(n_rows)
        self.n_used = 0
        self._allocate(_MIN_TABLE_BITS)

    def get(self, rows: Rows) -> Rows:
        slots = self._find_slots(rows)
        # A slot without a row has the value 0.
        return self._values[slots]

    def put(self, rows: Rows, values: Rows) -> None:
        slots = self._find_slots(rows)
        is_new = self._keys[slots] == 0
        n_new = int(np.count_nonzero(is_new))
        if n_new:
            if 2 * (self.n_used + n_new) > len(self._keys):
                self._grow(self.n_used + n_new)
                is_new[:] = True
            self._add(rows[is_new])
            slots = self._find_slots(rows)
        self._values[slots] = values

    def items(self) -> tuple[Rows, Rows]:
        """Return the rows that have a value, and their values."""
        used = np.flatnonzero(self._keys)
        return self._keys[used] - 1, self._values[used]

    def _add(self, rows: Rows) -> None:
        while len(rows):
            slots = self._find_slots(rows)
            is_free = self._keys[slots] == 0
            rows, slots = rows[is_free], slots[is_free]
            # Of several rows that want one slot, one gets it, and the others look for the next.
            self._keys[slots] = rows + 1
            has_slot = self._keys[slots] == rows + 1
            self.n_used += int(np.count_nonzero(has_slot))
            rows = rows[~has_slot]

    def _find_slots(self, rows: Rows) -> npt.NDArray[np.intp]:
        """Return the slot of each row, or the free one at which the search for it ended."""
        slots = ((rows.astype(np.uint64) * _HASH_FACTOR) >> self._shift).astype(np.intp)
        keys = rows + 1
        found = self._keys[slots]
        searched = np.flatnonzero((found != keys) & (found != 0))
        while len(searched):
            slots[searched] = (slots[searched] + 1) & (len(self._keys) - 1)
            found = self._keys[slots[searched]]
            searched = searched[(found != keys[searched]) & (found != 0)]
        return slots

    def _grow(self, n_used: int) -> None:
        rows, values = self.items()
        self._allocate((4 * n_used - 1).bit_length())
        self.n_used = 0
        self.put(rows, values)

    def _allocate(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys: Rows = np.zeros(1 << bits, dtype=self._dtype)
        self._values: Rows = np.zeros(1 << bits, dtype=self._dtype)


def _int_type(n_rows: int) -> type[np.integer[Any]]:
    """Return a type for numbers up to and including `n_rows`."""
    return np.int32 if n_rows < 2**31 - 1 else np.int64
