"""Which of two models is better, by their scores on the same validation rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fitwithin._core.candidate import Candidate
from fitwithin._core.records import Answers, Estimate, difference_error

TOLERATED_ERRORS = 2.0
"""Standard errors by which a model with more rows may score lower than the best one, and still replaces it.

The best of several models is lucky too. With 1 instead of 2, every second fit of a learner whose scores hardly grow any
more ended on a part of the rows, although there was time for all.
"""

# Chance that other hyperparameters replace the learner's own although none of those tried is better.
_FALSE_ALARM_CHANCE = 0.05


def paired_error(first: Answers, second: Answers) -> float:
    """Return the standard error of the difference between two scores; a smaller one if the rows are the same.

    Examples
    --------
    >>> import numpy as np
    >>> wrong, score = np.array([True, False]), Estimate(0.5, -0.48, 1.48)
    >>> influences = np.array([[0.3, 0.1], [0.3, 0.2]], np.float32)
    >>> first, second = (Answers(np.arange(2), wrong, None, score, influence) for influence in influences)
    >>> round(paired_error(first, second), 3)
    0.1
    """
    if first.influence is not None and second.influence is not None and np.array_equal(first.rows, second.rows):
        error = difference_error(first.influence, second.influence)
        if error is not None:
            return error
    return math.hypot(*(math.inf if one.score is None else one.score.standard_error for one in (first, second)))


def is_worse(candidate: Estimate, best: Estimate, error: float, *, tolerated: float = TOLERATED_ERRORS) -> bool:
    """Whether a new model's score on validation rows is clearly below the best one.

    Parameters
    ----------
    candidate, best : Estimate
        The two scores.
    error : float
        The standard error of their difference.
    tolerated : float, optional
        Standard errors by which the score may be lower.

    Examples
    --------
    >>> best, candidate = Estimate(0.80, 0.78, 0.82), Estimate(0.79, 0.77, 0.81)
    >>> is_worse(candidate, best, error=0.014), is_worse(candidate, best, error=0.004)
    (False, True)
    """
    return not candidate.value - best.value >= -tolerated * error


def clear_errors(n_tried: int) -> float:
    """Return by how many standard errors the best of several candidates must be ahead: the best of many is lucky too.

    Examples
    --------
    >>> [round(clear_errors(n_tried), 1) for n_tried in (1, 5, 50)]
    [1.6, 2.3, 3.1]
    """
    return NormalDist().inv_cdf(1 - _FALSE_ALARM_CHANCE / max(1, n_tried))


def is_clearly_better(candidate: Estimate, best: Estimate, error: float, *, n_tried: int = 2) -> bool:
    """Whether other hyperparameters score higher than a learner's own by more than chance, as the best of `n_tried`.

    Examples
    --------
    >>> best, candidate = Estimate(0.79, 0.77, 0.81), Estimate(0.80, 0.78, 0.82)
    >>> is_clearly_better(candidate, best, error=0.014), is_clearly_better(candidate, best, error=0.004)
    (False, True)
    """
    return candidate.value - best.value > clear_errors(n_tried) * error


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """What is known about a model when it is compared.

    Parameters
    ----------
    answers : Answers
        Its answers to an exam on the validation rows.
    n_rows : int
        Rows that it was trained on.
    candidate : Candidate or None, default=None
        In a search, the learner and its hyperparameters.
    extends : bool, default=False
        Whether both models were trained on plain random rows, and this one on all rows of the other and more.
    """

    answers: Answers
    n_rows: int
    candidate: Candidate | None = None
    extends: bool = False

    def is_preferred_to(self, best: ScoredModel) -> bool:
        """Whether this model replaces the best one.

        A model that extends the other one wins unless its score is clearly lower: a tie on a few validation rows is a
        gain on many. A learner's own hyperparameters come first, unless others on as many rows score clearly higher.
        Else the higher score wins.
        """
        new_score, best_score = self.answers.score, best.answers.score
        if new_score is None or best_score is None:
            return new_score is not None
        error = paired_error(self.answers, best.answers)
        one, other = self.candidate, best.candidate
        if one is None or other is None or one is other:
            return not is_worse(new_score, best_score, error) if self.extends else new_score.value > best_score.value
        n_tried = max(one.number, other.number)
        if one.has_own_settings and not other.has_own_settings and self.n_rows >= best.n_rows:
            return not is_clearly_better(best_score, new_score, error, n_tried=n_tried)
        if other.has_own_settings and not one.has_own_settings and self.n_rows <= best.n_rows:
            return is_clearly_better(new_score, best_score, error, n_tried=n_tried)
        return new_score.value > best_score.value
