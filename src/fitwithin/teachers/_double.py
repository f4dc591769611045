"""Double: random rows, twice as many in each round."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns
from fitwithin._pools.decks.deck import Deck, FirstSize
from fitwithin.teachers._base import Requests


class Double(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Teach lessons of m0, 2 m0, 4 m0, ... random rows, and return the last model.

    Parameters
    ----------
    first : int or float, default=0.005
        m0, the rows of the first lesson: a number of rows (int) or a fraction of the pool (float). With a
        fraction, a pool of at most 500 rows is taught whole.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Deck, Double
    >>> [len(lesson.rows) for lesson in Double(first=3).teach(Deck(20, np.random.default_rng(0)))]
    [3, 6, 12, 20]
    """

    returns: Returns = "last"

    def __init__(self, *, first: FirstSize = 0.005) -> None:
        self.first = first

    def teach(self, deck: Deck) -> Requests:
        """Yield lessons that double until they hold every row."""
        lesson = deck.opening(self.first)
        yield Lesson(lesson)
        while deck.left:
            lesson = np.concatenate([lesson, deck.deal(len(lesson))])
            yield Lesson(lesson)
        return "all rows"
