"""With `n_jobs`, a second learner takes the large bets, while the first one teaches smaller lessons beside it."""

from __future__ import annotations

from fitwithin._core.records import Wait
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._auto.bet import choose_bet, choose_measurement, teach_bets
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Requests, Subgenerator

_SAFE_CHANCE = 0.8  # least chance to end of a lesson beside a bet


class SecondLearner:
    """The large bets.

    Attributes
    ----------
    state : TeachingState or None
        The state of the lessons, once the first ones tell what a bet would take.
    is_over : bool
        Whether no bet follows.
    """

    def __init__(self) -> None:
        self.state: TeachingState | None = None
        self.is_over = False

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
            bet = choose_bet(state, state.n_under_way // 2)
            if bet is None or bet.chance < _SAFE_CHANCE:
                yield Wait()
            else:
                yield from state.teach(state.list_rows(bet.n_rows))
