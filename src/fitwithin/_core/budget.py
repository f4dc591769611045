"""The time limit: text to seconds, and the seconds that are left by one injectable clock."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import timedelta
from numbers import Real

Clock = Callable[[], float]
"""A callable that returns seconds and never goes back: `time.monotonic`, a `FakeClock`."""


class Budget:
    """A number of seconds that begins to run when the object is made.

    Parameters
    ----------
    seconds : float
        The limit.
    clock : callable, default=time.monotonic
        The only clock that decisions depend on.

    Attributes
    ----------
    spent : float
        Seconds that earlier calls spent of the same limit.
    reserved : float
        Seconds at the end that are kept for work that cannot be interrupted, such as
        loading the best model. `remaining` does not count them.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> budget = Budget(10, clock=clock)
    >>> clock.advance(4)
    >>> budget.elapsed(), budget.remaining()
    (4.0, 6.0)
    >>> budget.reserved = 1.5
    >>> budget.remaining()
    4.5
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self.seconds = float(seconds)
        self.clock = clock
        self.spent = 0.0
        self.reserved = 0.0
        self._start = clock()

    def elapsed(self) -> float:
        """Return the seconds since the budget began, and those that earlier calls spent."""
        return self.spent + self.clock() - self._start

    def remaining(self) -> float:
        """Return the seconds until the deadline, less the reserved ones; never below zero."""
        return max(0.0, self.seconds - self.reserved - self.elapsed())

    @property
    def is_spent(self) -> bool:
        """Whether nothing remains."""
        return self.remaining() <= 0.0

    def raise_if_spent(self) -> None:
        """Raise TimeoutError if nothing remains."""
        if self.is_spent:
            raise TimeoutError


class StoppableBudget(Budget):
    """The time that another budget has left, until it is stopped, by any thread.

    Parameters
    ----------
    budget : Budget
        The other budget.

    Examples
    --------
    >>> budget = StoppableBudget(Budget(60))
    >>> budget.is_spent
    False
    >>> budget.stop()
    >>> budget.is_spent
    True
    """

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget.seconds, budget.clock)
        self._budget = budget
        self.is_stopped = False

    def elapsed(self) -> float:
        """Return the seconds since the other budget began."""
        return self._budget.elapsed()

    def remaining(self) -> float:
        """Return the seconds until the deadline, or none once this budget was stopped."""
        return 0.0 if self.is_stopped else self._budget.remaining()

    def stop(self) -> None:
        """Let no time remain; the other budget goes on."""
        self.is_stopped = True


TimeLimit = float | str | timedelta
"""Seconds, a `timedelta`, or text such as "90s", "15m", "1h30m"."""


_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}


_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|ms|m|s)\s*")


_ACCEPTED = 'seconds (60, 2.5), a datetime.timedelta, or text such as "90s", "15m", "1h30m"'


def parse_time_limit(time_limit: TimeLimit) -> float:
    """Return the seconds of a time limit.

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
    >>> parse_time_limit("1h30m")
    5400.0
    >>> parse_time_limit(2.5)
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
