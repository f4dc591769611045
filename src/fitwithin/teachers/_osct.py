"""OSCT: teaching as online set cover, from mistakes on the whole pool."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Mask, Returns, Rows, examine
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck, FirstSize, drop_repeats

Guess = int | str
"""A guess of the number of the learner's hypotheses: a number, or "half-percent"."""


_HALF_PERCENT = 0.005


# Enough to draw every example for sure, and still a number that can be counted to.
_MOST_DRAWS = 2.0**62


class OSCT(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Every round examines the whole pool and sends a few mistakes, by weights that double.

    Parameters
    ----------
    guess : int or "half-percent", default=2
        N, the guessed number of the learner's hypotheses, at least 2; "half-percent" is
        2 to the power of half a per cent of the rows.
    returns : {"best", "last"}, default="last"
        Which model is handed back; "best" goes by the lower bound over all rows of the pool, which
        were partly taught.
    first : int or float, default=0.005
        Rows of the first lesson: an int is rows, a float a share of the pool, and then a pool of
        at most 500 rows is taught whole.

    Notes
    -----
    The figure in the appendix of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro),
    after Cicalese, Filho, Laber and Molinaro (2020). As printed, an example is sent with a
    probability equal to the increase of its weight, and these can add up to more than one; here
    they are halved, as in the authors' code. Rows that were taught already are not sent again. When
    nothing is sent, N is squared and the weights start afresh; the model is the same then, and so are its
    mistakes, which are not asked for again.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import OSCT, Deck
    >>> requests = OSCT(first=4).teach(Deck(1000, np.random.default_rng(0)))
    >>> len(next(requests).rows)
    4
    >>> len(requests.send(None).rows)
    1000
    """

    classes_only = True

    def __init__(self, *, guess: Guess = 2, returns: Returns = "last", first: FirstSize = 0.005) -> None:
        self.guess = guess
        self.returns = returns
        self.first = first

    def teach(self, deck: Deck) -> Requests:
        """Yield a lesson, an exam of the whole pool, and so on."""
        pool = np.arange(deck.size)
        log_guess = self._log_guess(deck.size)
        weights = _Weights(deck.size)
        lesson = deck.opening(self.first)
        while True:
            yield Lesson(lesson)
            answers = yield from examine(pool)
            new = answers.wrong.copy()
            new[lesson] = False
            if not new.any():
                # Nothing is left to send, whatever the guess.
                return "no mistakes"
            sent = weights.draw(answers.wrong, new, log_guess, deck.rng)
            while not len(sent):
                log_guess *= 2
                weights = _Weights(deck.size)
                sent = weights.draw(answers.wrong, new, log_guess, deck.rng)
            lesson = np.concatenate([lesson, sent.astype(lesson.dtype)])

    def _log_guess(self, size: int) -> float:
        """log2 N; N itself would overflow."""
        if self.returns not in ("best", "last"):
            raise ValueError(f'returns must be "best" or "last"; got {self.returns!r}.')
        if self.guess == "half-percent":
            return _HALF_PERCENT * size
        if isinstance(self.guess, Integral) and self.guess >= 2:
            return math.log2(self.guess)
        raise ValueError(f'guess must be an integer of at least 2, or "half-percent"; got {self.guess!r}.')


class _Weights:
    """The weight of each example: 1/(2m), doubled so many times."""

    def __init__(self, size: int) -> None:
        self._doublings = np.zeros(size, dtype=np.uint8)

    def draw(self, wrong: Mask, new: Mask, log_guess: float, rng: np.random.Generator) -> Rows:
        """Double the weights of the wrong examples until they add up to 1; the examples to send.

        4 log2 N times at most one of the new examples is drawn, with half the increase of its weight as
        its probability.
        """
        size = len(wrong)
        total = int((1 << self._doublings[wrong].astype(np.int64)).sum())
        doublings = (-(-2 * size // total) - 1).bit_length()
        candidates = np.flatnonzero(new)
        increase = (2.0**doublings - 1) * 2.0 ** self._doublings[candidates] / (2 * size)
        self._doublings[wrong] += np.uint8(doublings)
        draws = math.ceil(min(4 * log_guess, _MOST_DRAWS))
        if draws > size:
            # A guess that was squared often asks for more draws than memory holds one by one.
            times = rng.multinomial(draws, np.append(increase / 2, 1 - increase.sum() / 2))
            return rng.permutation(candidates[times[:-1] > 0])
        chances = np.cumsum(increase / 2)
        hits = rng.random(draws)
        drawn = np.searchsorted(chances, hits[hits < chances[-1]], side="right")
        return candidates[drop_repeats(drawn)]
