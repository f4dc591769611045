"""Choice of the number of training rows for which a full training takes a given time."""

from __future__ import annotations

import math
from collections.abc import Callable

MIN_ROWS = 5000
"""Training rows at least; with fewer, a teacher has too few rows to choose from."""


_ABSOLUTE_MIN_ROWS = 100
"""Training rows at least, at any scale."""


_FIRST_TRIAL_ROWS = 1000
"""Rows of the first timed fit: few, because the learner's speed is unknown."""


_MAX_TRIALS = 8
"""Timed fits at most, so that the search ends although measurements vary."""


_MAX_STEP_FACTOR = 8.0
"""Factor between the row counts of two consecutive trials at most; an extrapolation beyond it is unreliable."""


_TOLERANCE_FACTOR = 1.25
"""Factor between the measured and the requested seconds that is accepted."""


_MAX_SLOWDOWN = 5.0
"""Factor above the requested seconds at which a learner is given up, with the fewest rows."""


def scale_min_rows(scale: float) -> int:
    """Return the fewest training rows for a study that uses this share of all rows.

    Examples
    --------
    >>> scale_min_rows(1.0), scale_min_rows(0.05), scale_min_rows(0.001)
    (5000, 250, 100)
    """
    return max(_ABSOLUTE_MIN_ROWS, round(MIN_ROWS * scale))


def find_row_count(
    seconds: float, measure_seconds: Callable[[int], float], max_rows: int, *, min_rows: int = MIN_ROWS
) -> int | None:
    """Return a number of rows for which a fit takes about this many seconds.

    Parameters
    ----------
    seconds : float
        Requested duration, with a tolerance of a quarter.
    measure_seconds : callable
        Measures the seconds of a fit on a number of rows.
    max_rows : int
        Available rows; all of them are used if a fit on them is shorter than requested.
    min_rows : int, default=5000
        Fewest rows that allow a comparison of teachers.

    Returns
    -------
    int or None
        The measured row count with the nearest duration, at least `min_rows` if there are as many. None if a fit on
        `min_rows` takes more than five times as long as requested.

    Examples
    --------
    >>> find_row_count(4.0, lambda rows: rows / 10_000, max_rows=1_000_000)
    40000
    >>> find_row_count(4.0, lambda rows: rows / 10_000, max_rows=20_000)
    20000
    >>> find_row_count(4.0, lambda rows: rows / 10, max_rows=20_000) is None
    True
    """
    min_rows = min(min_rows, max_rows)
    n_rows, previous = min(_FIRST_TRIAL_ROWS, max_rows), (0, 0.0)
    trials: dict[int, float] = {}
    for _ in range(_MAX_TRIALS):
        fit_seconds = max(measure_seconds(n_rows), 1e-6)
        if n_rows < min_rows and fit_seconds * min_rows / n_rows > _MAX_SLOWDOWN * seconds:
            return None
        if n_rows >= min_rows:
            trials[n_rows] = fit_seconds
        # Extrapolate along the line through the last two trials, within the largest step.
        seconds_per_row = max((fit_seconds - previous[1]) / (n_rows - previous[0]), 1e-9)
        step = 1 + (seconds - fit_seconds) / seconds_per_row / n_rows
        step = min(max(step, 1 / _MAX_STEP_FACTOR), _MAX_STEP_FACTOR)
        next_rows, previous = min(max_rows, max(min_rows, round(n_rows * step))), (n_rows, fit_seconds)
        is_close = 1 / _TOLERANCE_FACTOR <= fit_seconds / seconds <= _TOLERANCE_FACTOR
        if next_rows == n_rows or (n_rows >= min_rows and is_close):
            return None if fit_seconds > _MAX_SLOWDOWN * seconds else n_rows
        n_rows = next_rows
    nearest = min(trials, key=lambda rows: abs(math.log(trials[rows] / seconds)))
    return None if trials[nearest] > _MAX_SLOWDOWN * seconds else nearest
