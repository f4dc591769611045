"""The rows of a table that have not been dealt, and random rows in class proportions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfTime
from fitwithin._core.records import Mask, Rows
from fitwithin._core.target import count_codes

Codes = npt.NDArray[np.unsignedinteger]
Counts = npt.NDArray[np.intp]

MAX_SHUFFLED = 2_000_000  # rows that are listed and shuffled at once, which takes 40 ms
# A larger pile is shuffled too if a draw takes, or has taken, so much of it that random rows would often be repeats.
_MAX_SAMPLED_ONE_IN = 8
# Rows that are looked up at once: finding a million took 7 ms in such parts; at once, 8 ms and 15 MB.
_PART_ROWS = 1 << 16
# Seconds that drawing a row takes, with room; it cannot be interrupted. Timed with timeit: `draw` took 24 to 50 ns a
# row of 10 million rows, and 65 to 68 ns of 50 million, shuffled or sampled.
_SECONDS_PER_ROW = 1e-7


class RowSet:
    """Some rows of a pool, kept as one bit for each row of the pool."""

    def __init__(self, n_rows: int, *parts: Rows) -> None:
        self._n_rows = n_rows
        self.words: npt.NDArray[np.uint16] = np.zeros(n_rows // 16 + 1, dtype="<u2")
        for rows in parts:
            self.add(rows)

    def add(self, rows: Rows) -> None:
        """Add rows; some may be there already."""
        for part in split_rows(rows):
            np.bitwise_or.at(self.words, part >> 4, np.left_shift(np.uint16(1), (part & 15).astype(np.uint16)))

    def holds(self, rows: Rows) -> Mask:
        """Return whether each of these rows is in the set."""
        parts = split_rows(rows)
        return np.concatenate([(self.words[part >> 4] >> (part & 15).astype(np.uint16)) & 1 == 1 for part in parts])

    def make_mask(self) -> Mask:
        """Return whether each row of the pool is in the set: a byte for each."""
        return np.unpackbits(self.words.view(np.uint8), count=self._n_rows, bitorder="little").view(np.bool_)


@dataclass(eq=False)
class TablePile:
    """The rows of a table, to be drawn at random, each once; a large table is not shuffled as a whole."""

    size: int
    rng: np.random.Generator
    strata: Codes | None = None  # the classes of the rows as small numbers
    class_counts: Counts | None = None
    costs: CostEstimates = field(default_factory=CostEstimates)

    waited_seconds: ClassVar[float] = 0.0
    is_growing: ClassVar[bool] = False
    is_complete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        size = self._pool_size = self.left = self.size
        self._row_type: type[np.integer[Any]] = np.int32 if size < 2**31 else np.int64
        self._held_out: Rows = np.zeros(0, dtype=np.intp)
        self._drawn = RowSet(size)  # with held-out rows
        self._shuffled: Rows | None = None  # all rows of the pile in random order, once they are listed

    def list_rows(self) -> Rows:
        """Return every row but the held-out ones, in the order of the table."""
        return np.delete(np.arange(self._pool_size, dtype=self._row_type), self._held_out)

    def hold_out(self, rows: Rows) -> None:
        """Never draw these rows."""
        self._held_out = sort_distinct(rows)
        self.size = self._pool_size - len(self._held_out)
        self.remove(self._held_out)

    def keep_read(self, rows: Rows) -> Rows:
        """Return these rows: all are there."""
        return rows

    def remove(self, rows: Rows) -> None:
        """Take these rows out of the pile, if they are in it."""
        new = sort_distinct(rows)
        new = new[~self._drawn.holds(new)]
        self._mark(new)
        if self._shuffled is not None:
            self._shuffled = self._shuffled[~np.isin(self._shuffled, new)]

    def draw(self, count: int) -> Rows:
        """Take `count` random rows out of the pile, or as many as there are, and return them."""
        count = min(count, self.left)
        has_repeats = self.left < _MAX_SAMPLED_ONE_IN * count or self._pool_size > _MAX_SAMPLED_ONE_IN * self.left
        must_shuffle = self._pool_size <= MAX_SHUFFLED or has_repeats
        n_touched = self.left if must_shuffle and self._shuffled is None else count
        if n_touched > MAX_SHUFFLED and self.costs.seconds_left < _SECONDS_PER_ROW * n_touched:
            raise OutOfTime("the teacher was still choosing rows")
        if self._shuffled is None:
            if not must_shuffle:
                return self._sample_new(count)
            self._shuffled = np.arange(self._pool_size, dtype=self._row_type)[~self._drawn.make_mask()]
            self.rng.shuffle(self._shuffled)
        # A view of a few rows, or of none, would keep the memory of all.
        rows, rest = self._shuffled[:count].copy(), self._shuffled[count:]
        self._shuffled = rest if len(rest) else rest.copy()
        self._mark(rows)
        return rows

    def draw_first(self, count: int, min_class_rows: int) -> Rows:
        """Take the rows of a first lesson out of the pile."""
        rows = None
        if self.strata is not None:
            if self.class_counts is None:
                self.class_counts = count_codes(self.strata, int(self.strata.max()) + 1)
            counts = self.class_counts - count_codes(self.strata[self._held_out], len(self.class_counts))
            count = max(count, min_opening_size(counts, min_class_rows))
            if count < self.size:
                candidates = self._find_rows(sample_candidates(self.size, count, self.rng))
                rows = sample_stratified(self.strata, candidates, self._held_out, counts, count, self.rng)
        elif count < self.size:
            return self.draw(count)
        rows = self.list_rows() if rows is None else rows.astype(self._row_type)
        self.remove(rows)
        return rows

    def sample(self, count: int) -> Rows:
        """Return random rows with replacement, drawn or not."""
        return self._find_rows(self.rng.integers(self.size, size=count))

    def count_in_use(self, rows: Rows, sign: int) -> None:
        """Do nothing: a random order needs no balance."""

    def _find_rows(self, numbers: Rows) -> Rows:
        """Return the rows with these numbers among those that are not held out."""
        n_smaller = self._held_out - np.arange(len(self._held_out))
        return numbers + np.searchsorted(n_smaller, numbers, side="right")

    def _sample_new(self, count: int) -> Rows:
        """Take random rows out of the pile without listing the others."""
        found: Rows = np.zeros(0, dtype=self._row_type)
        while len(found) < count:
            n_missing = count - len(found)
            rows = sort_distinct(self.rng.integers(self._pool_size, size=2 * n_missing, dtype=self._row_type))
            rows = self.rng.permutation(rows[~self._drawn.holds(rows)])[:n_missing]
            self._mark(rows)
            found = np.concatenate([found, rows])
        return found

    def _mark(self, rows: Rows) -> None:
        """Count rows of the pile as drawn."""
        self._drawn.add(rows)
        self.left -= len(rows)


def sample_stratified(
    strata: Codes, candidates: Rows, held_out: Rows, class_counts: Counts, count: int, rng: np.random.Generator
) -> Rows:
    """Return random rows in class proportions, at least one of every class; `class_counts` are without `held_out`."""
    quotas = allocate_quotas(class_counts, count)
    chosen, missing = _take_up_to_quotas(strata, candidates, quotas)
    if missing.any():
        # The candidates hold too few rows of some rare classes: search the whole pool, once, for these classes.
        rare = np.flatnonzero(np.take(missing > 0, strata))
        rare = rng.permutation(rare[~np.isin(rare, held_out)])
        refilled, _ = _take_up_to_quotas(strata, rare, np.where(missing > 0, quotas, 0))
        chosen = np.concatenate([chosen[(missing == 0)[strata[chosen]]], refilled])
    return rng.permutation(chosen)


def min_opening_size(class_counts: Counts, min_class_rows: int) -> int:
    """Rows that hold every class, and enough of the rarest one unless that takes over a tenth of the pool."""
    present = class_counts[class_counts > 0]
    if min_class_rows == 1:
        return len(present)
    pool_size = int(class_counts.sum())
    return max(len(present), min(-(-min_class_rows * pool_size // int(present.min())), pool_size // 10))


def split_rows(rows: Rows) -> list[Rows]:
    """Return the rows in parts, so that what is computed of each takes little memory beside a large pool."""
    return np.array_split(rows, len(rows) // _PART_ROWS + 1)


def sort_distinct(rows: Rows) -> Rows:
    """Return the distinct rows in ascending order; for a million, 3 ms where `np.unique` of NumPy 2.4 takes 600."""
    ordered = np.sort(rows)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])


def drop_repeats(rows: Rows) -> Rows:
    """Return the distinct rows in the order of their first occurrence."""
    _, first_positions = np.unique(rows, return_index=True)
    return rows[np.sort(first_positions)]


def sample_candidates(size: int, count: int, rng: np.random.Generator) -> Rows:
    """Return random numbers below `size`, in random order and most likely enough for `count` rows of common classes."""
    n_draws = min(size, 4 * count)
    return drop_repeats(rng.integers(size, size=n_draws, dtype=np.intp)) if 8 * count < size else rng.permutation(size)


def _take_up_to_quotas(strata: Codes, candidates: Rows, quotas: Counts) -> tuple[Rows, Counts]:
    """Return the first candidates of each class up to its quota, and the rows that each class still misses."""
    by_class = candidates[np.argsort(strata[candidates], kind="stable")]
    counts = np.bincount(strata[candidates], minlength=len(quotas))
    rank_in_class = np.arange(len(by_class)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_class[rank_in_class < np.repeat(quotas, counts)], np.maximum(quotas - counts, 0)


def allocate_quotas(class_counts: Counts, total: int) -> Counts:
    """Return the rows to take of each class: proportional by largest remainder, and at least one of each."""
    exact = class_counts * (total / class_counts.sum())
    quotas: Counts = np.maximum(np.floor(exact).astype(np.intp), class_counts > 0)
    by_remainder = np.argsort(np.floor(exact) - exact, kind="stable")
    rounded_down = by_remainder[quotas[by_remainder] < exact[by_remainder]]
    quotas[rounded_down[: max(0, total - int(quotas.sum()))]] += 1
    while quotas.sum() > total:
        # Rare classes were rounded up to one row; the largest classes make up for it.
        quotas[np.argmax(quotas)] -= 1
    return quotas
