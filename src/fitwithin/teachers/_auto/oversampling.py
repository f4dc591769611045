"""Oversampling of misclassified rows: one lesson in the time after the plain ones."""

from __future__ import annotations

import numpy as np

from fitwithin._core.records import Rows, examine
from fitwithin.teachers._auto.bet import LEAST_CHANCE_UNKILLABLE
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Subgenerator
from fitwithin.teachers._shared_steps import find_largest_size

_JUDGE_ONE_IN = 10  # rows of the pool for each row of the lesson whose model finds mistakes
_MIN_JUDGE_ROWS = 1_000
_LEAST_GROWTH = 2  # times these rows; a smaller lesson is not worth it
_MAX_SHARE = 0.45  # of the rows: a lesson takes easy rows of one half and misclassified ones of the other
_LEAST_CHANCE = 0.5  # that the large lesson ends


def teach_oversampled(state: TeachingState) -> Subgenerator[None]:
    """Teach a small lesson, and then a large one with mistakes of its model among rows that it was not taught."""
    n_judge = max(_MIN_JUDGE_ROWS, state.n_usable // _JUDGE_ONE_IN)
    seconds = state.costs.fit_seconds(n_judge)
    if choose_size(state, seconds) < _LEAST_GROWTH * n_judge:
        return
    judge = yield from state.teach(state.list_rows(n_judge))
    n_rows = choose_size(state)
    if judge is not None and n_rows > n_judge:
        lesson = yield from _choose_rows(state, n_rows)
        yield from state.teach(lesson, oversampled=True)


def choose_size(state: TeachingState, spent: float = 0.0) -> int:
    """Return the rows of the largest lesson that should end in time after `spent` seconds, with its search."""
    costs, largest = state.costs, min(int(_MAX_SHARE * state.n_usable), state.max_rows)
    least = _LEAST_CHANCE if costs.can_be_ended else LEAST_CHANCE_UNKILLABLE

    def may_end(n_rows: int) -> bool:
        seconds = state.seconds_for_fit(n_rows) - costs.exam_seconds(n_rows) - spent
        return costs.chance_to_end(n_rows, seconds) >= least

    return find_largest_size(largest, may_end)


def _choose_rows(state: TeachingState, n_rows: int) -> Subgenerator[Rows]:
    """Return the first rows of the order, some of them replaced by mistakes of the last model in as many other rows."""
    others = state.list_rows(2 * n_rows)[n_rows:]
    answers = yield from examine(others)
    mistakes = answers.rows[answers.wrong]
    return np.concatenate([state.order[: n_rows - len(mistakes)], mistakes])
