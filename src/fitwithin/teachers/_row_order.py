"""The rows of a deck in the order in which plain lessons take them, and the rows kept back for exams."""

from __future__ import annotations

import numpy as np

from fitwithin._core.records import Exam, Rows, make_limit
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS, Deck

# The first lesson
_FIRST_FRACTION = 0.005  # of the pool: the paper's m0
_MIN_FIRST_ROWS = 250  # the cost of fewer rows says little about the cost of many
_MAX_FIRST_ROWS = 2_000  # more say no more about the cost
_MAX_FIRST_FRACTION = 0.1  # of the pool, which `_MIN_FIRST_ROWS` may take of a small one

MIN_SPLIT_ROWS = 20
"""Rows of a pool; one with fewer is taught whole, without an estimate."""


def count_first_rows(deck: Deck, n_kept_back: int, most: int = _MAX_FIRST_ROWS) -> int:
    """Return the rows of the first lesson; of a small pool, all but those kept back."""
    if deck.size < MIN_SPLIT_ROWS:
        return deck.size
    if deck.size <= SMALL_POOL_ROWS:
        return deck.size - (n_kept_back if deck.validation_rows is None else 0)
    least = min(_MIN_FIRST_ROWS, round(_MAX_FIRST_FRACTION * deck.size))
    return min(max(least, round(_FIRST_FRACTION * deck.size)), most)


class RowOrder:
    """The rows in the order in which plain lessons take them, and the rows kept back, unless the user chose some."""

    def __init__(self, deck: Deck, n_validation: int, n_holdout: int, max_first: int = _MAX_FIRST_ROWS) -> None:
        self.deck, self.costs, past = deck, deck.costs, deck.resume_point
        if past is None:
            # The rows that were dealt so far. A plain lesson takes the first ones, so that each holds those before it.
            self.order = deck.opening(count_first_rows(deck, n_validation + n_holdout, max_first))
            if deck.validation_rows is not None and deck.holdout_rows is not None:
                self.validation_set, self.holdout_rows = deck.validation_rows, deck.holdout_rows
            else:
                self.validation_set, self.holdout_rows = deck.deal(n_validation), deck.deal(n_holdout)
        else:
            # The best model may have been fitted again with the rows that were kept back.
            kept_back = np.concatenate([past.validation_rows, past.holdout_rows])
            self.order = deck.take(past.lesson[~np.isin(past.lesson, kept_back)])
            deck.take(kept_back)
            self.validation_set, self.holdout_rows = past.validation_rows, past.holdout_rows
        # Rows of the first lesson, or of the best one of an earlier fit.
        self.n_first = len(self.order)

    def list_rows(self, count: int) -> Rows:
        """Return the first rows of the order, which grows for that, by fewer if others were not read in time."""
        if count > len(self.order):
            self.order = np.concatenate([self.order, self.deck.deal(count - len(self.order))])
        return self.order[:count]

    @property
    def n_usable(self) -> int:
        """All rows but those kept back."""
        return len(self.order) + self.deck.left

    def make_exams(self, n_rows: int, seconds: float, *, has_holdout: bool = True) -> tuple[Exam, ...]:
        """Return the exams of a model, each of the first `n_rows` rows and of at most some seconds."""
        # Of a data set on disk, more of them may have been read since.
        holdout_rows = self.holdout_rows if self.deck.holdout_rows is None else self.deck.holdout_rows
        n_holdout_rows = n_rows * len(holdout_rows) // max(1, len(self.holdout_rows)) if has_holdout else 0
        holdout = Exam(holdout_rows[:n_holdout_rows], "holdout", seconds=make_limit(seconds))
        validation = Exam(self.validation_set[:n_rows], "validation", seconds=make_limit(seconds))
        return tuple(exam for exam in (holdout, validation) if len(exam.rows))
