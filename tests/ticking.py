"""A clock for fits that look at one: shared by the tests of stopping."""

import itertools

from fitwithin.backends import StopSignal


def questions(seconds):
    """A second passes with every question."""
    ticks = itertools.count()
    return StopSignal(seconds, clock=lambda: float(next(ticks)))
