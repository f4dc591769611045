"""Full: every row at once."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import Requests


class Full(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Teach one lesson of every row: plain training, under a deadline.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Deck, Full
    >>> [lesson.rows.tolist() for lesson in Full().teach(Deck(3, np.random.default_rng(0)))]
    [[0, 1, 2]]
    """

    returns: Returns = "last"

    def teach(self, deck: Deck) -> Requests:
        """Yield one lesson of every row."""
        yield Lesson(deck.opening(deck.size))
        return "all rows"
