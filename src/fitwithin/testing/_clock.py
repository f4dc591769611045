"""A clock that moves only when a test advances it."""

from __future__ import annotations


class FakeClock:
    """Clock that moves only when `advance` is called.

    Parameters
    ----------
    now : float, default=0.0
        Seconds that it shows at the start.

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
        """Return the seconds that it shows."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock forward by `seconds`."""
        if seconds < 0:
            raise ValueError(f"seconds must be zero or more, since a clock never goes back; got {seconds!r}.")
        self.now += seconds
