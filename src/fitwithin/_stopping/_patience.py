"""The seconds that a fit may still take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

# So that the difference of two answers is a number even where there is no limit; thirty years.
_FOREVER = 1e9


class Patience:
    """What a fit looks at to know when to end.

    Parameters
    ----------
    seconds : float
        How long it has from now on.
    clock : callable, default=time.monotonic
        Read for the time, and for nothing else.

    Attributes
    ----------
    undone : float
        Seconds that the steps would have taken which a fit left out, told by the fit; for the price of a whole one.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> patience = Patience(10, clock=clock)
    >>> clock.advance(4)
    >>> patience.left(), patience.over()
    (6.0, False)
    >>> clock.advance(6)
    >>> patience.over()
    True
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.undone = 0.0
        self._clock = clock
        self._end = clock() + min(float(seconds), _FOREVER)

    def left(self) -> float:
        """Seconds until the fit should have ended; below zero if it should have by now."""
        return self._end - self._clock()

    def over(self) -> bool:
        """Whether the fit should end; cheap, to be asked between any two steps."""
        return self.left() <= 0.0

    def steps(self, most: int) -> Iterator[int]:
        """Numbers of steps, as many as there is time for: at least one; tells `undone` of those that it leaves out.

        Parameters
        ----------
        most : int
            Steps of a whole fit.

        Yields
        ------
        int
            The number of a step, from 0 on.

        Examples
        --------
        >>> from fitwithin.testing import FakeClock
        >>> clock = FakeClock()
        >>> patience = Patience(10, clock=clock)
        >>> for step in patience.steps(100):
        ...     clock.advance(4)
        >>> step, patience.undone
        (2, 388.0)
        """
        before = self.left()
        for number in range(most):
            if number and self.over():
                self.undone = (most - number) * (before - self.left()) / number
                return
            yield number
