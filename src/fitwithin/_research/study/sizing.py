"""How many rows of a data set a learner is given, so that learning them all takes about so long."""

from __future__ import annotations

import math
from collections.abc import Callable

FEWEST = 5000
"""With fewer rows there is nothing to choose from."""


# However small the scale.
_FEWEST_EVER = 100


_FIRST_TRIAL = 1000


_TRIALS = 8


_LARGEST_STEP = 8.0


_NEAR = 1.25


# With the fewest rows it may take so many times as long as was asked.
_LONGEST = 5.0


def fewest_rows(scale: float) -> int:
    """The fewest rows of a study that uses such a share of everything.

    Examples
    --------
    >>> fewest_rows(1.0), fewest_rows(0.05), fewest_rows(0.001)
    (5000, 250, 100)
    """
    return max(_FEWEST_EVER, round(FEWEST * scale))


def rows_for(seconds: float, seconds_of: Callable[[int], float], most: int, *, fewest: int = FEWEST) -> int | None:
    """So many rows that learning them takes about so many seconds.

    Parameters
    ----------
    seconds : float
        What it should take, give or take a quarter.
    seconds_of : callable
        What learning so many rows takes: a measurement.
    most : int
        Rows that there are; all of them if that does not take as long.
    fewest : int, default=5000
        Rows that it takes for a comparison of teachers.

    Returns
    -------
    int or None
        As many as were tried and came nearest; at least `fewest`, if there are as many. None if those take more than
        five times as long.

    Examples
    --------
    >>> rows_for(4.0, lambda rows: rows / 10_000, most=1_000_000)
    40000
    >>> rows_for(4.0, lambda rows: rows / 10_000, most=20_000)
    20000
    >>> rows_for(4.0, lambda rows: rows / 10, most=20_000) is None
    True
    """
    fewest = min(fewest, most)
    count, before = min(_FIRST_TRIAL, most), (0, 0.0)
    tried: dict[int, float] = {}
    for _ in range(_TRIALS):
        took = max(seconds_of(count), 1e-6)
        if count < fewest and took * fewest / count > _LONGEST * seconds:
            return None
        if count >= fewest:
            tried[count] = took
        # On the line through the last two trials, as far as that is a step of sense.
        each = max((took - before[1]) / (count - before[0]), 1e-9)
        step = min(max(1 + (seconds - took) / each / count, 1 / _LARGEST_STEP), _LARGEST_STEP)
        better, before = min(most, max(fewest, round(count * step))), (count, took)
        if better == count or (count >= fewest and 1 / _NEAR <= took / seconds <= _NEAR):
            return None if took > _LONGEST * seconds else count
        count = better
    nearest = min(tried, key=lambda rows: abs(math.log(tried[rows] / seconds)))
    return None if tried[nearest] > _LONGEST * seconds else nearest
