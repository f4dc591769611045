"""The rows and the seconds of a search: growing subsets of one random order, trials, exams and the last fit."""

from __future__ import annotations

import math

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Exam
from fitwithin._pools.decks.deck import Deck, count_validation_rows, list_sizes
from fitwithin.teachers._learning_curve import find_error_share, find_promising_size
from fitwithin.teachers._row_order import RowOrder
from fitwithin.teachers._search.contender import Contender

_MAX_FIRST_ROWS = 500  # of the first looks, which are one for each learner

# Validation rows: one in this number of the pool, at least and at most as many, and at most one in so few. With 2,000
# the standard error of an accuracy is 1 %, and smaller for a difference.
_VALIDATION_ONE_IN = 25
_MIN_VALIDATION_ROWS = 2_000
_MAX_VALIDATION_ROWS = 10_000
_MAX_VALIDATION_ONE_IN = 8
# Rows of a subset for each validation row in use: differences on more rows are smaller.
_ROWS_PER_EXAM_ROW = 5
# Part of the time left for each exam.
_EXAM_TIME = 0.02
_MIN_EXAM_ROWS = 100

# A trial; times are fractions of the time limit
_TRIAL_TIME = 0.05  # for a fit; then the learner is killed
_OVERRUN_FACTOR = 3.0  # times the predicted seconds, or those of the leader, for the same; at most half of those left
MIN_TRIAL_SECONDS = 0.3
"""Seconds for a trial, at least."""

# The steps of a portfolio's hyperparameters
_LAST_FIT_TIME = 0.4  # of the time left, for a fit on a part of the rows
_LAST_FIT_PART = 4  # of all rows, one in this number: trees and rows compete for the time
# Covtype, LightGBM: 16 times the leaves took 6 times as long on 10,000 rows, twice as long on 400,000.
_LEAVES_EXPONENT = 0.5

# The last fit
MIN_GROWTH = 1.1
"""Times the rows of the trial before it, from which on a larger fit is worth its time."""

_LAST_CHANCE = 0.5  # to end in time, of the rows that a candidate can have
_LEAST_CHANCE = 0.25  # of a last fit: time that is left over is worth nothing
_FIRST_STEPS = 0.05  # of all steps, before a fit is projected
_FIRST_STEPS_TIME = 0.1  # of the time left, for them
_EXAM_OVERRUN = 1.5  # times the expected seconds, reserved for exams
_SEARCH_GAIN = 0.07  # share of the errors that twice the time for trials is taken to save
_LEAST_GAIN = 0.005  # the same of twice the rows, at least
_SIZE_RATIO = 1.15  # between two sizes that are considered
_REFIT_MARGIN = 1.25  # times its predicted seconds, for a fit with the rows kept back, which must be sure to end


class Shares(RowOrder):
    """The rows and the seconds that candidates may have.

    Each subset is the first part of a larger one, so the learners' processes share them without a copy.

    Parameters
    ----------
    deck : Deck
        Source of rows, and of the time left.

    Attributes
    ----------
    time_limit : float
        Seconds of the whole search.
    """

    def __init__(self, deck: Deck) -> None:
        self.time_limit = deck.costs.seconds_left
        super().__init__(deck, count_search_rows(deck.size), count_validation_rows(deck.size), _MAX_FIRST_ROWS)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return self.costs.seconds_left

    @property
    def max_rows(self) -> int:
        """Rows of the largest subset that the rows and the memory allow."""
        return self.costs.largest_lesson_rows(self.n_usable)

    def count_exam_rows(self, n_rows: int, costs: CostEstimates) -> int:
        """Return the validation rows for models of a subset: few at first, more for larger subsets.

        Their predictions take a small part of the time left.
        """
        n_exam = min(len(self.validation_set), max(_MIN_VALIDATION_ROWS, n_rows // _ROWS_PER_EXAM_ROW))
        affordable = costs.count_exam_rows(_EXAM_TIME * costs.seconds_left, n_exam, n_rows)
        return min(n_exam, max(_MIN_EXAM_ROWS, affordable))

    def list_exams(self, n_rows: int, costs: CostEstimates, *, has_holdout: bool) -> tuple[Exam, ...]:
        """Return the exams of a model of a subset."""
        n_exam, seconds = self.count_exam_rows(n_rows, costs), _EXAM_TIME * self.seconds_left
        return self.make_exams(n_exam, seconds, has_holdout=has_holdout)

    def limit_trial(self, contender: Contender, leader: Contender | None, n_rows: int) -> float:
        """Return the seconds after which a trial is killed, by those predicted of it or of one like the leader."""
        known = contender if contender.trials or leader is None else leader
        most = min(_OVERRUN_FACTOR * known.costs.fit_seconds(n_rows), self.seconds_left / 2)
        return max(_TRIAL_TIME * self.time_limit, MIN_TRIAL_SECONDS, most)

    def count_steps(self, reference: Contender, leaves_ratio: float, *, n_rows: int) -> float:
        """Return the steps that a trial on `n_rows` and a last fit may have.

        Parameters
        ----------
        reference : Contender
            A contender with known steps.
        leaves_ratio : float
            Leaves of a tree, as times those of the reference.
        n_rows : int
            Rows of the trial.
        """
        growth, fit_seconds = leaves_ratio**_LEAVES_EXPONENT / (reference.n_steps or 1), reference.costs.fit_seconds
        trial_step, last_step = growth * fit_seconds(n_rows), growth * fit_seconds(self.max_rows // _LAST_FIT_PART)
        trial, last = _TRIAL_TIME * self.time_limit, _LAST_FIT_TIME * self.seconds_left
        return min(trial / trial_step, last / last_step) if trial_step and last_step else math.inf

    def reserved_seconds(self, contender: Contender, n_rows: int) -> float:
        """Return the seconds that a fit must leave before the deadline, for its model to count."""
        n_exam = 2 * self.count_exam_rows(n_rows, contender.costs)
        return contender.costs.reserves(n_rows, int(_EXAM_OVERRUN * n_exam)).total

    def find_affordable_rows(self, contender: Contender, spent: float = 0.0) -> int:
        """Return the most rows on which a fit should end in time, some seconds from now; 0 if there are none."""
        most = contender.costs.largest_lesson_rows(self.n_usable)
        sizes = list_sizes(most, ratio=_SIZE_RATIO)
        return next((size for size in sizes if self._find_chance(contender, size, spent) >= _LAST_CHANCE), 0)

    def choose_last_rows(self, contender: Contender) -> int:
        """Return the rows of the last fit with the largest expected gain; 0 if none is likely to end."""
        sizes = self._list_last_sizes(contender)
        trained, least = int(sizes[-1] / MIN_GROWTH) if sizes else 1, contender.costs.least_chance(_LEAST_CHANCE)
        return find_promising_size(sizes, trained, lambda n_rows: self._find_chance(contender, n_rows), least)

    def choose_rows_to_try(self, contender: Contender) -> int:
        """Return the most rows of a last fit that is not unlikely to end, and whose first steps are cheap; or 0."""
        costs = contender.costs

        def may_begin(n_rows: int) -> bool:
            first_steps = costs.setup_seconds(n_rows) + _FIRST_STEPS * costs.fit_seconds(n_rows)
            is_cheap = first_steps <= _FIRST_STEPS_TIME * self.seconds_left
            return is_cheap and self._find_chance(contender, n_rows) >= costs.least_chance(_LEAST_CHANCE)

        return next(filter(may_begin, self._list_last_sizes(contender)), 0)

    def _list_last_sizes(self, contender: Contender) -> list[int]:
        smallest = contender.n_rows * (1.0 if contender.last and contender.last.was_cut_short else MIN_GROWTH)
        return list(list_sizes(contender.costs.largest_lesson_rows(self.n_usable), smallest, _SIZE_RATIO))

    def _find_chance(self, contender: Contender, n_rows: int, spent: float = 0.0) -> float:
        """Return the chance that a fit ends in time, or nearly so; 0 if it may not begin."""
        if not contender.costs.may_begin(n_rows):
            return 0.0
        seconds = self.seconds_left - spent - self.reserved_seconds(contender, n_rows)
        return contender.costs.chance_to_end(n_rows, seconds)

    def count_search_seconds(self, leader: Contender, exponent: float) -> float:
        """Return the seconds that trials may still take.

        The leader keeps what it needs for every row. If it cannot have them all, more trials and more rows compete: by
        what each of them saves of the errors if it takes twice as long.
        """
        left, n_rows = self.seconds_left, self.find_affordable_rows(leader)
        if n_rows < MIN_GROWTH * leader.n_rows:
            return left - self.refit_seconds(leader)
        own = exponent if leader.exponent is None else leader.exponent
        gain = 1 - find_error_share(max(leader.n_rows, n_rows // 2), n_rows, own)
        ratio = _SEARCH_GAIN / max(gain, _LEAST_GAIN)
        share = self.time_limit * ratio / (1 + ratio) - (self.time_limit - left)
        if n_rows < self.max_rows:
            return share
        need = leader.costs.fit_seconds(n_rows) + self.reserved_seconds(leader, n_rows)
        return max(left - need - self.refit_seconds(leader), share)

    def refit_seconds(self, leader: Contender | None) -> float:
        """Return the seconds to fit a contender once more, with the rows kept back; 0 if that will not be."""
        if leader is None or not self.deck.can_refit:
            return 0.0
        if max(leader.n_rows, self.find_affordable_rows(leader)) < self.max_rows:
            return 0.0
        n_rows = self.deck.pool_size
        return _REFIT_MARGIN * leader.costs.fit_seconds(n_rows) + self.reserved_seconds(leader, n_rows)


def count_search_rows(pool_size: int) -> int:
    """Return the number of validation rows: the best of many settings needs more of them than one learner's models.

    Examples
    --------
    >>> [count_search_rows(size) for size in (400, 4000, 40_000, 4_000_000)]
    [50, 500, 2000, 10000]
    """
    wanted = min(max(pool_size // _VALIDATION_ONE_IN, _MIN_VALIDATION_ROWS), _MAX_VALIDATION_ROWS)
    return min(wanted, pool_size // _MAX_VALIDATION_ONE_IN)
