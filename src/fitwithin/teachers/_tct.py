"""TCT, the Time Constrained Teacher: Algorithm 1 of the paper."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Answers, Lesson, Returns, Rows, examine
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck, FirstSize, check_fraction


class TCT(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Rounds that double the lesson, with a share of rows that the model gets wrong.

    Parameters
    ----------
    alpha : float, default=0.2
        Share of the new rows of each round that are mistakes of the last model, in [0, 1].
    first : int or float, default=0.005
        Rows of the first lesson: an int is rows, a float a share of the pool, and then a pool of
        at most 500 rows is taught whole.

    Notes
    -----
    Algorithm 1 of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro). Where its formulas
    degenerate: a first exam without a mistake counts as half a mistake when the second is sized,
    and a session ends with "no mistakes" only when the model was right on every row that it was
    not taught. Rows that were examined but not taught come back when every row has been examined.

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
            lesson = np.concatenate([lesson, *self._choose(deck, len(lesson), a1, a2)])

    def _second_exam_size(self, rows: int, a1: Answers) -> int:
        """Rows to examine so that both exams hold alpha * rows mistakes, in expectation."""
        mistakes = a1.mistakes or 0.5
        return round(self.alpha * rows * (len(a1.rows) - mistakes) / mistakes)

    def _choose(self, deck: Deck, rows: int, a1: Answers, a2: Answers) -> tuple[Rows, Rows]:
        """U, random rows of the first exam, and W, the mistakes of the others first."""
        u, others = deck.pick(np.arange(len(a1.rows)), round((1 - self.alpha) * rows))
        v = np.concatenate([a2.rows, a1.rows[others]])
        wrong = np.concatenate([a2.wrong, a1.wrong[others]])
        v = np.concatenate([v[wrong], v[~wrong]])
        w, rest = np.split(v, [rows - len(u)])
        deck.discard(rest)
        return a1.rows[u], w
