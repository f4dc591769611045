"""The rows of a pool as a deck of cards, and the checks of the sizes that teachers take."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfTime
from fitwithin._core.records import Rows
from fitwithin._core.rounds import ResumePoint
from fitwithin._core.target import count_codes
from fitwithin.teachers._dealable_rows import DealableRows
from fitwithin.teachers._random_order import LazyPile, make_pile
from fitwithin.teachers._stratified_sample import min_opening_size, sample_stratified

FirstSize = int | float
"""Size of the first lesson: a number of rows (int) or a fraction of the pool (float)."""

# Rows of a pool that is taught whole; the default fraction of it would be two or three rows.
SMALL_POOL_ROWS = 500

# Seconds that dealing a row of a large pool takes, with room. A deal cannot be interrupted.
_DEAL_SECONDS_PER_ROW = 4e-8


class Deck:
    """Deals row numbers at random, each at most once until all have been dealt.

    When every row has been dealt, discarded ones are shuffled and come back. A teacher keeps the
    rows it teaches and discards those it only examined. For a large pool, time and memory grow with the
    rows that are dealt, not with the pool.

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
    costs : CostEstimates, optional
        What the teacher can afford; by default there is no limit.
    class_counts : array of int, optional
        How often each class occurs in `strata`, if that is known; otherwise it is counted.

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
        costs: CostEstimates | None = None,
        class_counts: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self.size = size
        self.pool_size = size
        self.costs = costs or CostEstimates()
        self.rng = rng
        self.resume_point: ResumePoint | None = None
        self.notes: dict[str, Any] = {}
        self.validation_rows: Rows | None = None
        self.holdout_rows: Rows | None = None
        self.can_refit = True
        self._strata = strata
        self._min_class_rows = min_class_rows
        self._class_counts = class_counts
        self._row_dtype: type[np.integer[Any]] = np.int32 if size < 2**31 else np.int64
        self._dealable = DealableRows(size)
        self._pile = make_pile(size, rng)
        # Discarded rows that the pile consists of; None while it consists of rows that were never dealt.
        self._recycled: Rows | None = None
        self._discarded: list[Rows] = []
        self._top: Rows = np.zeros(0, dtype=self._row_dtype)

    @property
    def left(self) -> int:
        """Number of rows that can still be dealt, including discarded ones."""
        return len(self._top) + self._pile.left + sum(map(len, self._discarded))

    @property
    def rows(self) -> Rows:
        """Every row that can be dealt, in the order of the pool."""
        return self._dealable.list()

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
        self._dealable = DealableRows(self.pool_size, np.concatenate([validation_rows, holdout_rows]))
        self.size = len(self._dealable)
        self._pile = make_pile(self.size, self.rng)

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
        count = opening_size(first, self.size)
        if self._strata is None:
            return self._draw(count) if count < self.size else self._take_all()
        class_counts = self._count_classes(self._strata)
        min_class_rows = 1 if isinstance(first, Integral) else self._min_class_rows
        count = max(count, min_opening_size(class_counts, min_class_rows))
        if count >= self.size:
            return self._take_all()
        rows = sample_stratified(self._strata, self._dealable, class_counts, count, self.rng)
        return self.take(rows.astype(self._row_dtype))

    def deal(self, count: int) -> Rows:
        """Deal `count` random rows, or all that are left if these are fewer.

        Raises
        ------
        OutOfTime
            If there is no time to choose so many rows.
        """
        if len(self._top):
            rows, self._top = self._top[:count], self._top[count:]
            return np.concatenate([rows, self.deal(count - len(rows))]) if len(rows) < count else rows
        rows = self._draw(count)
        if len(rows) == count or not self._discarded:
            return rows
        self._recycled, self._discarded = np.concatenate(self._discarded), []
        self._pile = make_pile(len(self._recycled), self.rng)
        return np.concatenate([rows, self.deal(count - len(rows))])

    def sample(self, count: int) -> Rows:
        """Return `count` random rows with replacement, whether they were dealt or not."""
        return self._dealable.find_rows(self.rng.integers(self.size, size=count))

    def take(self, rows: Rows) -> Rows:
        """Take these rows out of the deck before anything was dealt, and return them."""
        self._pile.remove(self._dealable.find_numbers(rows))
        return rows

    def put_back(self, rows: Rows) -> None:
        """Put rows that were just dealt back on top: they are the next to be dealt."""
        self._top = np.concatenate([rows, self._top])

    def discard(self, rows: Rows) -> None:
        """Put dealt rows aside; they come back when all rows have been dealt."""
        if len(rows):
            self._discarded.append(rows)

    def pick(self, rows: Rows, count: int) -> tuple[Rows, Rows]:
        """Split `rows` into `count` random ones and the others, both in their order."""
        is_chosen = np.zeros(len(rows), dtype=np.bool_)
        is_chosen[self.rng.permutation(len(rows))[:count]] = True
        return rows[is_chosen], rows[~is_chosen]

    def _draw(self, count: int) -> Rows:
        """Take random rows out of the pile, and return them."""
        if isinstance(self._pile, LazyPile) and self.costs.seconds_left < _DEAL_SECONDS_PER_ROW * count:
            raise OutOfTime("the teacher was still choosing rows")
        numbers = self._pile.draw(count)
        rows = self._dealable.find_rows(numbers) if self._recycled is None else self._recycled[numbers]
        return rows.astype(self._row_dtype, copy=False)

    def _take_all(self) -> Rows:
        self._pile = make_pile(0, self.rng)
        return self.rows

    def _count_classes(self, strata: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.intp]:
        """Return how many rows of each class can be dealt."""
        if self._class_counts is None:
            self._class_counts = count_codes(strata, int(strata.max()) + 1)
        if self.validation_rows is None or self.holdout_rows is None:
            return self._class_counts
        held_out = np.union1d(self.validation_rows, self.holdout_rows)
        return self._class_counts - count_codes(strata[held_out], len(self._class_counts))


def check_fraction(alpha: float) -> None:
    """Raise a ValueError if alpha is not a number in [0, 1]."""
    if not (isinstance(alpha, Real) and 0 <= alpha <= 1):
        raise ValueError(
            f"alpha must be a number in [0, 1], the fraction of new training rows that are hard for the last model; "
            f"got {alpha!r}."
        )


def opening_size(first: FirstSize, pool_size: int) -> int:
    """Return `first` as a number of rows; raise a ValueError if it is none."""
    if isinstance(first, Integral) and not isinstance(first, bool) and first > 0:
        return int(first)
    if isinstance(first, Real) and not isinstance(first, Integral) and 0 < first <= 1:
        return pool_size if pool_size <= SMALL_POOL_ROWS else max(1, round(float(first) * pool_size))
    raise ValueError(f"first must be a positive number of rows (int) or a fraction in (0, 1] (float); got {first!r}.")
