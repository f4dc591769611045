"""A clock that stands still until it is told to move."""

from __future__ import annotations


class FakeClock:
    """Seconds that pass only when a test says so.

    Parameters
    ----------
    now : float, default=0.0
        What it shows at first.

    Examples
    --------
    >>> clock = FakeClock()
    >>> clock.advance(3600)
    >>> clock()
    3600.0
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = float(now)

    def __call__(self) -> float:
        """The time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass."""
        if seconds < 0:
            raise ValueError(f"A clock never goes back; got {seconds!r} seconds.")
        self.now += seconds
