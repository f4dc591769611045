"""TCT_AL: TCT with the rows that the model is least certain of in place of its mistakes."""

from __future__ import annotations

import numpy as np

from fitwithin._core.records import Answers, Lesson, Rows, examine
from fitwithin._pools.decks.deck import Deck, check_fraction
from fitwithin.teachers._base import Requests
from fitwithin.teachers._tct import TCT


class TCTActive(TCT):
    """Double the lesson in each round; a fraction of the new rows are those that the last model is least certain of.

    The learner needs `predict_proba`.

    Parameters
    ----------
    alpha : float, default=0.2
        Fraction of the new rows of each round that have the smallest margins, in [0, 1]. The margin is the
        gap between the probabilities of the two likeliest classes.
    first : int or float, default=0.005
        Rows of the first lesson: a number of rows (int) or a fraction of the pool (float). With a fraction, a
        pool of at most 500 rows is taught whole.

    Notes
    -----
    TCT_AL of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro). Rows that were examined but not
    taught come back when every row has been examined.

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

    needs = ("predict_proba",)
    classes_only = True

    def teach(self, deck: Deck) -> Requests:
        """Yield a lesson, and an exam on twice as many rows, in each round."""
        check_fraction(self.alpha)
        lesson = deck.opening(self.first)
        while True:
            yield Lesson(lesson)
            if not deck.left:
                return "all rows"
            answers = yield from examine(deck.deal(2 * len(lesson)), margins=True)
            lesson = np.concatenate([lesson, *self._choose_least_certain(deck, len(lesson), answers)])

    def _choose_least_certain(self, deck: Deck, n_new: int, answers: Answers) -> tuple[Rows, Rows]:
        """Return the least certain rows, and random ones of the others."""
        if answers.margins is None:
            raise TypeError("Answers came without margins, which TCTActive needs. Send Answers(rows, wrong, margins).")
        by_margin = np.argsort(answers.margins, kind="stable")
        uncertain, others = np.split(by_margin, [round(self.alpha * n_new)])
        random, rest = deck.pick(others, n_new - len(uncertain))
        deck.discard(answers.rows[rest])
        return answers.rows[uncertain], answers.rows[random]
