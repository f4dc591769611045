"""TBatch: one batch of as many rows as the time allows, which an oracle knows."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Self

from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import Requests


class TBatch(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Teach one lesson of m* random rows, the most that can be learned in the time; for analysis.

    Parameters
    ----------
    rows : int
        m*. A smaller pool is taught whole.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Deck, TBatch
    >>> [len(lesson.rows) for lesson in TBatch(rows=7).teach(Deck(100, np.random.default_rng(0)))]
    [7]
    """

    returns: Returns = "last"

    def __init__(self, rows: int) -> None:
        self.rows = rows

    @classmethod
    def from_time_limit(cls, seconds: float, fit_seconds: Callable[[int], float], max_rows: int) -> Self:
        """Find m* to within 1 % from training times; the search itself has no time limit.

        Parameters
        ----------
        seconds : float
            The time limit.
        fit_seconds : callable
            Takes a number of rows and returns the seconds of training on them, by a formula or a
            measurement. It should not decrease with the rows.
        max_rows : int
            Rows in the pool.

        Returns
        -------
        TBatch
            A teacher with ``rows`` set to m*.

        Raises
        ------
        ValueError
            If training on one row takes longer than `seconds`.

        Examples
        --------
        >>> from fitwithin.teachers import TBatch
        >>> TBatch.from_time_limit(10.0, fit_seconds=lambda rows: rows**2 / 1000, max_rows=1_000_000)
        TBatch(rows=100)
        """
        one_row_seconds = fit_seconds(1)
        if one_row_seconds > seconds:
            raise ValueError(
                f"Training on a single row takes {one_row_seconds:g} s, more than the time limit of {seconds:g} s. "
                "Set a longer one."
            )
        fits, too_many = 1, max_rows + 1
        while too_many - fits > max(1, fits // 100):
            # Search from below, so that no measurement takes much longer than the time limit.
            middle = min(2 * fits, max_rows if too_many > max_rows else (fits + too_many) // 2)
            fits, too_many = (middle, too_many) if fit_seconds(middle) <= seconds else (fits, middle)
        return cls(fits)

    def teach(self, deck: Deck) -> Requests:
        """Yield one lesson of m* rows."""
        if not isinstance(self.rows, Integral) or isinstance(self.rows, bool) or self.rows < 1:
            raise ValueError(f"rows must be a positive number of rows (int); got {self.rows!r}.")
        yield Lesson(deck.opening(int(self.rows)))
        return "all rows"
