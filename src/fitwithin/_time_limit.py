"""A time limit as people write it, in seconds."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from numbers import Real

TimeLimit = float | str | timedelta
"""Seconds, a `timedelta`, or text such as "90s", "15m", "1h30m"."""

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|ms|m|s)\s*")
_ACCEPTED = 'seconds (60, 2.5), a datetime.timedelta, or text such as "90s", "15m", "1h30m"'


def seconds_of(time_limit: TimeLimit) -> float:
    """Seconds in a time limit.

    Parameters
    ----------
    time_limit : int, float, timedelta or str
        For example 60, ``timedelta(minutes=15)`` or ``"1h30m"``.

    Returns
    -------
    float
        A positive, finite number of seconds.

    Raises
    ------
    ValueError
        If the limit is not positive and finite, or cannot be read.

    Examples
    --------
    >>> seconds_of("1h30m")
    5400.0
    >>> seconds_of(2.5)
    2.5
    """
    seconds = _read(time_limit)
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        raise ValueError(f"time_limit must be positive and finite: {_ACCEPTED}; got {time_limit!r}.")
    return seconds


def _read(time_limit: TimeLimit) -> float | None:
    if isinstance(time_limit, timedelta):
        return time_limit.total_seconds()
    if isinstance(time_limit, str):
        return _read_text(time_limit.strip().lower())
    if isinstance(time_limit, Real) and not isinstance(time_limit, bool):
        return _as_float(time_limit)
    return None


def _as_float(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _read_text(text: str) -> float | None:
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        return None
    if len({unit for _, unit in parts}) < len(parts):
        return None
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
