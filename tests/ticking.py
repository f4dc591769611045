"""A clock for fits that look at one: shared by the tests of stopping."""

import itertools

from fitwithin.backends import Patience


def questions(seconds):
    """A second passes with every question."""
    ticks = itertools.count()
    return Patience(seconds, clock=lambda: float(next(ticks)))
