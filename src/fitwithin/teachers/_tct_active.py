"""TCT_AL: TCT with the rows that the model is least sure of in place of its mistakes."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Answers, Lesson, Returns, Rows, examine
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck, FirstSize, check_fraction


class TCTActive(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Rounds that double the lesson, with a share of rows that the model is least sure of.

    Needs a learner with `predict_proba`.

    Parameters
    ----------
    alpha : float, default=0.2
        Share of the new rows of each round that have the smallest gap between the probabilities of
        the two likeliest classes, in [0, 1].
    first : int or float, default=0.005
        Rows of the first lesson: an int is rows, a float a share of the pool, and then a pool of
        at most 500 rows is taught whole.

    Notes
    -----
    TCT_AL of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro). Rows that were examined
    but not taught come back when every row has been examined.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Deck, TCTActive
    >>> requests = TCTActive(first=4).teach(Deck(1000, np.random.default_rng(0)))
    >>> len(next(requests).rows)
    4
    >>> len(requests.send(None).rows)
    8
    """

    returns: Returns = "best"
    needs = ("predict_proba",)
    classes_only = True

    def __init__(self, *, alpha: float = 0.2, first: FirstSize = 0.005) -> None:
        self.alpha = alpha
        self.first = first

    def teach(self, deck: Deck) -> Requests:
        """Yield lessons, and an exam of twice their rows."""
        check_fraction(self.alpha)
        lesson = deck.opening(self.first)
        while True:
            yield Lesson(lesson)
            if not deck.left:
                return "all rows"
            answers = yield from examine(deck.deal(2 * len(lesson)), margins=True)
            lesson = np.concatenate([lesson, *self._choose(deck, len(lesson), answers)])

    def _choose(self, deck: Deck, rows: int, answers: Answers) -> tuple[Rows, Rows]:
        """The least certain rows, and random others."""
        if answers.margins is None:
            raise TypeError("TCTActive must be sent Answers with margins; got none.")
        by_margin = np.argsort(answers.margins, kind="stable")
        unsure, others = np.split(by_margin, [round(self.alpha * rows)])
        random, rest = deck.pick(others, rows - len(unsure))
        deck.discard(answers.rows[rest])
        return answers.rows[unsure], answers.rows[random]
