"""TCT, the Time Constrained Teacher: Algorithm 1 of the paper."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Answers, Lesson, Returns, Rows, examine
from fitwithin._pools.decks.deck import Deck, FirstSize, check_fraction
from fitwithin.teachers._base import Requests

# Mistakes to assume in a first exam without any, so that the size of the second one stays finite.
_ASSUMED_MISTAKES = 0.5


class TCT(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Double the lesson in each round; a fraction of the new rows are mistakes of the last model.

    Parameters
    ----------
    alpha : float, default=0.2
        Fraction of the new rows of each round that are mistakes of the last model, in [0, 1].
    first : int or float, default=0.005
        Rows of the first lesson: a number of rows (int) or a fraction of the pool (float). With a fraction, a
        pool of at most 500 rows is taught whole.

    Notes
    -----
    Algorithm 1 of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro), with two additions where its
    formulas degenerate. A first exam without a mistake counts as half a mistake when the second exam is
    sized. The teacher ends with "no mistakes" only when the model was right on every row that it was not
    taught. Rows that were examined but not taught come back when every row has been examined.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import TCT, Answers, Deck
    >>> requests = TCT(alpha=0.5, first=4).teach(Deck(1000, np.random.default_rng(0)))
    >>> len(next(requests).rows)
    4
    >>> exam = requests.send(None)
    >>> len(exam.rows)
    4
    """

    returns: Returns = "best"

    def __init__(self, *, alpha: float = 0.2, first: FirstSize = 0.005) -> None:
        self.alpha = alpha
        self.first = first

    def teach(self, deck: Deck) -> Requests:
        """Yield the lessons and exams of Algorithm 1."""
        check_fraction(self.alpha)
        lesson = deck.opening(self.first)
        while True:
            yield Lesson(lesson)
            if not deck.left:
                return "all rows"
            a1 = yield from examine(deck.deal(len(lesson)))
            a2 = yield from examine(deck.deal(self._second_exam_size(len(lesson), a1)))
            if not (a1.mistakes or a2.mistakes or deck.left):
                return "no mistakes"
            lesson = np.concatenate([lesson, *self._choose_new_rows(deck, len(lesson), a1, a2)])

    def _second_exam_size(self, n_new: int, a1: Answers) -> int:
        """Return the rows to examine so that both exams are expected to hold alpha * n_new mistakes."""
        mistakes = a1.mistakes or _ASSUMED_MISTAKES
        return round(self.alpha * n_new * (len(a1.rows) - mistakes) / mistakes)

    def _choose_new_rows(self, deck: Deck, n_new: int, a1: Answers, a2: Answers) -> tuple[Rows, Rows]:
        """Return U, random rows of the first exam, and W, other examined rows with mistakes first."""
        u, others = deck.pick(np.arange(len(a1.rows)), round((1 - self.alpha) * n_new))
        v = np.concatenate([a2.rows, a1.rows[others]])
        wrong = np.concatenate([a2.wrong, a1.wrong[others]])
        v = np.concatenate([v[wrong], v[~wrong]])
        w, rest = np.split(v, [n_new - len(u)])
        deck.discard(rest)
        return a1.rows[u], w
