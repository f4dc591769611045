"""OSCT: teaching as online set cover, from mistakes on the whole pool."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Lesson, Mask, Returns, Rows, examine
from fitwithin._pools.decks.deck import Deck, FirstSize
from fitwithin._pools.decks.table_pile import drop_repeats
from fitwithin.teachers._base import Requests

Guess = int | str
"""Guessed number of the learner's hypotheses: an integer, or "half-percent"."""

# log2 of the guess "half-percent", as a fraction of the rows m: with it the paper sends about 0.005 m rows a round.
_HALF_PERCENT = 0.005

# Draws of a round at most: enough to draw every example almost surely, and it still fits in an int64.
_MAX_DRAWS = 2.0**62


class OSCT(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Examine the whole pool in each round, and add a few mistakes, drawn by weights that double.

    Parameters
    ----------
    guess : int or "half-percent", default=2
        N, the guessed number of the learner's hypotheses, at least 2. "half-percent" is 2 to the power of
        0.5 % of the rows.
    returns : {"best", "last"}, default="last"
        Which model to return. "best" compares the lower bounds over all rows of the pool, including
        taught ones.
    first : int or float, default=0.005
        Rows of the first lesson: a number of rows (int) or a fraction of the pool (float). With a fraction, a
        pool of at most 500 rows is taught whole.

    Notes
    -----
    The figure in the appendix of *Time-Constrained Learning* (Filho, Laber, Lazera, Molinaro), after
    Cicalese, Filho, Laber and Molinaro (2020). As printed, an example is sent with a probability equal to the
    increase of its weight. These probabilities can add up to more than one, so they are halved here, as in the
    authors' code. Rows that were taught are not sent again. When nothing is sent, N is squared and the weights
    are reset. The model and its mistakes are the same then, so there is no new exam.

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
        """Yield a lesson and an exam on the whole pool in each round."""
        pool = deck.rows
        is_taught = np.zeros(deck.pool_size, dtype=np.bool_)
        log_guess = self._log_guess(deck.size)
        weights = _ExampleWeights(deck.size)
        lesson = deck.opening(self.first)
        while True:
            yield Lesson(lesson)
            is_taught[lesson] = True
            answers = yield from examine(pool)
            is_new_mistake = answers.wrong & ~is_taught[pool]
            if not is_new_mistake.any():
                # There is nothing to send, whatever the guess.
                return "no mistakes"
            sent = weights.draw(answers.wrong, is_new_mistake, log_guess, deck.rng)
            while not len(sent):
                log_guess *= 2
                weights = _ExampleWeights(deck.size)
                sent = weights.draw(answers.wrong, is_new_mistake, log_guess, deck.rng)
            lesson = np.concatenate([lesson, pool[sent]])

    def _log_guess(self, size: int) -> float:
        """Return log2 N, since N itself would overflow."""
        if self.returns not in ("best", "last"):
            raise ValueError(f'returns must be "best" or "last"; got {self.returns!r}.')
        if self.guess == "half-percent":
            return _HALF_PERCENT * size
        if isinstance(self.guess, Integral) and self.guess >= 2:
            return math.log2(self.guess)
        raise ValueError(f'guess must be an integer of at least 2, or "half-percent"; got {self.guess!r}.')


class _ExampleWeights:
    """Weights of the m examples, each 1/(2m) times a power of two; only the exponents are stored."""

    def __init__(self, size: int) -> None:
        self._doublings = np.zeros(size, dtype=np.uint8)

    def draw(self, wrong: Mask, is_new_mistake: Mask, log_guess: float, rng: np.random.Generator) -> Rows:
        """Double the weights of the wrong examples until they add up to 1, and draw the examples to send.

        Each of 4 log2 N draws takes at most one new mistake. Its probability is half the increase of its weight.
        """
        size = len(wrong)
        total = int((1 << self._doublings[wrong].astype(np.int64)).sum())
        doublings = (-(-2 * size // total) - 1).bit_length()
        candidates = np.flatnonzero(is_new_mistake)
        increase = (2.0**doublings - 1) * 2.0 ** self._doublings[candidates] / (2 * size)
        self._doublings[wrong] += np.uint8(doublings)
        n_draws = math.ceil(min(4 * log_guess, _MAX_DRAWS))
        if n_draws > size:
            # After several squarings, single draws would not fit in memory: count the draws of each candidate.
            counts = rng.multinomial(n_draws, np.append(increase / 2, 1 - increase.sum() / 2))
            return rng.permutation(candidates[counts[:-1] > 0])
        upper_ends = np.cumsum(increase / 2)
        points = rng.random(n_draws)
        drawn = np.searchsorted(upper_ends, points[points < upper_ends[-1]], side="right")
        return candidates[drop_repeats(drawn)]
