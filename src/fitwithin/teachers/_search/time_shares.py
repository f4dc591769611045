"""How the time of a search is shared between trials and the last fit."""

from __future__ import annotations

import math

from fitwithin._core.preference import POINT, find_scale
from fitwithin.teachers._search.contender import Contender, find_gain
from fitwithin.teachers._search.subsets import Subsets
from fitwithin.teachers._shared_steps import find_largest_size

# A trial; times are fractions of the time limit
_TRIAL_TIME = 0.15  # for a fit; then the learner is killed
_MIN_TRIAL_SECONDS = 0.3  # for the same
_OVERRUN_FACTOR = 3.0  # times the predicted seconds, for the same

# The steps of a portfolio's hyperparameters
_PORTFOLIO_TIME = 0.05  # for a trial
_LAST_FIT_TIME = 0.4  # of the time left, for a fit on a part of the rows
_LAST_FIT_PART = 4  # of all rows, one in this number: trees and rows compete for the time
# Covtype, LightGBM: 16 times the leaves took 6 times as long on 10,000 rows, twice as long on 400,000.
_LEAVES_EXPONENT = 0.5

# The last fit
MIN_GROWTH = 1.1
"""Times the rows of the trial before it, from which on a larger fit is worth its time."""

_LEAST_GAIN = 0.1  # of a point, that twice the rows are taken to give at least
_SIZE_RATIO = 1.15  # between two sizes that are considered
_CHANCE = 0.5  # to end in time, of a fit that can be killed
_REFIT_MARGIN = 1.25  # times its predicted seconds, for a fit with the rows kept back, which must be sure to end


class TimeShares:
    """Seconds and rows that contenders may have.

    Parameters
    ----------
    subsets : Subsets
        The rows, and the time left.
    """

    def __init__(self, subsets: Subsets) -> None:
        self._subsets = subsets
        self._clock = subsets.deck.costs
        self.time_limit = self._clock.seconds_left

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return self._clock.seconds_left

    @property
    def max_rows(self) -> int:
        """Rows of the largest subset that the rows and the memory allow."""
        return self._clock.largest_lesson_rows(self._subsets.n_usable)

    def limit_trial(self, predicted: float, neighbour: float) -> float:
        """Return the seconds after which a trial is killed, by those predicted of it and of one like the leader."""
        share = max(_TRIAL_TIME * self.time_limit, _MIN_TRIAL_SECONDS)
        return max(share, _OVERRUN_FACTOR * predicted if predicted else neighbour)

    def reserved_seconds(self, contender: Contender, n_rows: int) -> float:
        """Return the seconds that a fit must leave before the deadline, for its model to count."""
        costs = contender.candidate.costs
        return costs.reserves(n_rows, 2 * self._subsets.count_exam_rows(n_rows, costs)).total

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
        costs, growth = reference.candidate.costs, leaves_ratio**_LEAVES_EXPONENT / (reference.n_steps or 1)
        trial_step, last_step = (growth * costs.fit_seconds(rows) for rows in (n_rows, self.max_rows // _LAST_FIT_PART))
        trial, last = _PORTFOLIO_TIME * self.time_limit, _LAST_FIT_TIME * self._clock.seconds_left
        return min(trial / trial_step, last / last_step) if trial_step and last_step else math.inf

    def find_affordable_rows(self, contender: Contender, chance: float = _CHANCE) -> int:
        """Return the most rows on which a fit ends in time with this chance; 0 if there are none."""
        costs = contender.candidate.costs

        def ends(n_rows: int) -> bool:
            seconds = self._clock.seconds_left - self.reserved_seconds(contender, n_rows)
            return costs.chance_to_end(n_rows, seconds) >= chance and costs.may_begin(n_rows)

        return find_largest_size(costs.largest_lesson_rows(self._subsets.n_usable), ends, ratio=_SIZE_RATIO)

    def count_search_seconds(self, leader: Contender, slope: float) -> float:
        """Return the seconds that trials may still take.

        The leader keeps what it needs for every row. If it cannot have them all, more trials and more rows compete: a
        search that takes twice as long is taken to gain a point, twice the rows gain what the learning curve says.
        """
        left, n_rows = self._clock.seconds_left, self.find_affordable_rows(leader)
        if n_rows < MIN_GROWTH * leader.n_rows:
            return left - self._refit_seconds(leader)
        gain_of_rows = find_gain(max(1, n_rows // 2), n_rows, slope)
        point = POINT * find_scale(leader.last.score.value if leader.last else 0.0)
        ratio = point / max(gain_of_rows, _LEAST_GAIN * point)
        share = self.time_limit * ratio / (1 + ratio) - (self.time_limit - left)
        if n_rows < self.max_rows:
            return share
        need = leader.candidate.costs.fit_seconds(n_rows) + self.reserved_seconds(leader, n_rows)
        return max(left - need - self._refit_seconds(leader), share)

    def _refit_seconds(self, leader: Contender) -> float:
        """Return the seconds to fit a contender once more, with the rows kept back."""
        deck = self._subsets.deck
        if not deck.can_refit or max(leader.n_rows, self.find_affordable_rows(leader)) < self.max_rows:
            return 0.0
        n_rows = deck.pool_size
        return _REFIT_MARGIN * leader.candidate.costs.fit_seconds(n_rows) + self.reserved_seconds(leader, n_rows)
