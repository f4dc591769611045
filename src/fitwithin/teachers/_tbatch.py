"""TBatch, the oracle that knows how many rows fit: one batch of that many."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Self

from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck


class TBatch(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """One lesson of m* random rows, the most that can be learned in the time; for analysis.

    Parameters
    ----------
    rows : int
        m*; a smaller pool is taught whole.

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
    def within(cls, seconds: float, seconds_of: Callable[[int], float], most: int) -> Self:
        """The oracle, to within 1 %, for a learner whose cost can be asked for, outside of any clock.

        Parameters
        ----------
        seconds : float
            The time limit.
        seconds_of : callable
            What training on so many rows takes, which should not fall with the rows: a formula, or a measurement.
        most : int
            Rows in the pool.

        Raises
        ------
        ValueError
            If not even one row can be learned in the time.

        Examples
        --------
        >>> from fitwithin.teachers import TBatch
        >>> TBatch.within(10.0, seconds_of=lambda rows: rows**2 / 1000, most=1_000_000)
        TBatch(rows=100)
        """
        alone = seconds_of(1)
        if alone > seconds:
            raise ValueError(f"Training on a single row takes {alone:g} s, more than the {seconds:g} s there are.")
        fits, fails = 1, most + 1
        while fails - fits > max(1, fits // 100):
            # From below, so that nothing is measured that takes much longer than what fits.
            middle = min(2 * fits, most if fails > most else (fits + fails) // 2)
            fits, fails = (middle, fails) if seconds_of(middle) <= seconds else (fits, middle)
        return cls(fits)

    def teach(self, deck: Deck) -> Requests:
        """Yield the one lesson."""
        if not isinstance(self.rows, Integral) or isinstance(self.rows, bool) or self.rows < 1:
            raise ValueError(f"rows must be a positive number of rows (int); got {self.rows!r}.")
        yield Lesson(deck.opening(int(self.rows)))
        return "all rows"
