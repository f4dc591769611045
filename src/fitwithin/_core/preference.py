"""Which of two models is better, by their scores on the same validation rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Answers, Estimate, difference_error

TOLERATED_ERRORS = 2.0
"""Standard errors by which a model with more rows may score lower than the best one, and still replaces it.

The best of several models is lucky too. With 1 instead of 2, every second fit of a learner whose scores hardly grow any
more ended on a part of the rows, although there was time for all.
"""

_POINT = 0.01
"""By about as much, tuned hyperparameters are better or worse than a learner's own."""


@dataclass(eq=False)
class Candidate:
    """A learner with settings of its own, not fitted, and what it costs.

    Only a clearly better candidate takes the place of one that `has_own_settings`: the learner as the user gave it.
    `number` is its place among all candidates, from 0.
    """

    number: int
    estimator: Any
    costs: CostEstimates
    has_own_settings: bool = False


def paired_error(first: Answers, second: Answers) -> float:
    """Return the standard error of the difference between two scores; a smaller one if the rows are the same."""
    if first.influence is not None and second.influence is not None and np.array_equal(first.rows, second.rows):
        error = difference_error(first.influence, second.influence)
        if error is not None:
            return error
    return math.hypot(*(math.inf if one.score is None else one.score.standard_error for one in (first, second)))


def is_worse(candidate: Estimate, best: Estimate, error: float, *, tolerated: float = TOLERATED_ERRORS) -> bool:
    """Whether a score is clearly below the best one: by more than `tolerated` standard errors of their difference."""
    return not candidate.value - best.value >= -tolerated * error


def is_better_than_own(gain: float, error: float, score: float) -> bool:
    """Whether other hyperparameters are better than a learner's own, by their gain on validation rows.

    The gain is shrunk towards its prior: other hyperparameters are a point worse on average, with a standard deviation
    of a point. So a gain counts if it is more than the squared error in points. A small error protects little, and need
    not: the own hyperparameters would be as good.

    Examples
    --------
    >>> is_better_than_own(0.01, 0.014, 0.8), is_better_than_own(0.01, 0.004, 0.8)
    (False, True)
    """
    # A point is a part of 1 for accuracy and the like, of the score itself for other metrics.
    return gain > error**2 / (_POINT * (1.0 if 0 <= score <= 1 else abs(score)))


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model when it is compared, by its answers to an exam on the validation rows.

    It `extends` the other if both were trained on plain random rows, and this one on all rows of the other and more. In
    a search, `candidate` is the learner and its hyperparameters.
    """

    answers: Answers
    n_rows: int
    candidate: Candidate | None = None
    extends: bool = False

    def is_preferred_to(self, best: ScoredModel) -> bool:
        """Whether this model replaces the best one.

        One that cannot predict more than 1 % of the rows loses to one that can predict more. A model that extends the
        other wins unless its score is clearly lower: a tie on a few validation rows is a gain on many. A learner's own
        hyperparameters come first, unless `is_better_than_own` says that others on as many rows are better. Else the
        higher score wins.
        """
        new_score, best_score = self.answers.score, best.answers.score
        if new_score is None or best_score is None:
            return new_score is not None
        if self.answers.unpredicted != best.answers.unpredicted and (
            self.answers.lacks_rows or best.answers.lacks_rows
        ):
            return self.answers.unpredicted < best.answers.unpredicted
        error = paired_error(self.answers, best.answers)
        one, other = self.candidate, best.candidate
        if one is None or other is None or one is other:
            if self.extends:
                return not is_worse(new_score, best_score, error)
            return is_worse(best_score, new_score, error) if best.extends else new_score.value > best_score.value
        if one.has_own_settings and not other.has_own_settings and self.n_rows >= best.n_rows:
            return not is_better_than_own(best_score.value - new_score.value, error, best_score.value)
        if other.has_own_settings and not one.has_own_settings and self.n_rows <= best.n_rows:
            return is_better_than_own(new_score.value - best_score.value, error, best_score.value)
        return new_score.value > best_score.value
