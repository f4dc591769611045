"""The lesson with the best score so far, and the rule by which another one replaces it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitwithin._core.preference import ScoredModel
from fitwithin._core.records import Estimate, Influence, Rows, difference_error


@dataclass(frozen=True, eq=False)
class BestLesson:
    """The lesson with the best score so far.

    Parameters
    ----------
    rows : array of int
        Its rows.
    score : Estimate
        Its score on the validation rows.
    was_cut_short : bool, default=False
        Whether its fit was stopped early.
    influence : array of float or None, default=None
        See `Answers.influence`.
    n_validation_rows : int, default=0
        Validation rows that its model was examined on.
    """

    rows: Rows
    score: Estimate
    was_cut_short: bool = False
    influence: Influence | None = None
    n_validation_rows: int = 0

    def yields_to(
        self, n_rows: int, score: Estimate, influence: Influence | None, n_validation_rows: int | None = None
    ) -> bool:
        """Whether the session replaces its model by one with this number of rows and this score."""
        if not math.isfinite(score.value):
            return False
        best = ScoredModel(self.score, len(self.rows))
        return ScoredModel(score, n_rows).is_preferred_to(best, self._difference_error(influence, n_validation_rows))

    def _difference_error(self, influence: Influence | None, n_validation_rows: int | None) -> float | None:
        """Return the standard error of the difference to another model; None if it was examined on other rows."""
        if self.influence is None or influence is None or n_validation_rows not in (None, self.n_validation_rows):
            return None
        return difference_error(self.influence, influence)
