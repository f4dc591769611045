"""The seconds that are left, read off one injectable clock."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Anything that returns seconds and never goes back: `time.monotonic`, a `FakeClock`."""


class Budget:
    """A number of seconds, spent from the moment it is made.

    Parameters
    ----------
    seconds : float
        The limit.
    clock : callable, default=time.monotonic
        Read for the time; no decision depends on another clock.

    Attributes
    ----------
    reserved : float
        Seconds at the end that are promised to something that cannot be interrupted,
        such as loading the best model. `remaining` does not count them.

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
        self.reserved = 0.0
        self._start = clock()

    def elapsed(self) -> float:
        """Seconds since the budget was made."""
        return self.clock() - self._start

    def remaining(self) -> float:
        """Seconds until the deadline less the reserved ones; never below zero."""
        return max(0.0, self.seconds - self.reserved - self.elapsed())

    @property
    def spent(self) -> bool:
        """Whether nothing remains."""
        return self.remaining() <= 0.0
