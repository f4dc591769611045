"""How the time of a search is shared: the rows of the first subset, the limits of a trial, the time for the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._search.contender import Contender
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._shared_steps import find_largest_size

MIN_SHARE_SECONDS = 0.3
"""Seconds that every fit may take, where the limit is short."""

# Times are fractions of the time limit, unless they say otherwise.

# The first subset
_MAX_FIRST_ROWS = 10_000  # on these a fit of a cheap setting takes 0.1 s, and good settings are told from bad ones
_MIN_FIRST_ROWS = 2_000  # fewer say little about settings
_FIRST_TRIAL_TIME = 0.1  # for a fit with the fastest settings
_SIZE_RATIO = 1.25  # between two sizes that are considered

# A trial
_MAX_TRIAL_TIME = 0.12  # for a fit; with more there would be too few trials
_MAX_OWN_TRIAL_TIME = 0.2  # for the same with the learner's own hyperparameters
_MAX_SLOW_TRIAL_TIME = 0.08  # for the same, if they are too slow for every row
_MAX_OWN_NEED = 0.5  # for a fit with own hyperparameters on every row; with more there is no time for others
_NOT_SLOWER = 1.5  # times the seconds of own hyperparameters; predictions from few rows are that rough
_KILL_TIME = 0.15  # for a fit; then the learner is killed
_OVERRUN_FACTOR = 3.0  # times the predicted seconds; then the learner is killed

# The end
_MIN_FINAL_TIME = 0.4  # for the winner
_MAX_FINAL_TIME = 0.6  # for the winner, if it needs so much for every row
_MAX_OWN_TIME = 0.75  # for the learner's own hyperparameters, if they lead after the known good ones were tried
_FINAL_SAFETY_FACTOR = 1.25  # on the seconds that it needs
_MIN_CHANCE = 0.9  # to end in time, of a fit that a contender is judged by


class TimeShares:
    """What a contender may take, and what it needs.

    Parameters
    ----------
    state : TeachingState
        The rows and the time.
    """

    def __init__(self, state: TeachingState) -> None:
        self._state = state
        self._clock = state.costs

    def choose_first_size(self, contenders: Sequence[Contender]) -> int:
        """Return the rows of the first subset: as many as leave time for many trials."""
        state, limit = self._state, _FIRST_TRIAL_TIME * self._state.time_limit
        tried = [contender for contender in contenders if contender.trials]
        costs_of_all, least = [contender.candidate.costs for contender in tried], len(state.lesson)
        largest = state.n_usable if state.n_usable <= _SIZE_RATIO * _MAX_FIRST_ROWS else _MAX_FIRST_ROWS

        def find(largest: int, is_possible: Callable[[int], bool], smallest: int) -> int:
            return find_largest_size(largest, is_possible, smallest, _SIZE_RATIO)

        n_rows = find(largest, lambda size: any(costs.fit_seconds(size) <= limit for costs in costs_of_all), least)
        # Own settings should be compared with the others, unless they can have very few rows only.
        own = [contender for contender in tried if contender.has_own_settings]
        n_own = find(n_rows, lambda size: any(self.is_cheap(contender, size) for contender in own), _MIN_FIRST_ROWS)
        # A learner that cannot be killed must be sure to end.
        n_rows = find(n_own or n_rows, lambda size: all(costs.may_begin(size) for costs in costs_of_all), least)
        return max(n_rows, least)

    def has_room(self, entrant: Entrant) -> bool:
        """Whether a learner's own hyperparameters leave time for others, or it has others with fewer steps."""
        own, *others = entrant.contenders
        limit = _NOT_SLOWER * self._every_row_seconds(own)
        has_fast = any(other.trials and self._every_row_seconds(other) <= limit for other in others)
        return has_fast or (bool(own.trials) and self.leaves_time(own))

    def leaves_time(self, contender: Contender) -> bool:
        """Whether a fit on every row takes no more than half of the time limit."""
        return self._every_row_seconds(contender) <= _MAX_OWN_NEED * self._state.time_limit

    def is_cheap(self, contender: Contender, n_rows: int) -> bool:
        """Whether a trial on `n_rows` rows leaves time for others; own hyperparameters may take longer."""
        costs, n_rows = contender.candidate.costs, min(n_rows, self._state.n_usable)
        share = _MAX_TRIAL_TIME
        if contender.has_own_settings:
            share = _MAX_OWN_TRIAL_TIME if self.leaves_time(contender) else _MAX_SLOW_TRIAL_TIME
        return costs.fit_seconds(n_rows) <= share * self._state.time_limit and costs.may_begin(n_rows)

    def limit_seconds(self, contender: Contender) -> float:
        """Return the seconds after which a fit on the present subset is killed."""
        share = max(_KILL_TIME * self._state.time_limit, MIN_SHARE_SECONDS)
        predicted = contender.candidate.costs.fit_seconds(len(self._state.lesson))
        return max(share, _OVERRUN_FACTOR * predicted) if predicted else share

    def find_affordable_rows(self, contender: Contender) -> int:
        """Return the most rows on which a fit should end in the time left; 0 if there are none."""
        costs, state = contender.candidate.costs, self._state

        def ends(n_rows: int) -> bool:
            seconds = self._clock.seconds_left - state.reserved_seconds(n_rows)
            return costs.chance_to_end(n_rows, seconds) >= _MIN_CHANCE

        return find_largest_size(costs.largest_lesson_rows(state.n_usable), ends, 2)

    def min_final_seconds(self) -> float:
        """Return the seconds that every winner has at the end."""
        return _MIN_FINAL_TIME * self._state.time_limit

    def final_seconds(self, leader: Contender, untried_own: Contender | None, *, own_leads: bool) -> float:
        """Return the seconds that the leader should have at the end.

        Parameters
        ----------
        leader : Contender
            Who leads.
        untried_own : Contender or None
            Own settings that are to be compared before the end.
        own_leads : bool
            Whether own hyperparameters lead after the known good ones were tried.
        """
        need = self.needed_seconds(leader, self._state.n_usable) + self.refit_seconds(leader)
        if untried_own is not None:
            need += self.needed_seconds(untried_own, self._state.n_usable)
        most = (_MAX_OWN_TIME if own_leads else _MAX_FINAL_TIME) * self._state.time_limit
        return min(max(need, self.min_final_seconds()), most)

    def refit_seconds(self, contender: Contender) -> float:
        """Return the seconds to fit a contender once more, with the rows kept back."""
        deck = self._state.deck
        return self.needed_seconds(contender, deck.pool_size) if deck.can_refit else 0.0

    def needed_seconds(self, contender: Contender, n_rows: int) -> float:
        """Return the seconds that a fit and its exams should not exceed."""
        seconds = contender.candidate.costs.fit_seconds(n_rows)
        return _FINAL_SAFETY_FACTOR * seconds + self._state.reserved_seconds(n_rows)

    def _every_row_seconds(self, contender: Contender) -> float:
        return contender.candidate.costs.fit_seconds(self._state.n_usable)
