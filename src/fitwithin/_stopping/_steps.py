"""Steps of a fit, as many as there is time for."""

from __future__ import annotations

from collections.abc import Callable

from ._patience import Patience

Advance = Callable[[int], bool]
"""Go on to so many steps in all; whether there is any use in going on after that."""

ENDLESS = 1 << 62
"""More steps than anyone asks for."""


class OneMore:
    """Whether there is time for one more step, if it takes as long as the last one did.

    To be asked after every step. The first one is not a measure, since what comes before it counts too.

    Parameters
    ----------
    patience : Patience
        What is left; told of the steps that are left out.
    most : int, default=0
        Steps that the user asked for; 0 if nobody can tell.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> one_more = OneMore(Patience(10, clock=clock))
    >>> clock.advance(5)
    >>> one_more()
    True
    >>> clock.advance(3)
    >>> one_more()
    False
    """

    def __init__(self, patience: Patience, most: int = 0) -> None:
        self._patience = patience
        self._most = most
        self._steps = 0
        self._first = self._left = 0.0

    def __call__(self) -> bool:
        """Whether to go on."""
        left = self._patience.left()
        if self._steps == 0:
            last, self._first = 0.0, left
        else:
            last = self._left - left
        self._left = left
        self._steps += 1
        goes_on = left > last
        if not goes_on and self._steps > 1:
            step = (self._first - left) / (self._steps - 1)
            self._patience.undone = max(0, self._most - self._steps) * step
        return goes_on


class _Price:
    """What a call costs: so much for its start, so much for every step.

    Both are upper bounds where steps are alike. The start of the first call cannot be told from its steps.
    """

    def __init__(self, steps: int, seconds: float) -> None:
        self._first = (steps, seconds)
        self.start = seconds
        self.step = seconds / steps

    def update(self, steps: int, seconds: float) -> None:
        """Learn from one more call; a longer one tells the start from the steps."""
        few, short = self._first
        if steps > few:
            self.start = min(short, max(0.0, short - few * (seconds - short) / (steps - few)))
        self.step = seconds / steps

    def steps(self, left: float, share: float, unit: int) -> int:
        """Steps for a share of what is left, in units; one unit if it is late, none if it is too late for that."""
        if left <= self.start + self.step * unit:
            return 0
        if self.step <= 0.0:
            return ENDLESS
        return max(1, int((share * left - self.start) / (self.step * unit))) * unit


def advance_until(
    patience: Patience,
    most: int,
    advance: Advance,
    *,
    first: int = 1,
    share: float = 0.5,
    growth: int = ENDLESS,
) -> float:
    """Call `advance` with more and more steps, as long as there is time.

    The first calls tell what a call and a step cost. Where there is plenty of time there are two calls, otherwise each
    takes a share of what is left: it cannot be stopped, and may be slower than the one before.

    Parameters
    ----------
    patience : Patience
        What is left; told of the steps that are left out.
    most : int
        Steps that the user asked for.
    advance : callable
        Goes on to so many steps in all.
    first : int, default=1
        Steps of the first call, which comes however late it is; later ones take a multiple of it.
    share : float, default=0.5
        What a call may take of the time that is left: with a half it may be twice as slow as expected.
    growth : int, optional
        A call takes at most so many times the steps that there are: for steps that are not alike.

    Returns
    -------
    float
        Seconds that a step of the last call took.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> def run(seconds):
    ...     clock, calls = FakeClock(), [0]
    ...     def advance(steps):
    ...         clock.advance(0.5 + 0.1 * (steps - calls[-1]))
    ...         return calls.append(steps) is None
    ...     advance_until(Patience(seconds, clock=clock), 100, advance)
    ...     return calls[1:]
    >>> run(1000)
    [1, 100]
    >>> run(9)
    [1, 7, 24, 39, 46, 48, 49]
    >>> run(0)
    [1]
    """
    done, steps = 0, min(first, most)
    left = patience.left()
    price: _Price | None = None
    while True:
        useful = advance(done + steps)
        before, left = left, patience.left()
        if price is None:
            price = _Price(steps, before - left)
        else:
            price.update(steps, before - left)
        done += steps
        if not useful or done >= most:
            return price.step
        steps = min(price.steps(left, share, first), max(first, growth * done), most - done)
        if steps == 0:
            patience.undone = (most - done) * price.step
            return price.step
