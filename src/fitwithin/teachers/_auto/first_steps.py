"""A look at many rows: the first steps of a fit, of a learner that knows how many there are."""

from __future__ import annotations

import numpy as np

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Lesson, teach
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._shared_steps import find_largest_size, make_limit

_LOOK_TIME = 0.05  # for set-up and first steps, of the time left
_FIRST_STEPS = 0.02  # of all steps
_MIN_LOOK_GROWTH = 3  # times the rows of the largest lesson so far
_MAX_LOOK_GROWTH = 16  # times the same; the set-up is hard to predict for more
_FIRST_LOOK_OVERSIZE = 8  # times the rows that should end in time, while only one size is known


def look_at_many_rows(state: TeachingState, *, go_on: bool) -> Subgenerator[None]:
    """Begin a fit on many rows, to learn from its first steps what all of them would take.

    Parameters
    ----------
    state : TeachingState
        The lessons so far.
    go_on : bool
        Whether a fit on every row that is projected to end in time goes on to its end. Any other one gives up: on
        fewer rows it would take time from a larger one. The last model is lost for a set-up and few steps.
    """
    while state.costs.knows_steps:
        n_rows = _choose_look_size(state)
        if n_rows <= _MIN_LOOK_GROWTH * state.costs.largest_known_rows:
            return
        may_go_on = go_on and n_rows >= state.max_rows
        new = state.deck.deal(n_rows - len(state.lesson))
        rows = np.concatenate([state.lesson, new])
        # A fit that takes longer than its first steps promised leaves a model all the same.
        stop_after = state.seconds_within(n_rows, 1.0 if may_go_on else _LOOK_TIME)
        look = Lesson(
            rows,
            state.make_exams(n_rows, stop_after),
            stop_after=make_limit(stop_after),
            give_up_over=stop_after if may_go_on else 0.0,
        )
        state.has_model = False
        try:
            report = yield from teach(look)
        except OutOfMemory:
            # The next lesson is chosen by what is known now.
            state.deck.put_back(new)
            return
        if may_go_on and not report.gave_up:
            state.note_lesson(rows, report)
            return
        state.deck.put_back(new)
        if report.is_best:
            state.note_best(rows, report)


def _choose_look_size(state: TeachingState) -> int:
    """Return the most rows whose set-up is cheap, and no more than could be taught."""
    costs, limit = state.costs, _LOOK_TIME * state.costs.seconds_left
    oversize = _FIRST_LOOK_OVERSIZE if costs.may_try_again else 1

    def is_cheap(n_rows: int) -> bool:
        first_steps = costs.setup_seconds(n_rows) + _FIRST_STEPS * costs.fit_seconds(n_rows)
        return first_steps <= limit and costs.fit_seconds(n_rows // oversize) <= costs.seconds_left

    most = min(state.max_rows, _MAX_LOOK_GROWTH * costs.largest_known_rows)
    return find_largest_size(most, is_cheap, ratio=2)
