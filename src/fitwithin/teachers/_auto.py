"""Auto: the teacher that is used when none is named."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from .._selection import Returns
from ._base import Requests
from ._deck import Deck
from ._tct import TCT


class Auto(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The default. It teaches as `TCT` with its own defaults does.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Auto, Deck
    >>> len(next(Auto().teach(Deck(10_000, np.random.default_rng(0)))).rows)
    50
    """

    returns: Returns = "best"

    def teach(self, deck: Deck) -> Requests:
        """Yield TCT's lessons and exams."""
        return TCT().teach(deck)
