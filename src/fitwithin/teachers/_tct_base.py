"""TCTBase, the stripped-down teacher that the paper's theorems are about: Algorithm 2."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Answers, Exam, Lesson, Returns, Rows, examine
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck, FirstSize, check_fraction


class TCTBase(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Adds 2, 4, 8, ... rows to a single one, with mistakes sampled until there are enough; for analysis.

    Rows are drawn from the pool as from a distribution, with replacement: one may be taught twice.

    Parameters
    ----------
    alpha : float, default=0.2
        Share of the new rows of each round that are mistakes of the last model, in [0, 1].
    first : int or float, default=1
        Rows of the first lesson: an int is rows, a float a share of the pool, and then a pool of
        at most 500 rows is taught whole. Every class of the pool is there at least once, since few
        learners can be trained on one.

    Notes
    -----
    Algorithm 2 of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro), with S_1 = S_0, which the paper does
    not say: round i trains on 2^i - 1 rows. A larger first lesson multiplies all sizes. It samples until
    it has found enough mistakes, however long that takes; here it gives up when it finds none in as many
    draws as there are rows.

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
        """Yield lessons that double, and exams that look for mistakes."""
        check_fraction(self.alpha)
        lesson = deck.opening(self.first)
        new = len(lesson)
        while True:
            yield Lesson(lesson)
            new *= 2
            wanted = round(self.alpha * new)
            unbiased = _sample(deck, new - wanted)
            wrong = yield from _mistakes(deck, wanted)
            if len(wrong) < wanted:
                return "no mistakes"
            lesson = np.concatenate([lesson, unbiased, wrong])


def _sample(deck: Deck, count: int) -> Rows:
    return deck.rng.integers(deck.size, size=count)


def _mistakes(deck: Deck, wanted: int) -> Generator[Exam, Answers | None, Rows]:
    """So many rows that the model gets wrong; fewer if it seems to get none wrong."""
    found: Rows = np.zeros(0, dtype=np.intp)
    count = wanted
    while len(found) < wanted:
        answers = yield from examine(_sample(deck, count))
        found = np.concatenate([found, answers.rows[answers.wrong]])
        if not answers.mistakes and count >= deck.size:
            break
        count = min(2 * count, max(deck.size, wanted))
    return found[:wanted]
