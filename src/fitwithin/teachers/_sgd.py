"""SGD: one model that goes on learning from mini-batches."""

from __future__ import annotations

from numbers import Integral

from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Returns
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck

# What is lost at the deadline is at most the lesson under way.
_GROWTH = 10


class SGD(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Mini-batches of random rows until the time is up, pass after pass; the last model is returned.

    Needs a learner with `partial_fit`, such as `SGDClassifier`.

    Parameters
    ----------
    batch : int, default=256
        Rows of a mini-batch.

    Notes
    -----
    A lesson holds a tenth of the rows that went before, so that the model is made safe a hundred
    times rather than after every batch, and at most a tenth of the work is lost at the deadline.

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
        taught, most = 0, max(1, deck.size // self.batch)
        while True:
            rows = deck.deal(self.batch * min(max(1, taught // (_GROWTH * self.batch)), most))
            deck.discard(rows)
            taught += len(rows)
            yield Lesson(rows, batch=int(self.batch))
