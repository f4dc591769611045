"""The signal that tells a running fit when to stop, and what a fit needs to obey it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fitwithin._core.records import FitLimits

_MAX_SECONDS = 1e9  # about thirty years; keeps differences of `seconds_left` finite

# Steps and their seconds before a fit is projected: the first step is special, and short ones may be slow by chance.
_MEASURED_STEPS = 4
_MEASURED_SECONDS = 0.05


class StopSignal:
    """Tells a running fit when to stop.

    An early-stopping fit receives a stop signal and looks at it between two steps. A fit with a known number of steps
    loops over `steps`. Any other fit calls `is_set` after each step, and sets the attributes that it knows.

    Parameters
    ----------
    seconds : float
        Time for the fit, counted from now.
    clock : callable, default=time.monotonic
        Returns the current time in seconds. Pass a fake clock in tests.
    give_up_over : float or None, default=None
        See `FitLimits`; only a fit that uses `steps` knows whether to give up.

    Attributes
    ----------
    skipped_seconds : float
        Estimated time of the steps that the fit skipped; 0 for a complete fit. It predicts the time of a complete fit.
    n_steps, planned_steps : int or None
        Steps that were taken, and those of a complete fit, at most; None if they are unknown.
    gave_up : bool
        Whether the fit was projected to take longer than `give_up_over`, and ended.
    setup_seconds : float or None
        Seconds from the start of the fit until its first step: the part that nothing can stop, such as binning.

    See Also
    --------
    register_early_stopping : Let fitwithin stop your own learner.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> stop_signal = StopSignal(10, clock=clock)
    >>> clock.advance(4)
    >>> stop_signal.seconds_left(), stop_signal.is_set()
    (6.0, False)
    >>> clock.advance(6)
    >>> stop_signal.is_set()
    True
    """

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic, *, give_up_over: float | None = None
    ) -> None:
        self.skipped_seconds = 0.0
        self.n_steps: int | None = None
        self.planned_steps: int | None = None
        self.gave_up = False
        self.give_up_over = give_up_over
        self.setup_seconds: float | None = None
        self._clock = clock
        self._start = clock()
        self._end = self._start + min(float(seconds), _MAX_SECONDS)

    def seconds_left(self) -> float:
        """Return the seconds until the fit should stop; negative if it is late."""
        return self._end - self._clock()

    def is_set(self) -> bool:
        """Return whether the fit should stop now; cheap enough to be called after every step."""
        return self.seconds_left() <= 0.0

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the start of the fit."""
        return self._clock() - self._start

    def begin_fit(self) -> None:
        """Count `setup_seconds` from now on, because the rows are read; without this call, from the beginning."""
        self._start = self._clock()

    def finish_setup(self, seconds_left: float | None = None) -> None:
        """Set `setup_seconds`; `seconds_left` is what that method returned as the first step began, by default now."""
        began = self._clock() if seconds_left is None else self._end - seconds_left
        self.setup_seconds = max(0.0, began - self._start)

    def steps(self, max_steps: int) -> Iterator[int]:
        """Yield step numbers until the time is up, and set `skipped_seconds` for the remaining steps.

        The first of `max_steps`, number 0, is yielded even if the time is up.

        Examples
        --------
        >>> from fitwithin.testing import FakeClock
        >>> clock = FakeClock()
        >>> stop_signal = StopSignal(10, clock=clock)
        >>> for step in stop_signal.steps(100):
        ...     clock.advance(4)
        >>> step, stop_signal.skipped_seconds
        (2, 388.0)
        """
        start = self.seconds_left()
        self.finish_setup(start)
        for number in range(max_steps):
            if number and self.ends_after(number, max_steps, (start - self.seconds_left()) / number, self.is_set()):
                return
            self.count_steps(number + 1)
            yield number

    def ends_after(self, n_steps: int, max_steps: int, step_seconds: float, is_late: bool) -> bool:
        """Count the steps, and return whether the fit ends before the others, of `step_seconds` each."""
        self.count_steps(n_steps)
        skipped_seconds = max(0, max_steps - n_steps) * step_seconds
        is_measured = n_steps >= _MEASURED_STEPS and n_steps * step_seconds >= _MEASURED_SECONDS
        if self.give_up_over is not None and is_measured:
            self.gave_up = self.elapsed_seconds + skipped_seconds > self.give_up_over
            self.give_up_over = None
        if not (is_late or self.gave_up):
            return False
        self.planned_steps, self.skipped_seconds = max(n_steps, max_steps), skipped_seconds
        return True

    def count_steps(self, n_steps: int) -> None:
        """Set the number of steps of a fit that is complete with them, as far as is known."""
        self.n_steps = self.planned_steps = n_steps


def make_stop_signal(limits: FitLimits, clock: Callable[[], float] = time.monotonic) -> StopSignal | None:
    """Return the signal for a fit; None if nothing but the deadline, or `kill_after`, ends it."""
    if limits.stop_after is None and limits.give_up_over is None:
        return None
    seconds = _MAX_SECONDS if limits.stop_after is None else limits.stop_after
    return StopSignal(seconds, clock, give_up_over=limits.give_up_over)


class StepTimer:
    """Decides after each step whether there is time for another one, as long as the last.

    Without `begin_steps` the first step is not timed: the setup of the fit is what it took longer than the mean of the
    later ones, unless the fit called `StopSignal.finish_setup` itself. `max_steps` is 0 if it is unknown.
    """

    def __init__(self, stop_signal: StopSignal, max_steps: int = 0) -> None:
        self.is_stopped = False
        self._stop_signal = stop_signal
        self._max_steps = max_steps
        self._n_steps = self._n_timed_steps = 0
        self._estimates_setup = False
        self._left_at_start: float | None = None
        self._left_before = 0.0

    def begin_steps(self) -> None:
        """Note that the setup is over; call it before the first step."""
        self._left_at_start = self._left_before = self._stop_signal.seconds_left()
        self._stop_signal.finish_setup(self._left_at_start)

    def finish_step(self) -> bool:
        """Return whether another step would end in time; call it once after every step."""
        left = self._stop_signal.seconds_left()
        if self._left_at_start is None:
            self._left_at_start = self._left_before = left
            self._estimates_setup = self._stop_signal.setup_seconds is None
        else:
            self._n_timed_steps += 1
        last_step_seconds, self._left_before = self._left_before - left, left
        self._n_steps += 1
        mean_step_seconds = (self._left_at_start - left) / max(1, self._n_timed_steps)
        if self._estimates_setup:
            self._stop_signal.finish_setup(self._left_at_start + mean_step_seconds)
        self.is_stopped = self._stop_signal.ends_after(
            self._n_steps, self._max_steps, mean_step_seconds, left <= last_step_seconds
        )
        return not self.is_stopped


@contextmanager
def preserve_attributes(learner: Any, *names: str) -> Iterator[None]:
    """Restore these attributes of the learner at the end, also after an error; methods are those of its class again."""
    # `get_params` of a user's subclass may not list all of them.
    before, own = {name: getattr(learner, name) for name in names}, set(vars(learner))
    try:
        yield
    finally:
        for name, value in before.items():
            if callable(value) and name not in own:
                vars(learner).pop(name, None)
            else:
                setattr(learner, name, value)
