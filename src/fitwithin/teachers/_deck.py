"""The rows of a pool as a deck of cards: dealt at random, discarded, dealt again."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.cost import Outlook
from fitwithin._core.records import Rows

First = int | float
"""The size of a first lesson: rows, or a share of the pool."""


_SMALL = 500


_LARGE = 2_000_000


_PIECE = 1 << 18


class Deck:
    """Deals row numbers at random, each at most once until all were dealt.

    When every row has been dealt, discarded ones are shuffled and come back. A teacher keeps the
    rows it teaches and discards those it only examined.

    Parameters
    ----------
    size : int
        Rows in the pool.
    rng : numpy.random.Generator
        The only source of chance, for the deck and for its teacher.
    strata : array of int, optional
        The class of each row as a small number; the opening lesson then holds every class.
    least : int, default=1
        How many rows of the rarest class an opening lesson that is a share of the pool should hold; it
        grows for that, up to a tenth of the pool.
    outlook : Outlook, optional
        What the teacher may afford; without one there is time for everything.

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

    def __init__(
        self,
        size: int,
        rng: np.random.Generator,
        strata: npt.NDArray[np.unsignedinteger] | None = None,
        least: int = 1,
        outlook: Outlook | None = None,
    ) -> None:
        self.size = size
        self.outlook = outlook or Outlook()
        self.rng = rng
        self._strata = strata
        self._least = least
        self._numbers: type[np.integer[Any]] = np.int32 if size < 2**31 else np.int64
        self._dealt = np.zeros(size, dtype=np.bool_)
        self._undealt = size
        self._pile: Rows | None = None
        self._discarded: list[Rows] = []

    @property
    def left(self) -> int:
        """Rows that can still be dealt, discarded ones included."""
        return self._undealt + sum(map(len, self._discarded))

    def opening(self, first: First) -> Rows:
        """The rows of a first lesson.

        At least one row of every class, and otherwise the pool's class proportions.

        Parameters
        ----------
        first : int or float
            An int is a number of rows; a float a share of the pool, and then a pool of at most 500
            rows is dealt whole.

        Raises
        ------
        ValueError
            If `first` is neither a positive number of rows nor a share in (0, 1].
        """
        wanted = self._opening_size(first)
        if self._strata is not None:
            least = 1 if isinstance(first, Integral) else self._least
            wanted = max(wanted, self._enough_of_each(_counts(self._strata), least))
        rows: Rows
        if wanted >= self.size:
            rows = np.arange(self.size, dtype=self._numbers)
        elif self._strata is None:
            rows = self._draw(wanted)
        else:
            rows = _stratified(self._strata, wanted, self.rng).astype(self._numbers)
        self._mark(rows)
        return rows

    def _enough_of_each(self, counts: npt.NDArray[np.intp], least: int) -> int:
        """Rows that hold every class, and the rarest one as often as is wanted if that is not too much."""
        present = counts[counts > 0]
        if least == 1:
            return len(present)
        return max(len(present), min(-(-least * self.size // int(present.min())), self.size // 10))

    def _opening_size(self, first: First) -> int:
        if isinstance(first, Integral) and not isinstance(first, bool) and first > 0:
            return int(first)
        if isinstance(first, Real) and not isinstance(first, Integral) and 0 < first <= 1:
            return self.size if self.size <= _SMALL else max(1, round(float(first) * self.size))
        raise ValueError(f"first must be a positive number of rows (int) or a share in (0, 1] (float); got {first!r}.")

    def deal(self, count: int) -> Rows:
        """So many random rows; fewer if fewer are left."""
        hand = self._draw(min(count, self._undealt))
        self._mark(hand)
        if len(hand) == count or not self._discarded:
            return hand
        self._shuffle_discarded()
        return np.concatenate([hand, self.deal(count - len(hand))])

    def discard(self, rows: Rows) -> None:
        """Put rows that were dealt but not taught aside; they come back when all were dealt."""
        if len(rows):
            self._discarded.append(rows)

    def pick(self, rows: Rows, count: int) -> tuple[Rows, Rows]:
        """So many of these rows at random, and the others in their order."""
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[self.rng.permutation(len(rows))[:count]] = True
        return rows[chosen], rows[~chosen]

    def _mark(self, rows: Rows) -> None:
        self._dealt[rows] = True
        self._undealt -= len(rows)

    def _draw(self, count: int) -> Rows:
        # Work in proportion to the rows asked for, not to the pool: in a large one propose and
        # reject, and list what is left only once a fair share of it is gone.
        used = self.size - self._undealt + count
        if self._pile is None and (self.size <= _LARGE or 8 * used > self.size):
            self._pile = np.flatnonzero(~self._dealt).astype(self._numbers)
            self.rng.shuffle(self._pile)
        if self._pile is not None:
            hand, self._pile = self._pile[:count], self._pile[count:]
            return hand
        hand = _distinct(self.size, 2 * count + 8, self.rng)
        hand = hand[~self._dealt[hand]][:count]
        while len(hand) < count:
            more = _distinct(self.size, 2 * count + 8, self.rng)
            hand = first_of_each(np.concatenate([hand, more[~self._dealt[more]]]))[:count]
        return hand.astype(self._numbers)

    def _shuffle_discarded(self) -> None:
        rows = np.concatenate(self._discarded)
        self._discarded = []
        self._dealt[rows] = False
        self._undealt += len(rows)
        self._pile = self.rng.permutation(rows)


def _distinct(size: int, count: int, rng: np.random.Generator) -> Rows:
    """About so many distinct numbers below `size`, in random order."""
    return first_of_each(rng.integers(size, size=count, dtype=np.intp))


def first_of_each(rows: Rows) -> Rows:
    """These rows without repeats, each where it came first."""
    _, where = np.unique(rows, return_index=True)
    return rows[np.sort(where)]


def _stratified(strata: npt.NDArray[np.unsignedinteger], count: int, rng: np.random.Generator) -> Rows:
    """Random rows in the pool's class proportions, at least one of every class."""
    quotas = _quotas(_counts(strata), count)
    candidates = _distinct(len(strata), 4 * count, rng) if 8 * count < len(strata) else rng.permutation(len(strata))
    chosen, missing = _fill(strata, candidates, quotas)
    if missing.any():
        # Rare classes that the candidates were short of: look through the whole pool, once, for those.
        rare = rng.permutation(np.flatnonzero((missing > 0)[strata]))
        refilled, _ = _fill(strata, rare, np.where(missing > 0, quotas, 0))
        chosen = np.concatenate([chosen[(missing == 0)[strata[chosen]]], refilled])
    return rng.permutation(chosen)


def _counts(strata: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.intp]:
    """Rows of each class, counted in pieces: counting all at once would widen every code first."""
    classes = int(strata.max()) + 1
    pieces = (strata[start : start + _PIECE] for start in range(0, len(strata), _PIECE))
    counts = np.zeros(classes, dtype=np.intp)
    for piece in pieces:
        counts += np.bincount(piece, minlength=classes)
    return counts


def _fill(
    strata: npt.NDArray[np.unsignedinteger], candidates: Rows, quotas: npt.NDArray[np.intp]
) -> tuple[Rows, npt.NDArray[np.intp]]:
    """The first candidates of each class up to its quota, and how many each class is short."""
    ordered = candidates[np.argsort(strata[candidates], kind="stable")]
    counts = np.bincount(strata[candidates], minlength=len(quotas))
    rank = np.arange(len(ordered)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ordered[rank < np.repeat(quotas, counts)], np.maximum(quotas - counts, 0)


def _quotas(counts: npt.NDArray[np.intp], total: int) -> npt.NDArray[np.intp]:
    """Rows for each class: proportional by largest remainder, at least one where there are any."""
    shares = counts * (total / counts.sum())
    quotas: npt.NDArray[np.intp] = np.maximum(np.floor(shares).astype(np.intp), counts > 0)
    by_remainder = np.argsort(np.floor(shares) - shares, kind="stable")
    open_to_more = by_remainder[quotas[by_remainder] < shares[by_remainder]]
    quotas[open_to_more[: max(0, total - int(quotas.sum()))]] += 1
    while quotas.sum() > total:
        # Rounding the rare classes up to one took more than there is: the largest give it back.
        quotas[np.argmax(quotas)] -= 1
    return quotas


def check_fraction(alpha: float) -> None:
    """Raise a ValueError if alpha is not a number in [0, 1]."""
    if not (isinstance(alpha, Real) and 0 <= alpha <= 1):
        raise ValueError(
            f"alpha must be a number in [0, 1], the fraction of new training rows that are hard for the last model; "
            f"got {alpha!r}."
        )
