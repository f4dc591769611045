"""TCTBase, the simplified teacher of the paper's theorems: Algorithm 2."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns, Rows, examine
from fitwithin._pools.decks.deck import Deck, FirstSize, check_fraction
from fitwithin.teachers._base import Requests, Subgenerator


class TCTBase(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Add 2, 4, 8, ... rows to a single one, and sample until enough of them are mistakes; for analysis.

    Rows are drawn from the pool as from a distribution, with replacement: a row may be taught twice.

    Parameters
    ----------
    alpha : float, default=0.2
        Fraction of the new rows of each round that are mistakes of the last model, in [0, 1].
    first : int or float, default=1
        Rows of the first lesson: a number of rows (int) or a fraction of the pool (float). With a fraction, a
        pool of at most 500 rows is taught whole. The first lesson holds every class, since few learners can be
        trained on one class.

    Notes
    -----
    Algorithm 2 of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro), with S_1 = S_0, which the
    paper leaves open: round i trains on 2^i - 1 rows. A larger first lesson multiplies all sizes. Algorithm 2
    samples until it has found enough mistakes. Here it stops if as many draws as the pool has rows
    hold no mistake.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Deck, TCTBase
    >>> lessons = TCTBase(alpha=0.0).teach(Deck(1000, np.random.default_rng(0)))
    >>> [len(next(lessons).rows) for _ in range(5)]
    [1, 3, 7, 15, 31]
    """

    returns: Returns = "last"

    def __init__(self, *, alpha: float = 0.2, first: FirstSize = 1) -> None:
        self.alpha = alpha
        self.first = first

    def teach(self, deck: Deck) -> Requests:
        """Yield the lessons of Algorithm 2, and exams that search for mistakes."""
        check_fraction(self.alpha)
        lesson = deck.opening(self.first)
        n_new = len(lesson)
        while True:
            yield Lesson(lesson)
            n_new *= 2
            n_mistakes = round(self.alpha * n_new)
            unbiased = deck.sample(n_new - n_mistakes)
            mistakes = yield from _sample_mistakes(deck, n_mistakes)
            if len(mistakes) < n_mistakes:
                return "no mistakes"
            lesson = np.concatenate([lesson, unbiased, mistakes])


def _sample_mistakes(deck: Deck, count: int) -> Subgenerator[Rows]:
    """Return `count` rows that the model gets wrong, or fewer if it seems to be right on all rows."""
    found: Rows = np.zeros(0, dtype=np.intp)
    n_draws = count
    while len(found) < count:
        answers = yield from examine(deck.sample(n_draws))
        found = np.concatenate([found, answers.rows[answers.wrong]])
        if not answers.mistakes and n_draws >= deck.size:
            break
        n_draws = min(2 * n_draws, max(deck.size, count))
    return found[:count]
