"""A stop signal on a clock that moves by one second with every look at it."""

import itertools

from fitwithin.backends import StopSignal


def questions(seconds):
    """Return a signal that is set after this many questions."""
    ticks = itertools.count()
    return StopSignal(seconds, clock=lambda: float(next(ticks)))
