"""The hedge: with a second learner, plain fits on as many random rows as the time allows, beside the lessons."""

from __future__ import annotations

import math

import numpy as np

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Lesson, Rows, Wait, teach
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._auto.plan import Planner
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Requests, Subgenerator
from fitwithin.teachers._shared_steps import find_largest_size, make_limit

_CHOOSING_TIME = 0.02  # of the time left, that the choice of rows may take
_CHOOSING_SECONDS_PER_ROW = 1e-7  # of the pool

# The first fit, which shows the cost of more rows while the first lesson shows the cost of few
_MEASURED_ROWS = 20_000  # for a few steps of a learner that knows them; they take some tenths of a second
_MEASURED_TIME = 0.05  # of the time left for it; then a learner that did not tell its steps is told to stop
_SECOND_SIZE = 4  # times the rows of the first lesson, for any other learner

# A learner that can stop early leaves a model whatever happens, and the lessons beside it are cautious enough. The
# first steps of boosters are slow, so that fewer seem to end than will.
_BOLD_STEPS = 0.6  # of all steps, that should end with even chances

_MIN_GROWTH = 1.1  # times the rows, from one fit to the next

# Time that a fit leaves at least for what follows it: at the start, the cost of exams is not known
_RESERVED_TIME = 0.05  # of the time left
_RESERVED_SECONDS = 0.6  # for a process that loads the model, and for exams of a slow one
_MAX_RESERVED_TIME = 0.18  # of the time left, which these seconds may take
_SPARE_TIME = 0.35  # of the time left, that the lessons beside it leave unused until there is a fair model


class Hedge:
    """Plain fits beside the lessons of `Auto`, in case that they come to nothing.

    At the start it shows the cost of more rows than the first lesson has. Then it fits as many rows as should end by
    the deadline; most often one fit takes all the time. Its models are compared like any other.

    Parameters
    ----------
    rng : numpy.random.Generator
        Chooses its rows where it cannot take those that the lessons would take next.

    Attributes
    ----------
    state : TeachingState or None
        The state of the lessons, once there is one.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.state: TeachingState | None = None

    def teach(self, deck: Deck) -> Requests:
        """Yield a request that shows the cost, then lessons and their exams."""
        while self.state is None or deck.is_growing:
            yield Wait()
        state, n_rows = self.state, 0
        if _CHOOSING_SECONDS_PER_ROW * deck.pool_size > _CHOOSING_TIME * deck.costs.seconds_left:
            return "time"
        rows = self._order_rows(state)
        try:
            yield from _measure(state, rows)
            while (larger := _find_largest_size(state, len(rows))) > _MIN_GROWTH * n_rows:
                n_rows = larger
                yield from _teach_and_examine(state, rows[:n_rows])
                state.spare_time = 0.0
        except OutOfMemory:
            # The lessons go on.
            pass
        return "time"

    def _order_rows(self, state: TeachingState) -> Rows:
        """Return all rows that may be taught, in random order.

        They begin with those of the first lesson and go on with those that the deck deals next.
        """
        if state.deck.resume_point is not None:
            # The lessons of an earlier fit may be full of mistakes.
            rows = state.deck.rows
            return self._rng.permutation(rows[~np.isin(rows, state.kept_back)])
        return state.list_next_rows(state.n_usable)


def _measure(state: TeachingState, rows: Rows) -> Subgenerator[None]:
    """Show the cost of more rows than the first lesson has, and wait until it is known."""
    fits, n_first = state.costs.cost.fits, len(state.lesson)
    if state.deck.resume_point is None and state.costs.memory.limit is None:
        # With a memory limit, the first lesson shows what a row takes.
        if state.costs.knows_steps:
            stop_after = make_limit(_MEASURED_TIME * state.costs.seconds_left)
            yield Lesson(rows[:_MEASURED_ROWS], stop_after=stop_after, give_up_over=0.0)
        n_rows = min(_SECOND_SIZE * n_first, len(rows))
        if fits.largest_known_rows < n_rows:
            yield Lesson(rows[:n_rows])
    while not fits.n_sizes or (fits.knows_first_fit_only and _find_largest_size(state, len(rows)) < len(rows)):
        # Fewer rows than all are chosen by the cost of two sizes.
        yield Wait()


def _find_largest_size(state: TeachingState, most: int) -> int:
    """Return the rows of the largest fit that should end in time; 0 if none should."""
    most, fits = state.costs.largest_lesson_rows(most), state.costs.cost.fits
    if not state.costs.can_stop_early:
        return Planner(state, None).find_largest_plain_lesson(most)
    return find_largest_size(
        most, lambda size: fits.chance_to_end(size, _find_seconds(state, size), share_of_steps=_BOLD_STEPS) >= 0.5, 2
    )


def _find_seconds(state: TeachingState, n_rows: int) -> float:
    """Return the seconds that a fit may take, for its model to be examined and saved."""
    seconds_left = state.costs.seconds_left
    if math.isinf(seconds_left):
        return seconds_left
    least = max(_RESERVED_TIME * seconds_left, min(_RESERVED_SECONDS, _MAX_RESERVED_TIME * seconds_left))
    return seconds_left - max(state.reserved_seconds(n_rows), least)


def _teach_and_examine(state: TeachingState, rows: Rows) -> Subgenerator[None]:
    seconds = _find_seconds(state, len(rows))
    if math.isfinite(seconds):
        # Both learners should not be late together.
        state.spare_time = _SPARE_TIME
    stop_after = make_limit(max(seconds, 0.0))
    report = yield from teach(Lesson(rows, state.make_exams(len(rows)), stop_after=stop_after))
    if report.is_best:
        state.note_best(rows, report)
