"""The rows of a search: growing subsets of one random order, and the rows that candidates are compared on."""

from __future__ import annotations

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Exam, Rows
from fitwithin._pools.decks.deck import SMALL_POOL_ROWS, Deck, FirstSize
from fitwithin.teachers._shared_steps import make_limit

# Rows of the first look at a learner, which tells its cost and leaves a model; a tenth of a small pool.
_FIRST_ROWS = 500
_FIRST_FRACTION = 0.1
# A pool with fewer rows is taught whole, without validation rows.
_MIN_SPLIT_ROWS = 20

# Validation rows are kept back at least, or one in this number of the pool; with 2,000 the standard error of an
# accuracy is 1 %, and smaller for a difference.
_VALIDATION_ROWS = 2_000
_VALIDATION_ONE_IN = 8
# Holdout rows, and validation rows of a large pool: one in this number, up to a maximum; a part of a small pool.
_HOLDOUT_ONE_IN = 25
_MAX_HOLDOUT_ROWS = 10_000
_MIN_HOLDOUT_ROWS = 200
_SMALL_POOL_HOLDOUT_ONE_IN = 10
# Rows of a subset for each validation row in use: differences on more rows are smaller.
_ROWS_PER_EXAM_ROW = 5
# Part of the time left for each exam.
_EXAM_TIME = 0.02
_MIN_EXAM_ROWS = 100


class Subsets:
    """Growing subsets of one random order, and the validation and holdout rows.

    Each subset is the first part of a larger one, so the learners' processes share them without a copy.

    Parameters
    ----------
    deck : Deck
        Source of rows.

    Attributes
    ----------
    n_first : int
        Rows of the first subset.
    validation_rows, holdout_rows : array of int
        Rows that no candidate is trained on before the last fit.
    """

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        past = deck.resume_point
        if past is not None:
            # The best model may have been fitted again with the rows kept back.
            self.validation_rows, self.holdout_rows = past.validation_rows, past.holdout_rows
            kept_back = deck.take(np.concatenate([past.validation_rows, past.holdout_rows]))
            self._order = deck.take(past.lesson[~np.isin(past.lesson, kept_back)])
        else:
            self._begin(deck)
        self.n_first = len(self._order)
        self._most_exam_rows = len(self.validation_rows)

    def _begin(self, deck: Deck) -> None:
        self._order = deck.opening(_choose_first_size(deck))
        if deck.validation_rows is not None and deck.holdout_rows is not None:
            self.validation_rows, self.holdout_rows = deck.validation_rows, deck.holdout_rows
        else:
            self.validation_rows = deck.deal(count_search_rows(deck.size))
            self.holdout_rows = deck.deal(count_holdout_rows(deck.size))

    @property
    def n_usable(self) -> int:
        """Rows that may be trained on."""
        return len(self._order) + self.deck.left

    def take(self, n_rows: int) -> Rows:
        """Return the subset with this number of rows, or fewer if others were not read in time."""
        if n_rows > len(self._order):
            self._order = np.concatenate([self._order, self.deck.deal(n_rows - len(self._order))])
        return self._order[:n_rows]

    def count_exam_rows(self, n_rows: int, costs: CostEstimates) -> int:
        """Return the validation rows for models of a subset: few at first, more for larger subsets.

        Their predictions take a small part of the time left.
        """
        n_exam = min(self._most_exam_rows, max(_VALIDATION_ROWS, n_rows // _ROWS_PER_EXAM_ROW))
        affordable = costs.count_exam_rows(_EXAM_TIME * costs.seconds_left, n_exam, n_rows)
        return min(n_exam, max(_MIN_EXAM_ROWS, affordable))

    def make_exams(self, n_rows: int, costs: CostEstimates, *, has_holdout: bool) -> tuple[Exam, ...]:
        """Return the exams of a model of a subset."""
        n_exam, seconds = self.count_exam_rows(n_rows, costs), make_limit(_EXAM_TIME * costs.seconds_left)
        holdout = Exam(self.holdout_rows[: n_exam if has_holdout else 0], "holdout", seconds=seconds)
        validation = Exam(self.validation_rows[:n_exam], "validation", seconds=seconds)
        return tuple(exam for exam in (holdout, validation) if len(exam.rows))


def _choose_first_size(deck: Deck) -> FirstSize:
    if deck.size < _MIN_SPLIT_ROWS:
        return deck.size
    if deck.size <= SMALL_POOL_ROWS:
        kept_back = count_search_rows(deck.size) + count_holdout_rows(deck.size)
        return deck.size - (kept_back if deck.validation_rows is None else 0)
    return min(_FIRST_ROWS / deck.size, _FIRST_FRACTION)


def count_holdout_rows(pool_size: int) -> int:
    """Return the number of holdout rows.

    Examples
    --------
    >>> [count_holdout_rows(size) for size in (400, 4000, 40_000, 4_000_000)]
    [40, 200, 1600, 10000]
    """
    least = min(_MIN_HOLDOUT_ROWS, pool_size // _SMALL_POOL_HOLDOUT_ONE_IN)
    return min(_MAX_HOLDOUT_ROWS, max(pool_size // _HOLDOUT_ONE_IN, least))


def count_search_rows(pool_size: int) -> int:
    """Return the number of validation rows: the best of many settings needs more of them than one learner's models.

    Examples
    --------
    >>> [count_search_rows(size) for size in (400, 4000, 40_000, 4_000_000)]
    [40, 500, 2000, 10000]
    """
    wanted = 0 if pool_size <= SMALL_POOL_ROWS else _VALIDATION_ROWS
    return max(count_holdout_rows(pool_size), min(wanted, pool_size // _VALIDATION_ONE_IN))
