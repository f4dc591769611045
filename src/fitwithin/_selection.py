"""Which model is best: by the lower end of the 95 % interval of its score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.stats import binomtest

Z = 1.96
"""How many standard errors a 95 % interval reaches to each side."""

Returns = Literal["best", "last"]
"""Whether a teacher hands back its best model by the bound, or its last one."""


@dataclass(frozen=True)
class Estimate:
    """A score, such as the accuracy, and its 95 % interval.

    Parameters
    ----------
    value, low, high : float
        The score and the ends of its interval.
    """

    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """The standard error."""
        return (self.high - self.low) / (2 * Z)


def accuracy_interval(right: int, rows: int) -> Estimate | None:
    """The accuracy over an exam with the interval of the paper.

    The normal interval of Algorithm 1; where it has no width, at 0 and at 1, Wilson's: five right
    answers are no proof.

    Parameters
    ----------
    right, rows : int
        Right answers, and rows examined.

    Returns
    -------
    Estimate or None
        None if no row was examined.

    Examples
    --------
    >>> round(accuracy_interval(80, 100).low, 4)
    0.7216
    >>> round(accuracy_interval(5, 5).low, 3)
    0.566
    """
    if rows == 0:
        return None
    value = right / rows
    if right in (0, rows):
        wilson = binomtest(right, rows).proportion_ci(method="wilson")
        return Estimate(value, float(wilson.low), float(wilson.high))
    reach = Z * math.sqrt(value * (1 - value) / rows)
    return Estimate(value, value - reach, value + reach)


def prefers(returns: Returns, candidate: Estimate | None, best: Estimate | None, *, whole: bool) -> bool:
    """Whether a new model takes the place of the best one.

    Parameters
    ----------
    returns : {"best", "last"}
        What the teacher wants back.
    candidate : Estimate or None
        The new model's estimate; None if it sat no exam.
    best : Estimate or None
        That of the best model so far; None if there is none.
    whole : bool
        Whether the new model was taught every row of the pool, which needs no exam.
    """
    if returns == "last" or whole:
        return True
    if candidate is None:
        return False
    return best is None or candidate.low > best.low


def is_worse(candidate: Estimate, best: Estimate) -> bool:
    """Whether a new model is worse than the best one, by the same rows: with its whole interval.

    It was taught more, and what is about as good on a few judges is better on many.

    Examples
    --------
    >>> is_worse(Estimate(0.76, 0.74, 0.78), Estimate(0.80, 0.78, 0.82))
    True
    >>> is_worse(Estimate(0.79, 0.77, 0.81), Estimate(0.80, 0.78, 0.82))
    False
    """
    return not candidate.high >= best.value
