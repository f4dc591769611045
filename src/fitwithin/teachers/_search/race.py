"""The race: candidates on growing subsets, each against the others on the same validation rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

from fitwithin._core.preference import is_better_than_own
from fitwithin._pools.decks.deck import find_largest_size
from fitwithin.teachers._search.contender import Contender, find_exponent
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.shares import MIN_GROWTH, Shares

MIN_SUBSET_ROWS = 1_000
"""Rows of a subset; fewer say little about hyperparameters."""

# The first subset that all are compared on
_FIRST_SUBSET_ROWS = 10_000  # on these a fit of cheap hyperparameters takes 0.1 s, and tells good ones from bad ones
_FIRST_SUBSET_TIME = 0.1  # of the time limit, for a fit of the leader
_SUBSET_FACTOR = 4  # between the rows of a subset and those of the next
_MAX_RIVALS = 3  # candidates that go on to the next subset beside the leader
_CLEAR_ERRORS = 2.0  # standard errors by which a candidate is clearly behind the leader
_PATIENCE = 5  # new candidates behind the leader, for each learner, after which more rows are due if rivals are close
_PLANNED_TIME = 0.5  # of the time limit, for the last fit, when a suggester compares candidates
_MAX_LAST_FITS = 3  # of one candidate, should it be given up or stopped


@dataclass(eq=False)
class Race:
    """Contenders, the subset that they are tried on, and who leads.

    Parameters
    ----------
    entrants : sequence of Entrant
        The learners.
    max_row_seconds : float, default=inf
        Candidates whose predictions take more seconds a row lead only if all do.
    contenders : list of Contender
        All candidates so far, by their numbers; of an earlier call too.
    in_hand : Contender or None
        The contender whose model the session would return now.
    n_rows : int
        Rows of the present subset.
    is_open : bool
        Whether the first looks are over.
    finalists, under_way : list of Contender
        Those that have, or had, a last fit, and those that have it now.

    Attributes
    ----------
    shares : Shares
        Rows and seconds that contenders may have; once the race has begun.
    """

    entrants: Sequence[Entrant]
    max_row_seconds: float = math.inf
    contenders: list[Contender] = field(default_factory=list)
    in_hand: Contender | None = None
    n_rows: int = 0
    is_open: bool = False
    finalists: list[Contender] = field(default_factory=list)
    under_way: list[Contender] = field(default_factory=list)
    _queue: list[Contender] = field(default_factory=list)

    def begin(self, shares: Shares) -> None:
        """Begin with the rows of first looks."""
        self.shares, self.n_rows = shares, shares.n_first

    def find_leader(self, contenders: Sequence[Contender] | None = None) -> Contender | None:
        """Return the contender with the best score expected at the deadline, among those with the most rows.

        A learner's own hyperparameters lead unless others are ahead by more than the error of the difference suggests.
        """
        alive = [one for one in self.contenders if one.is_alive and (contenders is None or one in contenders)]
        if math.isfinite(self.max_row_seconds):
            alive = [one for one in alive if one.costs.exam_seconds(1) <= self.max_row_seconds] or alive
        most = max((one.n_rows for one in alive), default=0)
        ranked = _rank(one for one in alive if one.n_rows == most)
        best = ranked[0] if ranked else None
        for own in (one for one in ranked if one.has_own_settings):
            if best is not None and best.last and own.last and not best.has_own_settings:
                error, gain = best.last.difference_error(own.last), best.promise - own.promise
                best = best if is_better_than_own(gain, error, best.score) else own
        return best

    def add(self, entrant: Entrant, settings: dict[str, object]) -> Contender:
        """Add a candidate."""
        contender = entrant.make_contender(len(self.contenders), settings, self.shares.deck.costs)
        self.contenders.append(contender)
        return contender

    def tell(self, contender: Contender, seconds: float = 0.0) -> None:
        """Note the score that a candidate should reach, so that slow ones are worth less, after a trial."""
        spent = self.shares.seconds_left - _PLANNED_TIME * self.shares.time_limit
        n_rows = self.shares.find_affordable_rows(contender, spent)
        contender.promise = contender.expect_score(n_rows, find_exponent(self.contenders))
        self.entrants[contender.learner].tell(contender, seconds)

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one candidate, and validation rows to compare them on."""
        is_single = len(self.entrants) == 1 and not self.entrants[0].has_others
        return len(self.shares.validation_set) > 0 and not is_single

    def choose_next(self, reserved: float | None = None) -> Contender | None:
        """Return the next contender to try on the present subset; None when it is time for a last fit.

        Parameters
        ----------
        reserved : float, optional
            Seconds to leave for that; by default what the leader should have.
        """
        while self.has_choice:
            leader = self.find_leader()
            if self._queue:
                contender = self._queue.pop(0)
                if 2 * contender.costs.fit_seconds(self.n_rows) <= self.shares.seconds_left:
                    return contender
                continue
            if leader is None:
                return self._find_new(None)
            n_first = self._find_first_rows(leader, max(2 * self.n_rows, MIN_SUBSET_ROWS))
            if n_first and leader.n_rows == self.n_rows:
                # A fit on few rows says little about the cost of many: now more are known to be cheap.
                self.begin_subset(n_first, self._list_next(leader))
                continue
            if self.n_rows < (n_rows := min(MIN_SUBSET_ROWS, self.shares.max_rows)):
                if reserved is None:
                    return None
                # The leader is too slow for more rows; others may be faster.
                self.begin_subset(n_rows, [])
            seconds = self.shares.seconds_left - (reserved or 0.0)
            if reserved is None:
                seconds = self.shares.count_search_seconds(leader, find_exponent(self.contenders))
            neighbour = leader.costs.fit_seconds(self.n_rows)
            # Hyperparameters to begin with are fitted to the time there is; after a last fit, only if it was slow.
            may_start = seconds > 0 and (not self.finalists or leader.n_rows < self.n_rows)
            has_starts = may_start and any(entrant.starts for entrant in self.entrants)
            if not has_starts and self._is_settled(leader) and self._grow(leader, seconds):
                continue
            if not has_starts and neighbour + leader.costs.overhead_seconds(self.n_rows) > seconds:
                return None
            found = self._find_new(leader)
            if found is not None or not self._grow(leader, seconds):
                return found
        return None

    def _find_first_rows(self, leader: Contender, smallest: int) -> int:
        """Return the rows of the first subset, on which a fit of the leader leaves time for many others; or 0."""
        costs, limit = leader.costs, _FIRST_SUBSET_TIME * self.shares.time_limit
        most = min(self.shares.max_rows, _FIRST_SUBSET_ROWS)
        return find_largest_size(most, lambda n: costs.fit_seconds(n) <= limit and costs.may_begin(n), smallest)

    def _is_settled(self, leader: Contender) -> bool:
        """Whether more rows are due: new candidates do not lead, and rivals are too close to be told apart."""
        others = [one for one in self.contenders if one.is_alive and one.number > leader.number]
        n_new = sum(next(iter(one.trials)) == self.n_rows for one in others)
        return n_new >= _PATIENCE * len(self.entrants) and len(self._list_next(leader)) > 1

    def _grow(self, leader: Contender, seconds: float) -> bool:
        """Go on with the next subset, the leader and those close to it; return whether there is one."""
        n_rows, max_rows = _SUBSET_FACTOR * self.n_rows, self.shares.max_rows
        if 2 * n_rows > max_rows:
            # A subset of nearly all rows would leave no time for all of them.
            n_rows = max_rows
        if leader.n_rows != self.n_rows or n_rows < MIN_GROWTH * self.n_rows:
            return False
        costs = [one.costs.fit_seconds(n_rows) for one in self._list_next(leader)]
        n_next = sum(total <= seconds / 2 for total in accumulate(costs))
        if n_next:
            self.begin_subset(n_rows, self._list_next(leader)[:n_next])
        return n_next > 0

    def _list_next(self, leader: Contender) -> list[Contender]:
        """Return those that go on with the next subset: the leader and its rivals, or all after first looks."""
        others = [one for one in self.contenders if one.is_alive and one is not leader and one.n_rows == self.n_rows]
        if self.n_rows == self.shares.n_first:
            return [leader, *_rank(others)]
        return [leader, *_rank(one for one in others if not self._is_behind(one, leader))[:_MAX_RIVALS]]

    def choose_finalist(self, busy: Sequence[Contender] = ()) -> Contender | None:
        """Return the candidate that is due for a last fit: the leader, or one that may replace the best model."""
        leader = self.find_leader([one for one in self.contenders if one not in busy])
        best_score = -math.inf if self.in_hand is None else self.in_hand.score
        others = _rank(one for one in self.contenders if one.is_alive and one not in (leader, *busy))[:_MAX_RIVALS]
        due = [*([leader] if leader else []), *(one for one in others if one.promise > best_score)]
        due = [one for one in due if self.finalists.count(one) < _MAX_LAST_FITS]
        return next((one for one in due if self.shares.choose_last_rows(one)), None)

    def begin_subset(self, n_rows: int, first: list[Contender]) -> None:
        """Go on with a subset, and try these contenders first."""
        self.n_rows, self._queue = len(self.shares.list_rows(n_rows)), first
        for entrant in self.entrants:
            entrant.begin_again()

    def _find_new(self, leader: Contender | None) -> Contender | None:
        """Return a contender that was not tried yet, of the learner that had the least time so far."""
        for entrant in sorted(self.entrants, key=lambda entrant: entrant.seconds):
            best = self.find_leader(entrant.contenders)
            if entrant.is_out or (best and leader and self._is_behind(best, leader) and not entrant.starts):
                continue
            if (settings := entrant.suggest(partial(self.shares.count_steps, n_rows=self.n_rows))) is not None:
                return self.add(entrant, settings)
        return None

    def _is_behind(self, contender: Contender, leader: Contender) -> bool:
        """Whether a contender is clearly behind the leader on the present subset, or has not come that far."""
        trial, last = contender.trials.get(self.n_rows), leader.trials.get(self.n_rows)
        if trial is None or last is None:
            return last is not None
        return leader.promise - contender.promise > _CLEAR_ERRORS * last.difference_error(trial)


def _rank(contenders: Iterable[Contender]) -> list[Contender]:
    """Return contenders, first those with the most rows, and among these the one that promises most."""
    return sorted(contenders, key=lambda one: (one.n_rows, one.promise), reverse=True)
