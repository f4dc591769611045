"""SGD: one model that continues learning from mini-batches."""

from __future__ import annotations

from numbers import Integral

from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import Requests

# Rows taught before, for each row of a lesson. The deadline discards the lesson under way, hence at most a tenth.
_TAUGHT_PER_NEW_ROW = 10


class SGD(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Teach mini-batches of random rows, pass after pass, until the deadline, and return the last model.

    The learner needs `partial_fit`, like `SGDClassifier`.

    Parameters
    ----------
    batch : int, default=256
        Rows of a mini-batch.

    Notes
    -----
    A lesson holds a tenth of the rows taught before it. So the model is saved about a hundred times rather
    than after every batch, and the deadline discards at most a tenth of the work.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import SGD, Deck
    >>> lessons = SGD(batch=2).teach(Deck(100, np.random.default_rng(0)))
    >>> [len(next(lessons).rows) for _ in range(24)][-3:]
    [4, 4, 4]
    """

    returns: Returns = "last"
    needs = ("partial_fit",)

    def __init__(self, *, batch: int = 256) -> None:
        self.batch = batch

    def teach(self, deck: Deck) -> Requests:
        """Yield lessons of whole batches, without end."""
        if not isinstance(self.batch, Integral) or isinstance(self.batch, bool) or self.batch < 1:
            raise ValueError(f"batch must be a positive number of rows (int); got {self.batch!r}.")
        n_taught, max_batches = 0, max(1, deck.size // self.batch)
        while True:
            n_batches = min(max(1, n_taught // (_TAUGHT_PER_NEW_ROW * self.batch)), max_batches)
            rows = deck.deal(self.batch * n_batches)
            deck.discard(rows)
            n_taught += len(rows)
            yield Lesson(rows, batch=int(self.batch))
