"""The rows of a pool as a deck of cards, and the sizes that teachers take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Rows
from fitwithin._core.rounds import ResumePoint
from fitwithin._pools.decks.table_pile import TablePile

if TYPE_CHECKING:
    from fitwithin._pools.decks.block_pile import BlockPile

FirstSize = int | float  # of the first lesson: a number of rows (int) or a fraction of the pool (float)

SMALL_POOL_ROWS = 500  # of a pool that is taught whole; the default fraction of it would be two or three rows
_SIZE_RATIO = 1.1  # between two sizes that are considered

# Validation rows, which are not taught before the end. There are as many holdout rows.
_VALIDATION_ONE_IN = 40  # rows of the pool for each validation row
_MAX_VALIDATION_ROWS = 2_000  # the standard error of an accuracy is 1.1 % at most
_MIN_VALIDATION_ROWS = 500
_SMALL_POOL_VALIDATION_ONE_IN = 20  # rows of the pool for each one, where `_MIN_VALIDATION_ROWS` would be more


class Deck:
    """Deals row numbers at random, each at most once until all have been dealt; then discarded ones come back.

    Parameters
    ----------
    size : int
        Number of rows in the pool.
    rng : numpy.random.Generator
        The only source of randomness, for the deck and for its teacher.
    strata, class_counts : array of int, optional
        The class of each row as a small number, and how often each occurs. The opening lesson then holds every class.
    min_class_rows : int, default=1
        Rows of the rarest class in an opening lesson, which grows for that up to a tenth of the pool.
    costs : CostEstimates, optional
        What the teacher can afford; by default there is no limit.
    pile : TablePile or BlockPile, optional
        Deals the rows of another pool than a table, in the place of `strata` and `class_counts`.

    Attributes
    ----------
    pool_size : int
        Rows of the pool, with the held-out ones.
    resume_point : ResumePoint or None
        Where an earlier fit on the same rows ended; a teacher may resume there, or begin again.
    notes : dict
        Small facts that a teacher wants back in the resume point of a later fit: text, numbers and booleans.
    complete_opening : callable or None
        Called with the rows of a first lesson and with `sample`; returns rows to add to the lesson.

    Examples
    --------
    >>> import numpy as np
    >>> deck = Deck(4, np.random.default_rng(0))
    >>> len(deck.deal(3)), deck.left
    (3, 1)
    """

    def __init__(
        self,
        size: int,
        rng: np.random.Generator,
        strata: npt.NDArray[np.unsignedinteger] | None = None,
        min_class_rows: int = 1,
        costs: CostEstimates | None = None,
        class_counts: npt.NDArray[np.intp] | None = None,
        *,
        pile: TablePile | BlockPile | None = None,
    ) -> None:
        self.pool_size, self.rng, self.costs = size, rng, costs or CostEstimates()
        self.resume_point: ResumePoint | None = None
        self.notes: dict[str, Any] = {}
        self.complete_opening: Callable[[Rows, Callable[[int], Rows]], Rows] | None = None
        self._held_out: tuple[Rows, Rows] | None = None
        self._can_refit = True
        self._min_class_rows = min_class_rows
        self.pile = TablePile(size, rng, strata, class_counts, self.costs) if pile is None else pile
        row_type = np.int32 if size < 2**31 else np.int64
        self._top: Rows = np.zeros(0, dtype=row_type)  # that were put back
        self._recycled: Rows = self._top  # discarded rows that are dealt again
        self._discarded: list[Rows] = []  # since then

    @property
    def size(self) -> int:
        """Rows that can be dealt, without the held-out ones."""
        return self.pile.size

    @property
    def left(self) -> int:
        """Number of rows that can still be dealt, including discarded ones and those that are still to be read."""
        return len(self._top) + self.pile.left + len(self._recycled) + sum(map(len, self._discarded))

    @property
    def rows(self) -> Rows:
        """Every row that can be dealt, in the order of the pool; of a data set on disk, once all have been read."""
        return self.pile.list_rows()

    @property
    def is_growing(self) -> bool:
        """Whether further rows are being read."""
        return self.pile.is_growing

    @property
    def can_refit(self) -> bool:
        """Whether a last fit of the best model may take every row, the held-out ones too."""
        return self._can_refit and self.pile.is_complete

    @property
    def validation_rows(self) -> Rows | None:
        """Rows that the user chose for validation, as far as they have been read; None if the teacher may choose."""
        return None if self._held_out is None else self.pile.keep_read(self._held_out[0])

    @property
    def holdout_rows(self) -> Rows | None:
        """Rows that the user chose for holdout, as far as they have been read; None if the teacher may choose."""
        return None if self._held_out is None else self.pile.keep_read(self._held_out[1])

    def hold_out(self, validation_rows: Rows, holdout_rows: Rows, *, can_refit: bool = True) -> None:
        """Never deal these rows, which are in random order; to be called before anything is dealt."""
        self._held_out, self._can_refit = (validation_rows, holdout_rows), can_refit
        self.pile.hold_out(np.concatenate([validation_rows, holdout_rows]))

    def opening(self, first: FirstSize) -> Rows:
        """Deal the rows of a first lesson, in the class proportions of the deck and with every class of it.

        With a fraction (float), a pool of at most 500 rows is dealt whole, in its own order.
        """
        count = opening_size(first, self.size)
        rows = self.pile.draw_first(count, 1 if isinstance(first, Integral) else self._min_class_rows)
        if self.complete_opening is not None and len(rows) < self.size:
            more = self.complete_opening(rows, self.sample)
            self.pile.remove(more)
            rows = np.concatenate([rows, more.astype(rows.dtype)])
        return rows

    def deal(self, count: int) -> Rows:
        """Deal `count` random rows, or all that are left or read in time; raise `OutOfTime` if none can be."""
        rows, self._top = self._top[:count], self._top[count:]
        if len(rows) < count:
            rows = np.concatenate([rows, self.pile.draw(count - len(rows))])
        while len(rows) < count and (len(self._recycled) or self._discarded):
            if not len(self._recycled):
                self._recycled, self._discarded = self.rng.permutation(np.concatenate(self._discarded)), []
            again, self._recycled = self._recycled[: count - len(rows)], self._recycled[count - len(rows) :]
            self.pile.count_in_use(again, 1)
            rows = np.concatenate([rows, again])
        return rows

    def sample(self, count: int) -> Rows:
        """Return `count` random rows with replacement, whether they were dealt or not."""
        return self.pile.sample(count)

    def take(self, rows: Rows) -> Rows:
        """Take these rows out of the deck before anything was dealt, and return them."""
        self.pile.remove(rows)
        return rows

    def put_back(self, rows: Rows) -> None:
        """Put rows that were just dealt back on top: they are the next to be dealt."""
        self._top = np.concatenate([rows, self._top])

    def discard(self, rows: Rows) -> None:
        """Put dealt rows aside; they come back when all rows have been dealt."""
        if len(rows):
            self._discarded.append(rows)
            self.pile.count_in_use(rows, -1)

    def pick(self, rows: Rows, count: int) -> tuple[Rows, Rows]:
        """Split `rows` into `count` random ones and the others, both in their order."""
        is_chosen = np.zeros(len(rows), dtype=np.bool_)
        is_chosen[self.rng.permutation(len(rows))[:count]] = True
        return rows[is_chosen], rows[~is_chosen]


def check_fraction(alpha: float) -> None:
    """Raise a ValueError if alpha is not a number in [0, 1]."""
    if not (isinstance(alpha, Real) and 0 <= alpha <= 1):
        meaning = "the fraction of new training rows that are hard for the last model"
        raise ValueError(f"alpha must be a number in [0, 1], {meaning}; got {alpha!r}.")


def opening_size(first: FirstSize, pool_size: int) -> int:
    """Return `first` as a number of rows; raise a ValueError if it is none."""
    if isinstance(first, Integral) and not isinstance(first, bool) and first > 0:
        return int(first)
    if isinstance(first, Real) and not isinstance(first, Integral) and 0 < first <= 1:
        return pool_size if pool_size <= SMALL_POOL_ROWS else max(1, round(float(first) * pool_size))
    raise ValueError(f"first must be a positive number of rows (int) or a fraction in (0, 1] (float); got {first!r}.")


def list_sizes(largest: int, smallest: float = 1, ratio: float = _SIZE_RATIO) -> Iterator[int]:
    """Yield sizes from the largest down to the smallest."""
    size = largest
    while size >= max(1, smallest):
        yield size
        size = min(size - 1, int(size / ratio))


def find_largest_size(largest: int, is_possible: Callable[[int], bool], smallest: float = 1) -> int:
    """Return the largest possible size of those that `list_sizes` yields; 0 if none is."""
    return next((size for size in list_sizes(largest, smallest) if is_possible(size)), 0)


def count_validation_rows(pool_size: int) -> int:
    """Return the number of validation rows, and of holdout rows, that Auto keeps back of a pool."""
    least = min(_MIN_VALIDATION_ROWS, pool_size // _SMALL_POOL_VALIDATION_ONE_IN)
    return min(_MAX_VALIDATION_ROWS, max(pool_size // _VALIDATION_ONE_IN, least))
