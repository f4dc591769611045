"""The rows of a pool as a deck of cards, and the checks of the sizes that teachers take."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.cost import Outlook
from fitwithin._core.exceptions import OutOfTime
from fitwithin._core.records import ResumePoint, Rows

FirstSize = int | float
"""Size of the first lesson: a number of rows (int) or a fraction of the pool (float)."""

# Rows of a pool that is taught whole; the default fraction of it would be two or three rows.
SMALL_POOL_ROWS = 500

# Rows of a pool that is shuffled whole on the first deal, which takes about 50 ms at this size.
_SHUFFLED_POOL_ROWS = 2_000_000

# Seconds that listing and shuffling take for each row of a large pool, with room: 0.6 s for 10 million rows. It cannot
# be interrupted.
_SHUFFLE_SECONDS_PER_ROW = 9e-8

# Class codes that are counted at a time: `bincount` converts its input to 8 bytes a row.
_COUNTED_CODES = 1 << 18


class Deck:
    """Deals row numbers at random, each at most once until all were dealt.

    When every row has been dealt, discarded ones are shuffled and come back. A teacher keeps the
    rows it teaches and discards those it only examined.

    Parameters
    ----------
    size : int
        Number of rows in the pool.
    rng : numpy.random.Generator
        The only source of randomness, for the deck and for its teacher.
    strata : array of int, optional
        The class of each row as a small number. The opening lesson then holds every class.
    min_class_rows : int, default=1
        Rows of the rarest class in an opening lesson whose size is a fraction of the pool. The lesson
        grows for that, up to a tenth of the pool.
    outlook : Outlook, optional
        What the teacher can afford. By default the time is unlimited.

    Attributes
    ----------
    size : int
        Rows that can be dealt: those of the pool without the held-out ones. Fractions are fractions of it.
    pool_size : int
        Rows of the pool.
    resume_point : ResumePoint or None
        Where an earlier fit on the same rows ended; a teacher may go on from there, or begin again.
    notes : dict
        Small facts that a teacher wants back in the resume point of a later fit: text, numbers and booleans.
    validation_rows, holdout_rows : array of int or None
        Rows that the user chose for validation and holdout, in random order; see `hold_out`. None if a teacher may
        choose some itself.
    can_refit : bool
        Whether a last fit of the best model may take them too.

    Examples
    --------
    >>> import numpy as np
    >>> deck = Deck(4, np.random.default_rng(0))
    >>> hand = deck.deal(3)
    >>> len(set(hand.tolist()))
    3
    >>> deck.left
    1
    >>> deck.discard(hand[:2])
    >>> sorted([*deck.deal(9).tolist(), hand[2].item()])
    [0, 1, 2, 3]
    """

    waited_seconds: float = 0.0
    """Seconds that deals have waited for rows to be read."""

    is_growing: bool = False
    """Whether further rows are being read."""

    def __init__(
        self,
        size: int,
        rng: np.random.Generator,
        strata: npt.NDArray[np.unsignedinteger] | None = None,
        min_class_rows: int = 1,
        outlook: Outlook | None = None,
    ) -> None:
        self.size = size
        self.pool_size = size
        self.outlook = outlook or Outlook()
        self.rng = rng
        self.resume_point: ResumePoint | None = None
        self.notes: dict[str, Any] = {}
        self.validation_rows: Rows | None = None
        self.holdout_rows: Rows | None = None
        self.can_refit = True
        # Without held-out rows, and if they are the last ones, the others need no list.
        self._dealt_rows: Rows | None = None
        self._strata = strata
        self._min_class_rows = min_class_rows
        self._row_dtype: type[np.integer[Any]] = np.int32 if size < 2**31 else np.int64
        self._was_dealt = np.zeros(size, dtype=np.bool_)
        self._n_undealt = size
        self._shuffled: Rows | None = None
        self._discarded: list[Rows] = []
        self._top: Rows = np.zeros(0, dtype=self._row_dtype)

    @property
    def left(self) -> int:
        """Number of rows that can still be dealt, including discarded ones."""
        return len(self._top) + self._n_undealt + sum(map(len, self._discarded))

    @property
    def rows(self) -> Rows:
        """Every row that can be dealt, in the order of the pool."""
        return np.arange(self.size, dtype=self._row_dtype) if self._dealt_rows is None else self._dealt_rows

    def hold_out(self, validation_rows: Rows, holdout_rows: Rows, *, can_refit: bool = True) -> None:
        """Never deal these rows; to be called before anything is dealt.

        Parameters
        ----------
        validation_rows, holdout_rows : array of int
            Rows that choose the model, and rows that estimate its score. A teacher may use the first ones of each,
            so both are in random order.
        can_refit : bool, default=True
            Whether a last fit of the best model may take them too.

        Examples
        --------
        >>> deck = Deck(5, np.random.default_rng(0))
        >>> deck.hold_out(np.array([3]), np.array([1]))
        >>> deck.size, deck.rows
        (3, array([0, 2, 4], dtype=int32))
        """
        self.validation_rows, self.holdout_rows, self.can_refit = validation_rows, holdout_rows, can_refit
        self._was_dealt[validation_rows] = True
        self._was_dealt[holdout_rows] = True
        self.size = self._n_undealt = self.pool_size - int(np.count_nonzero(self._was_dealt))
        if self._was_dealt[: self.size].any():
            self._dealt_rows = np.flatnonzero(~self._was_dealt).astype(self._row_dtype)

    def opening(self, first: FirstSize) -> Rows:
        """Deal the rows of a first lesson.

        They have the class proportions of the rows that can be dealt, and at least one row of each class among them.

        Parameters
        ----------
        first : int or float
            A number of rows (int) or a fraction of the pool (float). With a fraction, a pool of at
            most 500 rows is dealt whole.

        Returns
        -------
        array of int
            The rows, in random order; in the order of the pool if it is dealt whole.

        Raises
        ------
        ValueError
            If `first` is neither a positive number of rows nor a fraction in (0, 1].
        """
        count = _opening_size(first, self.size)
        strata = None if self._strata is None else self._strata[self._dealt_index]
        if strata is not None:
            min_class_rows = 1 if isinstance(first, Integral) else self._min_class_rows
            count = max(count, _min_opening_size(_count_rows_by_class(strata), min_class_rows))
        rows: Rows
        if count >= self.size:
            rows = self.rows
        elif strata is None:
            rows = self._draw_undealt(count)
        else:
            rows = self._find_rows(_sample_stratified(strata, count, self.rng)).astype(self._row_dtype)
        self._mark_dealt(rows)
        return rows

    def deal(self, count: int) -> Rows:
        """Deal `count` random rows, or all that are left if these are fewer.

        Raises
        ------
        OutOfTime
            If the pool is so large that there is no time to shuffle it.
        """
        if len(self._top):
            rows, self._top = self._top[:count], self._top[count:]
            return np.concatenate([rows, self.deal(count - len(rows))]) if len(rows) < count else rows
        rows = self._draw_undealt(min(count, self._n_undealt))
        self._mark_dealt(rows)
        if len(rows) == count or not self._discarded:
            return rows
        self._shuffle_discarded()
        return np.concatenate([rows, self.deal(count - len(rows))])

    def sample(self, count: int) -> Rows:
        """Return `count` random rows with replacement, whether they were dealt or not."""
        return self._find_rows(self.rng.integers(self.size, size=count))

    def take(self, rows: Rows) -> Rows:
        """Take these rows out of the deck before anything was dealt, and return them."""
        self._was_dealt[rows] = True
        self._n_undealt = self.pool_size - int(np.count_nonzero(self._was_dealt))
        return rows

    def put_back(self, rows: Rows) -> None:
        """Put rows that were just dealt back on top: they are the next to be dealt."""
        self._top = np.concatenate([rows, self._top])

    def discard(self, rows: Rows) -> None:
        """Put dealt rows aside; they come back when all rows were dealt."""
        if len(rows):
            self._discarded.append(rows)

    def pick(self, rows: Rows, count: int) -> tuple[Rows, Rows]:
        """Split `rows` into `count` random ones and the others, both in their order."""
        is_chosen = np.zeros(len(rows), dtype=np.bool_)
        is_chosen[self.rng.permutation(len(rows))[:count]] = True
        return rows[is_chosen], rows[~is_chosen]

    @property
    def _dealt_index(self) -> slice | Rows:
        """Index of the rows that can be dealt into a column of the pool; a slice copies nothing."""
        return slice(self.size) if self._dealt_rows is None else self._dealt_rows

    def _find_rows(self, numbers: Rows) -> Rows:
        """Return the rows at these places among the rows that can be dealt."""
        return numbers if self._dealt_rows is None else self._dealt_rows[numbers]

    def _mark_dealt(self, rows: Rows) -> None:
        self._was_dealt[rows] = True
        self._n_undealt -= len(rows)

    def _draw_undealt(self, count: int) -> Rows:
        """Return `count` random rows that were not dealt, without marking them."""
        # The work should grow with the rows asked for, not with the pool. So a large pool is sampled with
        # rejection, and its undealt rows are listed only once an eighth of them was used.
        n_used = self.size - self._n_undealt + count
        if self._shuffled is None and (self.size <= _SHUFFLED_POOL_ROWS or 8 * n_used > self.size):
            is_large = self.size > _SHUFFLED_POOL_ROWS
            if is_large and self.outlook.seconds_left < _SHUFFLE_SECONDS_PER_ROW * self.size:
                raise OutOfTime("the teacher was still choosing rows")
            self._shuffled = np.flatnonzero(~self._was_dealt).astype(self._row_dtype)
            self.rng.shuffle(self._shuffled)
        if self._shuffled is not None:
            rows, self._shuffled = self._shuffled[:count], self._shuffled[count:]
            return rows
        rows = self._find_rows(_sample_distinct(self.size, 2 * count + 8, self.rng))
        rows = rows[~self._was_dealt[rows]][:count]
        while len(rows) < count:
            more = self._find_rows(_sample_distinct(self.size, 2 * count + 8, self.rng))
            rows = drop_repeats(np.concatenate([rows, more[~self._was_dealt[more]]]))[:count]
        return rows.astype(self._row_dtype)

    def _shuffle_discarded(self) -> None:
        rows = np.concatenate(self._discarded)
        self._discarded = []
        self._was_dealt[rows] = False
        self._n_undealt += len(rows)
        self._shuffled = self.rng.permutation(rows)


def check_fraction(alpha: float) -> None:
    """Raise a ValueError if alpha is not a number in [0, 1]."""
    if not (isinstance(alpha, Real) and 0 <= alpha <= 1):
        raise ValueError(
            f"alpha must be a number in [0, 1], the fraction of new training rows that are hard for the last model; "
            f"got {alpha!r}."
        )


def _opening_size(first: FirstSize, pool_size: int) -> int:
    """Return `first` as a number of rows; raise a ValueError if it is none."""
    if isinstance(first, Integral) and not isinstance(first, bool) and first > 0:
        return int(first)
    if isinstance(first, Real) and not isinstance(first, Integral) and 0 < first <= 1:
        return pool_size if pool_size <= SMALL_POOL_ROWS else max(1, round(float(first) * pool_size))
    raise ValueError(f"first must be a positive number of rows (int) or a fraction in (0, 1] (float); got {first!r}.")


def _min_opening_size(class_counts: npt.NDArray[np.intp], min_class_rows: int) -> int:
    """Rows that hold every class, and enough of the rarest one unless that takes over a tenth of the pool."""
    present = class_counts[class_counts > 0]
    if min_class_rows == 1:
        return len(present)
    pool_size = int(class_counts.sum())
    return max(len(present), min(-(-min_class_rows * pool_size // int(present.min())), pool_size // 10))


def _sample_distinct(size: int, n_draws: int, rng: np.random.Generator) -> Rows:
    """Return the distinct ones of `n_draws` random numbers below `size`, in random order."""
    return drop_repeats(rng.integers(size, size=n_draws, dtype=np.intp))


def drop_repeats(rows: Rows) -> Rows:
    """Return the distinct rows in the order of their first occurrence."""
    _, first_positions = np.unique(rows, return_index=True)
    return rows[np.sort(first_positions)]


def _sample_stratified(strata: npt.NDArray[np.unsignedinteger], count: int, rng: np.random.Generator) -> Rows:
    """Return `count` random rows in the class proportions of the pool, at least one of every class."""
    quotas = _allocate_quotas(_count_rows_by_class(strata), count)
    is_small_sample = 8 * count < len(strata)
    candidates = _sample_distinct(len(strata), 4 * count, rng) if is_small_sample else rng.permutation(len(strata))
    chosen, missing = _take_up_to_quotas(strata, candidates, quotas)
    if missing.any():
        # The candidates hold too few rows of some rare classes: search the whole pool, once, for these classes.
        rare = rng.permutation(np.flatnonzero((missing > 0)[strata]))
        refilled, _ = _take_up_to_quotas(strata, rare, np.where(missing > 0, quotas, 0))
        chosen = np.concatenate([chosen[(missing == 0)[strata[chosen]]], refilled])
    return rng.permutation(chosen)


def _count_rows_by_class(strata: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.intp]:
    n_classes = int(strata.max()) + 1
    counts = np.zeros(n_classes, dtype=np.intp)
    for start in range(0, len(strata), _COUNTED_CODES):
        counts += np.bincount(strata[start : start + _COUNTED_CODES], minlength=n_classes)
    return counts


def _take_up_to_quotas(
    strata: npt.NDArray[np.unsignedinteger], candidates: Rows, quotas: npt.NDArray[np.intp]
) -> tuple[Rows, npt.NDArray[np.intp]]:
    """Return the first candidates of each class up to its quota, and the rows that each class still misses."""
    by_class = candidates[np.argsort(strata[candidates], kind="stable")]
    counts = np.bincount(strata[candidates], minlength=len(quotas))
    rank_in_class = np.arange(len(by_class)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_class[rank_in_class < np.repeat(quotas, counts)], np.maximum(quotas - counts, 0)


def _allocate_quotas(class_counts: npt.NDArray[np.intp], total: int) -> npt.NDArray[np.intp]:
    """Return the rows to take of each class: proportional by largest remainder, and at least one of each."""
    exact = class_counts * (total / class_counts.sum())
    quotas: npt.NDArray[np.intp] = np.maximum(np.floor(exact).astype(np.intp), class_counts > 0)
    by_remainder = np.argsort(np.floor(exact) - exact, kind="stable")
    rounded_down = by_remainder[quotas[by_remainder] < exact[by_remainder]]
    quotas[rounded_down[: max(0, total - int(quotas.sum()))]] += 1
    while quotas.sum() > total:
        # Rare classes were rounded up to one row; the largest classes make up for it.
        quotas[np.argmax(quotas)] -= 1
    return quotas
