"""Which model is best: by the lower end of the 95 % interval of its score."""

from __future__ import annotations

from fitwithin._core.records import Estimate, Returns


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
