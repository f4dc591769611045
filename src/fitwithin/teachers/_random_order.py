"""The numbers below a size in random order, computed only where they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows

Words = npt.NDArray[np.uint64]

# Two neighbours keep their distance through a round if it moves both alike. That they do so through all rounds has a
# probability below 2 to the power of minus this.
_INDEPENDENCE_BITS = 24
_MIN_ROUNDS = 3

# Positions that are computed at a time, so that they stay in the processor's cache.
_CHUNK = 1 << 15


class RandomOrder:
    """A random permutation that takes no memory for each number.

    It is a Feistel network. A number below `size` is a place in a table with `2**bits` columns. Each round moves the
    columns by a random amount for each row, or the rows by a random amount for each column. That can be undone, so the
    whole is a permutation of the table; places behind `size` are sent through again until they come out before it.

    Parameters
    ----------
    size : int
        How many numbers there are.
    rng : numpy.random.Generator
        Draws the random amounts, about six times the square root of `size`.

    Examples
    --------
    >>> order = RandomOrder(1000, np.random.default_rng(0))
    >>> numbers = order.find_numbers(np.arange(1000))
    >>> sorted(numbers.tolist()) == list(range(1000))
    True
    >>> order.find_positions(numbers[10:13])
    array([10, 11, 12], dtype=uint64)
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        bits = max(0, size - 1).bit_length() // 2
        n_columns, n_rows = 1 << bits, -(-size // (1 << bits))
        self._size = np.uint64(size)
        self._bits = np.uint64(bits)
        self._mask = np.uint64(n_columns - 1)
        self._n_rows = np.uint64(n_rows)
        self._moves = [
            (
                rng.integers(n_columns, size=n_rows, dtype=np.uint64),
                rng.integers(n_rows, size=n_columns, dtype=np.uint64),
            )
            for _ in range(max(_MIN_ROUNDS, _INDEPENDENCE_BITS // max(1, bits)))
        ]

    def find_numbers(self, positions: npt.NDArray[Any]) -> Words:
        """Return the numbers at these positions of the order."""
        return self._walk(positions, self._shuffle)

    def find_positions(self, numbers: npt.NDArray[Any]) -> Words:
        """Return where these numbers come in the order."""
        return self._walk(numbers, self._unshuffle)

    def _walk(self, places: npt.NDArray[Any], step: Callable[[Words], Words]) -> Words:
        found = places.astype(np.uint64)
        for start in range(0, len(found), _CHUNK):
            chunk = step(found[start : start + _CHUNK])
            outside = np.flatnonzero(chunk >= self._size)
            while len(outside):
                chunk[outside] = step(chunk[outside])
                outside = outside[chunk[outside] >= self._size]
            found[start : start + _CHUNK] = chunk
        return found

    def _shuffle(self, places: Words) -> Words:
        column, row = places & self._mask, places >> self._bits
        for column_moves, row_moves in self._moves:
            column ^= column_moves[row]
            row += row_moves[column]
            # Unsigned numbers wrap around, so the smaller one is the remainder.
            np.minimum(row, row - self._n_rows, out=row)
        return (row << self._bits) | column

    def _unshuffle(self, places: Words) -> Words:
        column, row = places & self._mask, places >> self._bits
        for column_moves, row_moves in reversed(self._moves):
            row -= row_moves[column]
            np.minimum(row, row + self._n_rows, out=row)
            column ^= column_moves[row]
        return (row << self._bits) | column


class ShuffledPile:
    """A pile of few numbers, which are shuffled when the first is drawn.

    Parameters
    ----------
    size : int
        The pile holds the numbers below it.
    rng : numpy.random.Generator
        Shuffles them.

    Examples
    --------
    >>> pile = ShuffledPile(5, np.random.default_rng(0))
    >>> pile.remove(np.array([1, 3]))
    >>> pile.left, sorted(pile.draw(9).tolist()), pile.left
    (3, [0, 2, 4], 0)
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._is_in = np.ones(size, dtype=np.bool_)
        self._shuffled: Rows | None = None
        self.left = size

    def remove(self, numbers: Rows) -> None:
        """Take these numbers out of the pile, as far as they are in it."""
        self._is_in[numbers] = False
        if self._shuffled is not None:
            self._shuffled = self._shuffled[self._is_in[self._shuffled]]
        self.left = int(np.count_nonzero(self._is_in)) if self._shuffled is None else len(self._shuffled)

    def draw(self, count: int) -> Rows:
        """Return `count` random numbers, or all that are left if these are fewer, and take them out."""
        if self._shuffled is None:
            self._shuffled = np.flatnonzero(self._is_in).astype(np.int32)
            self._rng.shuffle(self._shuffled)
        numbers, self._shuffled = self._shuffled[:count], self._shuffled[count:]
        self.left = len(self._shuffled)
        return numbers


class LazyPile:
    """A pile of many numbers: the time and the memory for it grow with the numbers that are drawn or removed.

    Parameters
    ----------
    size : int
        The pile holds the numbers below it.
    rng : numpy.random.Generator
        Chooses their order.

    Examples
    --------
    >>> pile = LazyPile(10**12, np.random.default_rng(0))
    >>> pile.remove(np.arange(10))
    >>> len(set(pile.draw(1000).tolist()) - set(range(10))), pile.left
    (1000, 999999998990)
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._order = RandomOrder(size, rng)
        self._dtype: type[np.integer[Any]] = np.int32 if size < 2**31 else np.int64
        self._size = size
        self._next = 0
        # Positions of the order that are to be skipped, sorted; all of them are yet to come.
        self._skipped: Rows = np.zeros(0, dtype=np.int64)

    @property
    def left(self) -> int:
        """Numbers that can still be drawn."""
        return self._size - self._next - len(self._skipped)

    def remove(self, numbers: Rows) -> None:
        """Take these numbers out of the pile, as far as they are in it."""
        positions = self._order.find_positions(numbers).astype(np.int64)
        self._skipped = np.union1d(self._skipped, positions[positions >= self._next])

    def draw(self, count: int) -> Rows:
        """Return `count` random numbers, or all that are left if these are fewer, and take them out."""
        numbers: Rows = np.empty(min(count, self.left), dtype=self._dtype)
        for start in range(0, len(numbers), _CHUNK):
            chunk = numbers[start : start + _CHUNK]
            chunk[:] = self._order.find_numbers(self._take_positions(len(chunk)))
        return numbers

    def _take_positions(self, count: int) -> Rows:
        """Return the next positions that are not skipped."""
        n_skipped, stop = 0, self._next + count
        while (found := int(np.searchsorted(self._skipped, stop))) > n_skipped:
            n_skipped, stop = found, self._next + count + found
        positions: Rows = np.arange(self._next, stop)
        if n_skipped:
            positions = np.delete(positions, self._skipped[:n_skipped] - self._next)
        self._next, self._skipped = stop, self._skipped[n_skipped:]
        return positions


# Numbers that are shuffled at once, which takes 40 ms for this many.
_MAX_SHUFFLED = 2_000_000


def make_pile(size: int, rng: np.random.Generator) -> ShuffledPile | LazyPile:
    """Return a pile of the numbers below `size`, to be drawn in random order."""
    return ShuffledPile(size, rng) if size <= _MAX_SHUFFLED else LazyPile(size, rng)
