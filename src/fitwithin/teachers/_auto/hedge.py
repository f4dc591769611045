"""The hedge: with a second learner, one plain fit on as many random rows as the time allows, beside the lessons."""

from __future__ import annotations

import numpy as np

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Lesson, Rows, Wait, examine
from fitwithin.teachers._auto.plan import Planner
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck

_CHOOSING_TIME = 0.02  # of the time left, that the choice of rows may take
_CHOOSING_SECONDS_PER_ROW = 1e-7  # of the pool


class Hedge:
    """A plain fit beside the lessons of `Auto`, in case that they come to nothing.

    Its rows are random, and independent of those of the lessons. It begins when the cost of two lessons is known, and
    its model is compared like any other.

    Parameters
    ----------
    rng : numpy.random.Generator
        Chooses its rows.

    Attributes
    ----------
    state : TeachingState or None
        The state of the lessons, once there is one.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.state: TeachingState | None = None

    def teach(self, deck: Deck) -> Requests:
        """Wait for the costs, then yield one lesson and its exams."""
        while self.state is None or deck.outlook.cost.fits.knows_first_fit_only or deck.is_growing:
            yield Wait()
        state = self.state
        if _CHOOSING_SECONDS_PER_ROW * deck.pool_size > _CHOOSING_TIME * deck.outlook.seconds_left:
            return "time"
        usable = state.find_usable_rows()
        n_rows = Planner(state, None).find_largest_plain_lesson(len(usable))
        if not n_rows:
            return "time"
        rows = self._choose_rows(usable, n_rows)
        n_exam_rows = state.count_exam_rows(len(rows))
        try:
            yield Lesson(rows, within=state.lesson_seconds(len(rows)))
            yield from examine(state.list_holdout_rows(n_exam_rows), purpose="holdout")
            yield from examine(state.validation_set[:n_exam_rows], purpose="validation")
        except OutOfMemory:
            # The lessons go on.
            pass
        return "time"

    def _choose_rows(self, usable: Rows, n_rows: int) -> Rows:
        return usable if n_rows >= len(usable) else self._rng.choice(usable, n_rows, replace=False)
