"""A deck of rows that are still being read: few rows from many blocks first."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfTime, ReadingFailed, UserInputError
from fitwithin._core.records import Rows
from fitwithin._pools.row_supply import RowSupply
from fitwithin.teachers._deck import Deck, FirstSize, opening_size
from fitwithin.teachers._stratified_sample import allocate_quotas, min_opening_size

Counts = npt.NDArray[np.int64]

# The first deal waits for this many blocks, and for this many times its rows, but only so long.
_FIRST_BLOCKS = 16
_FIRST_ROWS_FACTOR = 4
_FIRST_SECONDS = 1.0
_FIRST_TIME = 0.05  # of the time left, if that is less

# It waits longer for two blocks and for nearly all classes: without them there is nothing to learn, and no interval.
_MIN_FIRST_BLOCKS = 2
_MIN_FIRST_CLASSES = 0.99  # of all rows, that have a class with rows that have been read
_MAX_FIRST_TIME = 0.5  # of the time left

# A deal that wants more rows than have been read waits for this share of the time left.
_WAITING_TIME = 0.05

# Rows of a deal that may be of other classes than they should, because those have not been read.
_OTHER_CLASSES = 0.02

# Rows that are dealt in the right proportions, at least, relative to those asked for; else all of them in any.
_MIN_FAIR_ROWS = 0.5

# Rows whose cells are looked up one by one, which takes up to 10 ms.
_COUNTED_ROWS = 1 << 18

# Steps in which the level is halved that rows are shared by: after them it is exact to a row of a trillion.
_HALVINGS = 40

_OUT_OF_TIME = "the data set was still being read"


class BlockDeck(Deck):
    """Deals rows of a data set on disk while it is read.

    Each deal has the class proportions of the whole data set, so that rows of an exam are a fair sample; if a class is
    short of rows that have been read, fewer are dealt. Within a class, the rows in use, those that were dealt and not
    discarded, come from all blocks read so far, from each in proportion to its rows. So a block that was just read is
    dealt from first, until it has caught up. Once every block is read, rows are dealt evenly over all of them.

    Parameters
    ----------
    supply : RowSupply
        The rows that have been read.
    rng : numpy.random.Generator
        The only source of randomness, for the deck and for its teacher.
    codes : array of int, optional
        The class of each row that has been read.
    class_counts : array of int, optional
        Rows of each class.
    min_class_rows : int, default=1
        See `Deck`.
    costs : CostEstimates, optional
        What the teacher can afford. By default the time is unlimited.

    Attributes
    ----------
    waited_seconds : float
        Seconds that deals have waited for rows to be read.

    Examples
    --------
    >>> supply = RowSupply(np.array([[600], [200], [400]]))
    >>> supply.add_block(), supply.add_block()
    (None, None)
    >>> deck = BlockDeck(supply, np.random.default_rng(0))
    >>> np.bincount(supply.find_blocks(deck.deal(80)), minlength=3)
    array([60, 20,  0])
    >>> supply.add_block()
    >>> np.bincount(supply.find_blocks(deck.deal(40)), minlength=3)
    array([ 0,  0, 40])
    >>> deck.left
    1080
    """

    def __init__(
        self,
        supply: RowSupply,
        rng: np.random.Generator,
        codes: npt.NDArray[np.unsignedinteger] | None = None,
        class_counts: npt.NDArray[np.intp] | None = None,
        min_class_rows: int = 1,
        costs: CostEstimates | None = None,
    ) -> None:
        super().__init__(supply.n_rows, rng, None, min_class_rows, costs, class_counts)
        self._supply = supply
        self._codes = codes
        # Rows of each cell that were dealt, the first ones, and those of them that are in use.
        self._n_dealt: Counts = np.zeros_like(supply.cell_counts)
        self._n_kept: Counts = np.zeros_like(supply.cell_counts)
        # Rows that were dealt out of their turn, if there are any.
        self._is_taken: npt.NDArray[np.bool_] | None = None
        self._n_taken_ahead = 0
        self._next: Rows = np.zeros(0, dtype=np.int64)
        self._put_aside: list[Rows] = []
        self._has_begun = False

    @property
    def left(self) -> int:
        """Number of rows that can still be dealt: discarded ones, and those that are still to be read."""
        n_coming = self._supply.n_rows if self._supply.failure is None else self._supply.n_rows_read
        n_undealt = n_coming - int(self._n_dealt.sum()) - self._n_taken_ahead
        return len(self._next) + max(0, n_undealt) + sum(map(len, self._put_aside))

    @property
    def rows(self) -> Rows:
        """Every row, once all have been read."""
        self._wait_for_rows(self._supply.n_rows)
        return np.arange(self._supply.n_rows_read, dtype=self._number_type)

    @property
    def is_growing(self) -> bool:  # type: ignore[override]  # here it changes
        """Whether further rows are being read."""
        return not self._supply.is_over

    @property
    def can_refit(self) -> bool:
        """Whether a last fit of the best model may take every row: not if some could not be read."""
        return self._supply.failure is None

    @can_refit.setter
    def can_refit(self, value: bool) -> None:
        """Ignore the value that every deck begins with."""

    @property
    def _number_type(self) -> type[np.signedinteger]:
        return np.int32 if self._supply.n_rows < 2**31 else np.int64

    def hold_out(self, validation_rows: Rows, holdout_rows: Rows, *, can_refit: bool = True) -> None:
        """Refuse: the numbers of these rows are not known before they are read."""
        raise UserInputError("Rows of a data set on disk cannot be chosen for validation.")

    def opening(self, first: FirstSize) -> Rows:
        """Deal the rows of a first lesson, once a few blocks have been read.

        They have the class proportions of all rows, and at least one row of each class that has been read.
        """
        count = opening_size(first, self.size)
        if self._class_counts is not None:
            min_class_rows = self._min_class_rows if isinstance(first, float) else 1
            count = max(count, min_opening_size(self._class_counts, min_class_rows))
        if count >= self.size:
            self._wait_for_rows(self.size)
            rows = np.arange(self._supply.n_rows_read, dtype=self._number_type)
            self._n_dealt[: self._supply.n_blocks_read] = self._supply.cell_counts[: self._supply.n_blocks_read]
            self._n_kept[:] = self._n_dealt
            return rows
        self._wait_for_first_rows(count)
        if self._n_classes > 1 and self._class_counts is not None:
            quotas = allocate_quotas(self._class_counts, count).astype(np.int64)
            return self._shuffle(self._draw_by_class(np.minimum(quotas, self._n_available.sum(axis=0))))
        rows = self._draw(count)
        return self._shuffle(np.concatenate([rows, self._draw_missing_classes(rows)]))

    def deal(self, count: int) -> Rows:
        """Deal `count` random rows, or as many as are left or have been read in time.

        Raises
        ------
        OutOfTime
            If the deadline comes before any row is read.
        """
        rows, self._next = self._next[:count], self._next[count:]
        if len(rows) < count:
            self._wait_for_first_rows(count)
            self._wait_a_while(count - len(rows))
            rows = np.concatenate([rows, self._shuffle(self._draw(count - len(rows)))])
        if len(rows) < count and self._put_aside:
            aside = self.rng.permutation(np.concatenate(self._put_aside))
            again, rest = aside[: count - len(rows)], aside[count - len(rows) :]
            self._put_aside = [rest] if len(rest) else []
            self._count_as_kept(again, 1)
            rows = np.concatenate([rows, again])
        return rows.astype(self._number_type, copy=False)

    def sample(self, count: int) -> Rows:
        """Return `count` random rows with replacement, of those that have been read."""
        self._wait_for_first_rows(1)
        return self.rng.integers(self._supply.n_rows_read, size=count)

    def take(self, rows: Rows) -> Rows:
        """Take these rows out of the deck before anything was dealt, and return them, once they have been read."""
        self._wait_for_rows(int(rows.max(initial=-1)) + 1)
        if self._is_taken is None:
            self._is_taken = np.zeros(self.pool_size, dtype=np.bool_)
        new = np.unique(rows[~self._is_taken[rows]])
        self._is_taken[new] = True
        self._n_taken_ahead += len(new)
        self._count_as_kept(new, 1)
        return rows

    def put_back(self, rows: Rows) -> None:
        """Put rows that were just dealt back on top: they are the next to be dealt."""
        self._next = np.concatenate([rows, self._next])

    def discard(self, rows: Rows) -> None:
        """Put dealt rows aside; they come back when no others are left."""
        if len(rows):
            self._put_aside.append(rows)
            self._count_as_kept(rows, -1)

    # Waiting

    def _wait_for_first_rows(self, count: int) -> None:
        """Before the first deal, wait for a few blocks."""
        if self._has_begun:
            return
        self._has_begun = True
        supply, end = self._supply, min(_FIRST_SECONDS, _FIRST_TIME * self.costs.seconds_left)

        def is_enough() -> bool:
            return supply.n_blocks_read >= _FIRST_BLOCKS and supply.n_rows_read >= _FIRST_ROWS_FACTOR * count

        self._wait(is_enough, end)
        self._wait(self._has_least_rows, _MAX_FIRST_TIME * self.costs.seconds_left)
        self._wait_for_rows(1)

    def _has_least_rows(self) -> bool:
        """Whether rows of two blocks and of nearly all classes have been read."""
        supply = self._supply
        if supply.n_blocks_read < _MIN_FIRST_BLOCKS:
            return False
        class_rows = supply.cell_counts.sum(axis=0)
        is_read = supply.cell_counts[: supply.n_blocks_read].any(axis=0)
        return bool(class_rows[is_read].sum() >= _MIN_FIRST_CLASSES * class_rows.sum())

    def _wait_a_while(self, count: int) -> None:
        """Wait for enough rows to deal, as long as that is worth it; for one row until the deadline."""

        def has_rows() -> bool:
            return int(self._n_available.sum()) > self._n_taken_ahead

        def has_enough() -> bool:
            return self._count_fair_rows(count) >= count

        if has_enough():
            return
        self._wait(has_enough, _WAITING_TIME * self.costs.seconds_left)
        if not has_rows() and not self._put_aside and not self._supply.is_over:
            self._wait(has_rows, self.costs.seconds_left)
            if not has_rows() and not self._supply.is_over:
                raise OutOfTime(_OUT_OF_TIME)

    def _wait_for_rows(self, count: int) -> None:
        """Wait until so many rows have been read; raise if they never will be."""
        if not self._wait(lambda: self._supply.n_rows_read >= count, self.costs.seconds_left):
            if self._supply.is_over:
                raise ReadingFailed(self._supply.failure or "The data set is no longer read.")
            raise OutOfTime(_OUT_OF_TIME)

    def _wait(self, is_enough: Callable[[], bool], seconds: float) -> bool:
        """Wait for at most so many seconds, never past the deadline, and count them; rows are read in real time."""
        start = time.monotonic()
        try:
            return self._supply.wait(
                is_enough, lambda: min(start + seconds - time.monotonic(), self.costs.seconds_left)
            )
        finally:
            self.waited_seconds += time.monotonic() - start

    # Dealing

    @property
    def _n_classes(self) -> int:
        return int(self._supply.cell_counts.shape[1])

    @property
    def _n_available(self) -> Counts:
        """Rows of each cell that have been read and not dealt; only the blocks that have been read."""
        n_read = self._supply.n_blocks_read
        return self._supply.cell_counts[:n_read] - self._n_dealt[:n_read]

    def _draw(self, count: int) -> Rows:
        """Deal rows that were read and not dealt: `count`, or fewer."""
        rows: Rows = np.zeros(0, dtype=self._number_type)
        n_fair = self._count_fair_rows(count)
        if n_fair >= _MIN_FAIR_ROWS * count:
            count = n_fair
        class_rows = self._supply.cell_counts.sum(axis=0)
        while len(rows) < count:
            available = self._n_available.sum(axis=0)
            n_wanted = min(count - len(rows), int(available.sum()))
            if not n_wanted:
                break
            quotas = share_evenly(class_rows, np.zeros_like(class_rows), available, n_wanted, self.rng)
            # Rows that were taken out of their turn are dealt no more, so there may be another turn.
            rows = np.concatenate([rows, self._draw_by_class(quotas)])
        return rows

    def _count_fair_rows(self, count: int) -> int:
        """Return how many of `count` rows can be dealt in the class proportions of all rows."""
        available = self._n_available.sum(axis=0)
        n_available = int(available.sum()) - self._n_taken_ahead
        if self._supply.is_over or n_available <= 0:
            return min(count, max(0, n_available))
        class_rows = self._supply.cell_counts.sum(axis=0)
        shares = class_rows / class_rows.sum()

        def is_fair(n_rows: int) -> bool:
            return float(np.maximum(0.0, shares * n_rows - available).sum()) <= _OTHER_CLASSES * n_rows

        most = min(count, n_available)
        # The share of rows that are missing grows with the rows.
        return (
            most if is_fair(most) else bisect.bisect_left(range(most), True, key=lambda n_rows: not is_fair(n_rows + 1))
        )

    def _draw_by_class(self, quotas: Counts) -> Rows:
        """Deal so many rows of each class, evenly over the blocks that have been read."""
        available, starts = self._n_available, self._supply.cell_starts + self._n_dealt
        n_read = len(available)
        counts = np.zeros_like(available)
        for number, quota in enumerate(quotas.tolist()):
            column = available[:, number]
            shares, kept = self._supply.shares[:n_read, number], self._n_kept[:n_read, number]
            counts[:, number] = share_evenly(shares, kept, column, min(quota, int(column.sum())), self.rng)
        self._n_dealt[:n_read] += counts
        self._n_kept[:n_read] += counts
        self._supply.note_dealt(int(self._n_dealt.sum()))
        rows = _list_ranges(starts[:n_read].reshape(-1), counts.reshape(-1)).astype(self._number_type)
        if self._is_taken is None:
            return rows
        is_taken = self._is_taken[rows]
        self._n_taken_ahead -= int(np.count_nonzero(is_taken))
        # They were counted when they were taken.
        self._count_as_kept(rows[is_taken], -1)
        return rows[~is_taken]

    def _draw_missing_classes(self, rows: Rows) -> Rows:
        """Deal one row of each class that is not among these rows, if one has been read."""
        if self._codes is None or self._class_counts is None:
            return rows[:0]
        n_classes, codes = len(self._class_counts), self._codes[: self._supply.n_rows_read]
        is_missing = np.ones(n_classes, dtype=np.bool_)
        is_missing[self._codes[rows]] = False
        found = np.flatnonzero(is_missing[codes])
        _, firsts = np.unique(codes[found], return_index=True)
        # Rows that were dealt have other classes, so these were not.
        return self.take(found[firsts].astype(self._number_type))

    def _count_as_kept(self, rows: Rows, sign: int) -> None:
        # Some of very many rows tell well enough where all of them lie: they are in random order.
        step = max(1, len(rows) // _COUNTED_ROWS)
        cells = np.searchsorted(self._supply.cell_starts.reshape(-1), rows[::step], side="right") - 1
        # Cells without rows begin where the next one does, so the last of them is the one with rows.
        self._n_kept += sign * step * np.bincount(cells, minlength=self._n_kept.size).reshape(self._n_kept.shape)

    def _shuffle(self, rows: Rows) -> Rows:
        return self.rng.permutation(rows)


def share_evenly(sizes: Counts, kept: Counts, available: Counts, count: int, rng: np.random.Generator) -> Counts:
    """Share `count` rows among parts, so that the rows in use become proportional to the parts' sizes.

    Parameters
    ----------
    sizes, kept, available : array of int
        Rows of each part, those in use, and those that can be added.
    count : int
        Rows to share; at most the sum of `available`.
    rng : numpy.random.Generator
        Rounds up or down.

    Examples
    --------
    >>> sizes, kept = np.array([100, 100, 200]), np.array([10, 0, 0])
    >>> share_evenly(sizes, kept, sizes - kept, 50, np.random.default_rng(0))
    array([ 5, 15, 30])
    """
    if count >= available.sum():
        return available.copy()
    low, high = 0.0, float(((kept + available) / np.maximum(sizes, 1)).max(initial=0.0))
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        if np.clip(level * sizes - kept, 0, available).sum() < count:
            low = level
        else:
            high = level
    wanted = np.clip(high * sizes - kept, 0, available)
    shares: Counts = np.floor(wanted).astype(np.int64)
    _round_up(shares, wanted - shares, available, count - int(shares.sum()), rng)
    return shares


def _round_up(
    shares: Counts, fractions: npt.NDArray[np.float64], available: Counts, count: int, rng: np.random.Generator
) -> None:
    """Add one row to some parts, `count` in all, each with the chance of its fraction."""
    order = rng.permutation(len(shares))
    steps = np.floor(np.cumsum(fractions[order]) + rng.random()).astype(np.int64)
    chosen = order[np.diff(steps, prepend=0) > 0]
    chosen = chosen[shares[chosen] < available[chosen]][: max(0, count)]
    shares[chosen] += 1
    # Errors of rounding leave a row or two; it does not matter who gets them.
    n_missing = count - len(chosen)
    while n_missing > 0:
        spare = order[shares[order] < available[order]][:n_missing]
        shares[spare] += 1
        n_missing -= len(spare)


def _list_ranges(starts: Counts, counts: Counts) -> Rows:
    """Return the numbers of ranges, one after the other."""
    has_rows = counts > 0
    starts, counts = starts[has_rows], counts[has_rows]
    ends = np.cumsum(counts)
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    rows: Rows = np.arange(ends[-1]) + np.repeat(starts - ends + counts, counts)
    return rows
