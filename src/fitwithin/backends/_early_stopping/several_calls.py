"""Fit in several calls of more and more steps, for learners that cannot be stopped within a call."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.utils import check_random_state

from fitwithin.backends._early_stopping.stop_signal import StopSignal

AdvanceTo = Callable[[int], object]
"""Advance a fit to this total number of steps."""


StartAnew = Callable[[int], bool]
"""Fit from scratch with this number of steps; return whether more steps would improve the fit."""


# More steps than any fit takes.
_UNLIMITED = 1 << 62

# Share of the time left for a call: it may be twice as slow as expected.
_TIME_SHARE = 1 / 2

# The same of a call that starts anew, where the calls so far show what a step takes (benchmarks/tunnel, logistic
# regression, 1/2 -> 3/4: losses to Double 24.1 % -> 20.4 %): a half left most of the time unused.
_RESTART_TIME_SHARE = 3 / 4

# Least ratio of the steps of a call that starts anew to those of the call before, which are thrown away.
_MIN_RESTART_GROWTH = 2

# Least share of the seconds of a call that its steps are taken for; the rest is its setup.
_LEAST_MARGINAL_SHARE = 0.5


class _CallCost:
    """Seconds of a call: a fixed part for its setup, and a part for each step.

    Both are upper bounds if all steps take equally long. One call alone does not tell its setup from its steps.

    Parameters
    ----------
    stop_signal : StopSignal
        Told of the setup of the first call.
    """

    def __init__(self, stop_signal: StopSignal) -> None:
        self._stop_signal = stop_signal
        self._start = self.seconds_left = stop_signal.seconds_left()
        self._first_call: tuple[int, float] | None = None
        self.setup_seconds = self.step_seconds = self.marginal_seconds = 0.0

    def add_call(self, n_steps: int) -> None:
        """Learn from the call since the last one; a longer one than the first separates the setup from the steps."""
        before, self.seconds_left = self.seconds_left, self._stop_signal.seconds_left()
        seconds = before - self.seconds_left
        self.step_seconds = self.marginal_seconds = seconds / n_steps
        if self._first_call is None:
            self._first_call = n_steps, seconds
            self.setup_seconds = seconds
        first_steps, first_seconds = self._first_call
        if n_steps > first_steps:
            # What another step adds to a call; short calls are too noisy to believe that it is next to nothing.
            added = (seconds - first_seconds) / (n_steps - first_steps)
            self.marginal_seconds = min(max(added, _LEAST_MARGINAL_SHARE * self.step_seconds), self.step_seconds)
            self.setup_seconds = min(first_seconds, max(0.0, first_seconds - first_steps * added))
        self._stop_signal.finish_setup(self._start - self.setup_seconds)

    def affordable_steps(self, multiple_of: int = 1, time_share: float = _TIME_SHARE) -> int:
        """Return the steps that fit into a share of the time left; one multiple if only that fits, 0 if it does not."""
        if self.seconds_left <= self.setup_seconds + self.step_seconds * multiple_of:
            return 0
        if self.step_seconds <= 0.0:
            return _UNLIMITED
        multiples = int((time_share * self.seconds_left - self.setup_seconds) / (self.step_seconds * multiple_of))
        return max(1, multiples) * multiple_of


def advance_until(stop_signal: StopSignal, max_steps: int, advance_to: AdvanceTo, *, first_steps: int = 1) -> None:
    """Call `advance_to` with a growing number of steps until the time is up.

    The first calls measure the cost of a call and of a step. With plenty of time there are two calls. Otherwise each
    call takes half of the time left, because a call cannot be stopped and may be slower than the last.

    Parameters
    ----------
    stop_signal : StopSignal
        Time left. Its `setup_seconds` become those of the first call. Its steps are counted, and its `skipped_seconds`
        are set if the time ends before the steps do.
    max_steps : int
        Steps of a complete fit.
    advance_to : callable
        Advances the fit to a total number of steps.
    first_steps : int, default=1
        Steps of the first call, which is made even if the time is up. Later calls take a multiple of it.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> def run(seconds):
    ...     clock, calls = FakeClock(), [0]
    ...     def advance_to(n_steps):
    ...         clock.advance(0.5 + 0.1 * (n_steps - calls[-1]))
    ...         calls.append(n_steps)
    ...     advance_until(StopSignal(seconds, clock=clock), 100, advance_to)
    ...     return calls[1:]
    >>> run(1000)
    [1, 100]
    >>> run(9)
    [1, 7, 24, 39, 46, 48, 49]
    >>> run(0)
    [1]
    """
    done, n_steps = 0, min(first_steps, max_steps)
    cost = _CallCost(stop_signal)
    while True:
        advance_to(done + n_steps)
        cost.add_call(n_steps)
        done += n_steps
        stop_signal.count_steps(done)
        if done >= max_steps:
            return
        n_steps = min(cost.affordable_steps(first_steps), max_steps - done)
        if stop_signal.give_up_over is not None:
            # Until it is known whether the fit gives up, calls are short.
            n_steps = min(n_steps, max(first_steps, done))
        if stop_signal.ends_after(done, max_steps, cost.marginal_seconds, n_steps == 0):
            return


def restart_until(stop_signal: StopSignal, max_steps: int, start_anew: StartAnew) -> float:
    """Call `start_anew` with a growing number of steps, while one of all steps or twice as many should end in time.

    Most of a short first call may be its setup, so that the second one is over long before the time is. Then there is
    time for a third one.

    Parameters
    ----------
    stop_signal : StopSignal
        Time left. Its `setup_seconds` become those of the first call.
    max_steps : int
        Steps of a complete fit.
    start_anew : callable
        Fits from scratch with this number of steps; returns whether more steps would improve the fit.

    Returns
    -------
    float
        Seconds per step of the last call.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock, calls = FakeClock(), []
    >>> def start_anew(n_steps):
    ...     clock.advance(0.5 + 0.01 * n_steps)
    ...     return calls.append(n_steps) is None
    >>> round(restart_until(StopSignal(10, clock=clock), 1000, start_anew), 2)
    0.01
    >>> calls
    [1, 12, 119, 343]
    """
    n_steps = 1
    # The number of steps until the fit converges is unknown.
    stop_signal.give_up_over = None
    cost = _CallCost(stop_signal)
    while True:
        is_improving = start_anew(n_steps)
        cost.add_call(n_steps)
        affordable = cost.affordable_steps(time_share=_RESTART_TIME_SHARE)
        if n_steps == affordable == 1:
            # If there is time for one more step, a fit that cannot continue takes it anew.
            affordable = 2
        done, n_steps = n_steps, min(affordable, max_steps)
        is_worth_it = n_steps >= _MIN_RESTART_GROWTH * done or done < n_steps == max_steps
        if not (is_improving and is_worth_it):
            return cost.step_seconds


def save_random_state(random_state: Any) -> Callable[[], None]:
    """Save the random state and return a function that restores it, so that several fits start from the same state.

    A generator of the user, or NumPy's global one for None, ends in the state of a single fit.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.RandomState(0)
    >>> restore = save_random_state(generator)
    >>> first = generator.randint(1000)
    >>> restore()
    >>> generator.randint(1000) == first
    True
    """
    generator = check_random_state(random_state)
    saved = generator.get_state(legacy=False)
    return lambda: generator.set_state(saved)


class WarningRecorder:
    """Records the warnings of several calls and shows those of the last call, once.

    Examples
    --------
    >>> recorder = WarningRecorder()
    >>> recorder.record(lambda: warnings.warn("too few trees", UserWarning, 2))
    >>> recorder.record(lambda: None)
    >>> recorder.show()
    """

    def __init__(self) -> None:
        self._recorded: list[warnings.WarningMessage] = []

    def record(self, call: Callable[[], object]) -> None:
        """Make a call and record its warnings in place of those of the call before."""
        with warnings.catch_warnings(record=True) as self._recorded:
            warnings.simplefilter("always")
            call()

    def show(self, unless: Callable[[warnings.WarningMessage], bool] = lambda _: False) -> None:
        """Issue the warnings of the last call, except those for which `unless` returns True."""
        for warning in self._recorded:
            if not unless(warning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def must_fit_in_one_call(learner: Any, n_steps: Any) -> bool:
    """Return whether a fit cannot be split into several calls.

    It cannot if it continues an earlier fit of the user, or has a single step. A number of steps that is invalid is
    left to scikit-learn, which has its own error for it.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> must_fit_in_one_call(RandomForestClassifier(), 100), must_fit_in_one_call(RandomForestClassifier(), "many")
    (False, True)
    """
    continues_earlier_fit = getattr(learner, "warm_start", False) and hasattr(learner, "n_features_in_")
    return bool(continues_earlier_fit) or not isinstance(n_steps, numbers.Integral) or int(n_steps) <= 1
