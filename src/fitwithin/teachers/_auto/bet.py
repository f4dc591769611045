"""The size of the next plain lesson: the one with the largest expected gain at the deadline."""

from __future__ import annotations

from fitwithin._core.records import Wait
from fitwithin._pools.decks.deck import Deck, find_largest_size, list_sizes
from fitwithin.teachers._auto.state import SURE_CHANCE, TeachingState
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._learning_curve import find_promising_size

_SIZE_RATIO = 1.06  # between two sizes that are considered
_MIN_GROWTH = 1.1  # times the rows of the last model; less is not worth a lesson
_LEAST_CHANCE = 0.25  # of a bet: time that is left over is worth nothing
_SURE_CHANCE = 0.7  # with which every row is taken, although fewer would have the larger expected gain

# Measurements: at most two
_MAX_MEASUREMENTS = 2
_FIRST_STEPS = 0.05  # of all steps, before a fit is projected
_SCOUT_SHARE = 0.15  # of the seconds that the bet should take
_SCOUT_CHANCE = 0.72  # least chance that it takes no more
_SCOUT_GROWTH = 2  # least ratio to the rows that were measured

_SAFE_CHANCE = 0.8  # least chance to end of a lesson beside a bet


def choose_bet(state: TeachingState, most: int) -> int:
    """Return the rows, up to `most`, of the plain lesson with the largest expected gain; 0 if none is likely to end."""
    least, trained = state.costs.least_chance(_LEAST_CHANCE), max(1, state.n_trained)
    if most == state.max_rows > state.n_trained and find_chance(state, most) >= max(least, _SURE_CHANCE):
        return most
    smallest = max(state.n_trained + 1, min(_MIN_GROWTH * trained, most))
    sizes = list_sizes(most, smallest, _SIZE_RATIO)
    return find_promising_size(sizes, trained, lambda n_rows: find_chance(state, n_rows), least)


def find_chance(state: TeachingState, n_rows: int) -> float:
    """Return the chance that a lesson of this size ends in time, or nearly so."""
    return state.costs.chance_to_end(n_rows, state.seconds_for_fit(n_rows))


def teach_bets(state: TeachingState) -> Subgenerator[None]:
    """Teach the largest lessons that should end in time, after measurements in a small part of it."""
    end = state.costs.seconds_left - state.measuring_seconds
    n_measured = 0
    while not state.must_skip_exams:
        # Up to a memory limit, lessons would grow by ever less.
        least = _MIN_GROWTH * state.n_trained if state.max_rows < state.n_usable else state.n_trained + 1
        if state.max_rows < least:
            return
        n_bet, n_look = choose_bet(state, state.max_rows), 0
        if n_measured < _MAX_MEASUREMENTS:
            n_look = choose_measurement(state, n_bet, state.costs.seconds_left - end)
            n_measured += 1
        n_rows = state.n_under_way = n_look or n_bet
        if not n_rows:
            if state.has_poor_model:
                # Steps that a short first lesson left out (benchmarks/tunnel, T of 0.05 t_full: score + 0.3 points).
                yield from state.teach(state.order[: state.n_first])
            return
        give_up_over, traits = None, state.costs.cost.traits
        if n_look and state.costs.knows_steps:
            # A measurement ends after its first steps, since a larger fit may be affordable; one on every row goes on.
            seconds = 0.0 if n_look < state.max_rows else state.seconds_for_fit(n_rows)
            give_up_over = max(0.0, seconds) / state.costs.worth_share
        elif n_measured < _MAX_MEASUREMENTS and state.costs.knows_steps and traits.least_share:
            give_up_over = max(0.0, state.seconds_for_fit(n_rows)) / traits.least_share
        yield from state.teach(state.list_rows(n_rows), give_up_over=give_up_over)


def choose_measurement(state: TeachingState, n_bet: int, seconds: float) -> int:
    """Return the rows of a fit that tells what the bet would take; 0 if that is not worth its time.

    A learner that knows its steps begins a fit that may be too large, and gives it up after its first steps. Any other
    one fits a part of the rows of the bet.
    """
    costs, known = state.costs, state.costs.cost.fits.largest_known_rows
    if costs.knows_steps:
        return _choose_look(state, n_bet, seconds)
    # One small fit may say nothing about every row.
    least_chance = SURE_CHANCE if costs.cost.fits.n_sizes > 1 else 1.0
    if 0 < n_bet == state.max_rows and find_chance(state, n_bet) >= least_chance:
        return 0
    n_median = find_largest_size(state.max_rows, lambda n_rows: find_chance(state, n_rows) >= 0.5)
    most = max(n_bet, n_median)
    limit = min(seconds, _SCOUT_SHARE * costs.fit_seconds(most))

    def may_end(n_rows: int) -> bool:
        is_sure = find_chance(state, n_rows) >= costs.least_chance(0.0)
        return is_sure and costs.cost.fits.chance_to_end(n_rows, limit) >= _SCOUT_CHANCE

    scout = find_largest_size(most // 2, may_end, _SCOUT_GROWTH * known)
    least = min(_SCOUT_GROWTH * known, state.max_rows)
    may_try = costs.may_try_again if not n_bet else costs.fit_seconds(least) <= seconds
    return scout or (least if may_try else 0)


def _choose_look(state: TeachingState, n_bet: int, seconds: float) -> int:
    """Return the rows of a fit whose first steps should take at most some seconds."""
    costs, known = state.costs, state.costs.cost.fits.largest_known_rows
    if n_bet <= known or (n_bet == state.max_rows and find_chance(state, n_bet) >= _SURE_CHANCE):
        return 0

    def may_begin(n_rows: int) -> bool:
        first_steps = costs.setup_seconds(n_rows) + _FIRST_STEPS * costs.fit_seconds(n_rows)
        return first_steps <= seconds and find_chance(state, n_rows) >= _LEAST_CHANCE

    return find_largest_size(state.max_rows, may_begin, _MIN_GROWTH * known)


class SecondLearner:
    """With `n_jobs`, the learner of the large bets, while the first one teaches smaller lessons beside it."""

    def __init__(self) -> None:
        self.state: TeachingState | None = None  # once the first lessons tell what a bet would take
        self.is_over = False  # whether no bet follows

    def teach(self, deck: Deck) -> Requests:
        """Teach bets once the first fits of the other learner tell what they would take."""
        try:
            while self.state is None:
                yield Wait()
            yield from teach_bets(self.state)
        finally:
            self.is_over = True
        return "time"

    def teach_beside(self, state: TeachingState) -> Subgenerator[None]:
        """Teach a scout, and then lessons of at most half of the rows of the bet under way."""
        if not state.costs.knows_steps and (n_rows := choose_measurement(state, 0, state.measuring_seconds)):
            yield from state.teach(state.list_rows(n_rows))
        self.state = state
        while not self.is_over:
            n_rows = choose_bet(state, state.n_under_way // 2)
            if n_rows and find_chance(state, n_rows) >= _SAFE_CHANCE:
                yield from state.teach(state.list_rows(n_rows))
            else:
                yield Wait()
