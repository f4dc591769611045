"""The rows of a data set on disk that have not been dealt, while it is read: few rows from many blocks first."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfTime, ReadingFailed
from fitwithin._core.records import Rows
from fitwithin._pools.block_reader import RowSupply
from fitwithin._pools.decks.table_pile import min_opening_size
from fitwithin._pools.reading_order import Counts, list_ranges

# The first deal waits for this many blocks, and for its rows, but only so long.
_FIRST_BLOCKS = 16
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

_OUT_OF_TIME = "the data set was still being read"


@dataclass(eq=False)
class BlockPile:
    """Rows of a data set on disk, to be drawn at random while it is read.

    Each draw has the class proportions of the whole data set, so that rows of an exam are a fair sample; if a class is
    short of rows that have been read, fewer are drawn. Within a class, the rows in use, those that were drawn and not
    discarded, come from all blocks read so far, from each in proportion to its rows. So a block that was just read is
    drawn from first, until it has caught up. Once every block is read, rows are drawn evenly from all of them.

    `codes` are the classes of the rows that have been read, and `costs` knows the time left.

    Examples
    --------
    >>> from fitwithin._pools.reading_order import BlockIndex
    >>> index = BlockIndex(np.array([[600], [200], [400]]))
    >>> supply = RowSupply(index)
    >>> supply.add_block(), supply.add_block()
    (None, None)
    >>> pile = BlockPile(supply, np.random.default_rng(0))
    >>> np.bincount(index.find_places(pile.draw(80)), minlength=3)
    array([60, 20,  0])
    >>> supply.add_block()
    >>> np.bincount(index.find_places(pile.draw(40)), minlength=3)
    array([ 0,  0, 40])
    >>> pile.left
    1080
    """

    supply: RowSupply
    rng: np.random.Generator
    codes: npt.NDArray[np.unsignedinteger] | None = None
    class_counts: npt.NDArray[np.intp] | None = None
    costs: CostEstimates = field(default_factory=CostEstimates)

    def __post_init__(self) -> None:
        supply = self.supply
        self.size = int(supply.cell_counts.sum())
        self.waited_seconds = 0.0
        self._row_type: type[np.signedinteger] = np.int32 if supply.n_rows < 2**31 else np.int64
        self._class_rows: Counts = supply.cell_counts.sum(axis=0)
        # Rows of each cell that were drawn, the first ones, and those of them that are in use.
        self._n_drawn: Counts = np.zeros_like(supply.cell_counts)
        self._n_in_use: Counts = np.zeros_like(supply.cell_counts)
        # Rows that were removed before their turn; takes memory only where a row is.
        self._is_removed = np.zeros(supply.n_rows, dtype=np.bool_)
        self._n_removed = 0
        self._has_begun = False

    @property
    def left(self) -> int:
        """Rows that can still be drawn, with those that are still to be read."""
        n_coming = self.size if self.supply.failure is None else self._n_read
        return max(0, n_coming - int(self._n_drawn.sum()) - self._n_removed)

    @property
    def is_growing(self) -> bool:
        """Whether further rows are being read."""
        return not self.supply.is_over

    @property
    def is_complete(self) -> bool:
        """Whether every row could be read so far."""
        return self.supply.failure is None

    def list_rows(self) -> Rows:
        """Return every row, once all have been read."""
        self._wait_for_rows(self.supply.n_rows)
        return self.supply.index.list_training_rows(self.supply.n_places_read).astype(self._row_type)

    @property
    def _n_read(self) -> int:
        """Rows that have been read, without held-out ones."""
        return int(self.supply.cell_counts[: self.supply.n_places_read].sum())

    def hold_out(self, rows: Rows) -> None:
        """Do nothing: the index of the blocks knows these rows."""

    def keep_read(self, rows: Rows) -> Rows:
        """Return those of these held-out rows that have been read, once there is one."""
        self._wait_for_first_rows(1)
        first = int(rows.min(initial=self.supply.n_rows - 1))
        self._wait(lambda: first < self.supply.n_rows_read, _MAX_FIRST_TIME * self.costs.seconds_left)
        return rows[rows < self.supply.n_rows_read]

    def draw(self, count: int) -> Rows:
        """Take `count` random rows out of the pile, or as many as there are or have been read in time."""
        self._wait_for_first_rows(count)

        def has_rows() -> bool:
            return int(self._n_available.sum()) > self._n_removed

        if not self._wait(lambda: self._count_fair_rows(count) >= count, _WAITING_TIME * self.costs.seconds_left):
            # Without a row to deal, not even one that was discarded, wait for one.
            has_discarded = int(self._n_in_use.sum()) < int(self._n_drawn.sum()) + self._n_removed
            has_any = has_rows() or has_discarded or self._wait(has_rows, self.costs.seconds_left)
            if not has_any and not self.supply.is_over:
                raise OutOfTime(_OUT_OF_TIME)
        return self.rng.permutation(self._draw_read_rows(count))

    def draw_first(self, count: int, min_class_rows: int) -> Rows:
        """Take the rows of a first lesson out of the pile, once a few blocks have been read.

        They have the class proportions of all rows, and at least one row of each class that has been read.
        """
        if self.class_counts is not None:
            count = max(count, min_opening_size(self.class_counts, min_class_rows))
        if count >= self.size:
            rows = self.list_rows()
            self._n_drawn[:] = self._n_in_use[:] = self.supply.cell_counts
            return rows
        self._wait_for_first_rows(count)
        rows = self._draw_read_rows(count)
        if self.codes is not None:
            codes = self.codes[: self.supply.n_rows_read]
            others = self.supply.index.drop_held_out(np.flatnonzero(~np.isin(codes, codes[rows])))
            # Rows that were drawn have other classes, so these were not.
            missing = others[np.unique(codes[others], return_index=True)[1]].astype(self._row_type)
            self.remove(missing)
            rows = np.concatenate([rows, missing])
        return self.rng.permutation(rows)

    def sample(self, count: int) -> Rows:
        """Return random rows with replacement, of those that have been read."""
        self._wait_for_first_rows(1)
        return self.rng.choice(self.supply.index.list_training_rows(self.supply.n_places_read), size=count)

    def remove(self, rows: Rows) -> None:
        """Take these rows out of the pile, once they have been read."""
        self._wait_for_rows(int(rows.max(initial=-1)) + 1)
        rows = self.supply.index.drop_held_out(rows)
        new = np.unique(rows[~self._is_removed[rows]])
        self._is_removed[new] = True
        self._n_removed += len(new)
        self.count_in_use(new, 1)

    def count_in_use(self, rows: Rows, sign: int) -> None:
        """Note that drawn rows were discarded (sign -1), or came back into use (+1)."""
        self._n_in_use += sign * self.supply.index.count_by_cell(rows)

    # Waiting

    def _wait_for_first_rows(self, count: int) -> None:
        """Before the first draw, wait for a few blocks."""
        if self._has_begun:
            return
        self._has_begun = True
        supply, left = self.supply, self.costs.seconds_left
        end = time.monotonic() + min(_FIRST_SECONDS, _FIRST_TIME * left)

        def is_enough() -> bool:
            n_places = supply.n_places_read
            classes = supply.cell_counts[:n_places].any(axis=0)
            if n_places < _MIN_FIRST_BLOCKS or self._class_rows[classes].sum() < _MIN_FIRST_CLASSES * self.size:
                return False
            return time.monotonic() > end or (n_places >= _FIRST_BLOCKS and self._n_read >= count)

        self._wait(is_enough, _MAX_FIRST_TIME * left)
        self._wait_for_rows(1)

    def _wait_for_rows(self, count: int) -> None:
        """Wait until this number of rows has been read; raise if they never will be."""
        if not self._wait(lambda: self.supply.n_rows_read >= count, self.costs.seconds_left):
            if self.supply.is_over:
                raise ReadingFailed(self.supply.failure or "The data set is no longer read.")
            raise OutOfTime(_OUT_OF_TIME)

    def _wait(self, is_enough: Callable[[], bool], seconds: float) -> bool:
        """Wait at most this long, never past the deadline, and count the seconds; rows are read in real time."""
        start = time.monotonic()
        try:
            return self.supply.wait(is_enough, lambda: min(start + seconds - time.monotonic(), self.costs.seconds_left))
        finally:
            self.waited_seconds += time.monotonic() - start

    # Drawing

    @property
    def _n_available(self) -> Counts:
        """Rows of each cell that have been read and not drawn; only the blocks that have been read."""
        n_read = self.supply.n_places_read
        return self.supply.cell_counts[:n_read] - self._n_drawn[:n_read]

    def _draw_read_rows(self, count: int) -> Rows:
        """Draw rows that have been read: `count`, or fewer."""
        n_fair = self._count_fair_rows(count)
        n_left = n_fair if n_fair >= _MIN_FAIR_ROWS * count else count
        drawn = [np.zeros(0, dtype=self._row_type)]
        # Rows that were removed before are not drawn, so there may be another turn.
        while (n_wanted := min(n_left, int(self._n_available.sum()))) > 0:
            drawn.append(self._draw_by_class(n_wanted))
            n_left -= len(drawn[-1])
        return np.concatenate(drawn)

    def _count_fair_rows(self, count: int) -> int:
        """Return how many of `count` rows can be drawn in the class proportions of all rows."""
        available = self._n_available.sum(axis=0)
        most = min(count, max(0, int(available.sum()) - self._n_removed))
        shares = self._class_rows / self.size

        def is_unfair(n_rows: int) -> bool:
            return float(np.maximum(0.0, shares * n_rows - available).sum()) > _OTHER_CLASSES * n_rows

        if self.supply.is_over or not is_unfair(most):
            return most
        # The share of rows that are missing grows with the rows.
        return bisect.bisect_left(range(most), True, key=lambda n_rows: is_unfair(n_rows + 1))

    def _draw_by_class(self, count: int) -> Rows:
        """Draw rows in the class proportions of all rows, of each class evenly from the blocks that have been read."""
        available, starts = self._n_available, self.supply.index.cell_starts + self._n_drawn
        n_read, by_class = len(available), available.sum(axis=0)
        quotas = share_evenly(self._class_rows, np.zeros_like(self._class_rows), by_class, count, self.rng)
        counts = np.zeros_like(available)
        for number, quota in enumerate(quotas.tolist()):
            shares, in_use = self.supply.shares[:n_read, number], self._n_in_use[:n_read, number]
            counts[:, number] = share_evenly(shares, in_use, available[:, number], quota, self.rng)
        self._n_drawn[:n_read] += counts
        self._n_in_use[:n_read] += counts
        self.supply.note_dealt(int(self._n_drawn.sum()))
        rows = list_ranges(starts[:n_read], counts).astype(self._row_type)
        is_removed = self._is_removed[rows]
        self._n_removed -= int(np.count_nonzero(is_removed))
        # They were counted when they were removed.
        self.count_in_use(rows[is_removed], -1)
        return rows[~is_removed]


def share_evenly(sizes: Counts, kept: Counts, available: Counts, count: int, rng: np.random.Generator) -> Counts:
    """Share `count` rows among blocks, so that the rows in use become proportional to the blocks' sizes.

    Parameters
    ----------
    sizes, kept, available : array of int
        Rows of each block, those in use, and those that can be added.
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
    sizes = np.maximum(sizes, 1)

    def share(level: float) -> npt.NDArray[np.float64]:
        return np.clip(level * sizes - kept, 0, available)

    # The level to which all blocks are filled, as far as they have rows.
    wanted = share(brentq(lambda level: share(level).sum() - count, 0.0, ((kept + available) / sizes).max()))
    # Each block gets its number rounded up or down, with the chance of the fraction.
    ends = np.floor(np.cumsum(wanted) + rng.random())
    ends[-1] = count
    shares: Counts = np.clip(np.diff(ends, prepend=0.0), 0, available).astype(np.int64)
    return shares
