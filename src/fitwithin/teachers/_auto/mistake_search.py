"""The search for rows that the last model misclassifies, for oversampling of them in the next lesson."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitwithin._core.records import Rows, examine
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.teachers._base import Subgenerator

_MAX_EXAMINED_PER_NEW_ROW = 4  # rows; where mistakes are rare, a lesson holds fewer of them
_SEARCH_TIME = 0.35  # for one search, of the time left
_SPARE_FACTOR = 1.05  # rows examined, relative to the expected need: mistakes come by chance
_ASSUMED_MISTAKES = 0.2  # among the validation rows, where there are none


@dataclass(frozen=True)
class MistakeSearch:
    """Exam that finds mistakes of the last model.

    Parameters
    ----------
    alpha : float
        Fraction of the new rows that are mistakes of the last model; the others are random rows.
    """

    alpha: float

    def rows_to_examine(self, state: TeachingState, n_new: int) -> int:
        """Return the number of rows that should hold the mistakes for a lesson with `n_new` new rows."""
        error_rate = max(state.error_rate, _ASSUMED_MISTAKES / max(1, len(state.validation_set)))
        wanted = min(
            _SPARE_FACTOR * self.alpha * n_new / error_rate, _MAX_EXAMINED_PER_NEW_ROW * n_new, state.deck.left
        )
        return state.costs.affordable_exam_rows(_SEARCH_TIME, int(wanted))

    def find_mistakes(self, state: TeachingState, n_new: int) -> Subgenerator[Rows]:
        """Examine rows and return the mistakes for a lesson with `n_new` new rows, or as many as were found."""
        answers = yield from examine(state.deck.deal(self.rows_to_examine(state, n_new)))
        found = np.flatnonzero(answers.wrong)[: round(self.alpha * n_new)]
        state.deck.discard(np.delete(answers.rows, found))
        return answers.rows[found]
