"""The selector: which model is best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from fitwithin._core.records import ClassCounts, Estimate, Returns
from fitwithin.backends import SavedModel


@dataclass(frozen=True, eq=False)
class Candidate:
    """A saved model, and what is known about it.

    Parameters
    ----------
    model : SavedModel
        The model.
    n_rows : int
        Rows that it was trained on.
    class_counts : array of int or None
        The same by class; None without classes.
    estimate : Estimate or None
        The score that it is compared by.
    fresh_estimate : Estimate or None
        The score over rows that had no part in training or choosing.
    """

    model: SavedModel
    n_rows: int
    class_counts: ClassCounts | None = None
    estimate: Estimate | None = None
    fresh_estimate: Estimate | None = None


class ModelSelector:
    """Decide whether a new model replaces the best one, and hold the best one.

    Parameters
    ----------
    returns : {"best", "last"}
        Which model the teacher wants back.

    Attributes
    ----------
    best : Candidate or None
        The best model so far.
    former : Candidate or None
        The best model before it, in case that the best one cannot be loaded.
    """

    def __init__(self, returns: Returns) -> None:
        self._returns = returns
        self.best: Candidate | None = None
        self.former: Candidate | None = None

    @property
    def accepts_every_model(self) -> bool:
        """Whether every new model replaces the one before, whatever its score."""
        return self._returns == "last"

    def prefers(self, estimate: Estimate | None, *, validated: bool = False, has_every_row: bool = False) -> bool:
        """Whether a new model replaces the best one.

        Parameters
        ----------
        estimate : Estimate or None
            Its score; None if it was not examined.
        validated : bool, default=False
            Whether the score is by validation rows, the same for all models. The new model then wins unless it is
            clearly worse: it was trained on more rows, and a tie on a few validation rows is a gain on many.
            Otherwise its lower bound must be higher, as in the paper.
        has_every_row : bool, default=False
            Whether it was trained on every row of the pool, which needs no exam.
        """
        if self.accepts_every_model:
            return True
        best = None if self.best is None or not _is_finite(self.best.estimate) else self.best.estimate
        if estimate is not None and not _is_finite(estimate) and self.best is not None:
            # A metric that is not defined on the rows, or a model that predicts NaN.
            return False
        if has_every_row:
            return True
        if estimate is None:
            return False
        if best is None:
            return True
        return not is_worse(estimate, best) if validated else estimate.low > best.low

    def replace_best(self, candidate: Candidate) -> None:
        """Make a model the best one, keep the one before, and discard the one before that."""
        discarded, self.former, self.best = self.former, self.best, candidate
        if discarded is not None:
            discarded.model.discard()

    def withdraw_best(self) -> None:
        """Make the model before the best one, which turned out to be unusable."""
        withdrawn, self.best, self.former = self.best, self.former, None
        if withdrawn is not None:
            withdrawn.model.discard()

    def update_best(self, estimate: Estimate | None, fresh_estimate: Estimate | None) -> None:
        """Set the scores of the best model, once its round is over."""
        if self.best is not None:
            self.best = replace(self.best, estimate=estimate, fresh_estimate=fresh_estimate)

    def close(self) -> None:
        """Discard the models; one was loaded, or none is wanted."""
        for candidate in (self.former, self.best):
            if candidate is not None:
                candidate.model.discard()


def _is_finite(estimate: Estimate | None) -> bool:
    return estimate is not None and math.isfinite(estimate.value)


def is_worse(candidate: Estimate, best: Estimate) -> bool:
    """Whether a new model's whole interval lies below the best score, on the same validation rows.

    Examples
    --------
    >>> is_worse(Estimate(0.76, 0.74, 0.78), Estimate(0.80, 0.78, 0.82))
    True
    >>> is_worse(Estimate(0.79, 0.77, 0.81), Estimate(0.80, 0.78, 0.82))
    False
    """
    return not candidate.high >= best.value
