"""Steps of a fit, as many as there is time for."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import check_random_state

from fitwithin.backends._early_stopping.base import StopSignal

Advance = Callable[[int], bool]
"""Go on to so many steps in all; whether there is any use in going on after that."""


ENDLESS = 1 << 62
"""More steps than anyone asks for."""


class OneMore:
    """Whether there is time for one more step, if it takes as long as the last one did.

    To be asked after every step. The first one is not a measure, since what comes before it counts too.

    Parameters
    ----------
    stop_signal : StopSignal
        What is left; told of the steps that are left out.
    most : int, default=0
        Steps that the user asked for; 0 if nobody can tell.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> one_more = OneMore(StopSignal(10, clock=clock))
    >>> clock.advance(5)
    >>> one_more()
    True
    >>> clock.advance(3)
    >>> one_more()
    False
    """

    def __init__(self, stop_signal: StopSignal, most: int = 0) -> None:
        self._patience = stop_signal
        self._most = most
        self._steps = 0
        self._first = self._left = 0.0

    def __call__(self) -> bool:
        """Whether to go on."""
        left = self._patience.seconds_left()
        if self._steps == 0:
            last, self._first = 0.0, left
        else:
            last = self._left - left
        self._left = left
        self._steps += 1
        goes_on = left > last
        if not goes_on and self._steps > 1:
            step = (self._first - left) / (self._steps - 1)
            self._patience.skipped_seconds = max(0, self._most - self._steps) * step
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
    stop_signal: StopSignal,
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
    stop_signal : StopSignal
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
    ...     advance_until(StopSignal(seconds, clock=clock), 100, advance)
    ...     return calls[1:]
    >>> run(1000)
    [1, 100]
    >>> run(9)
    [1, 7, 24, 39, 46, 48, 49]
    >>> run(0)
    [1]
    """
    done, steps = 0, min(first, most)
    left = stop_signal.seconds_left()
    price: _Price | None = None
    while True:
        useful = advance(done + steps)
        before, left = left, stop_signal.seconds_left()
        if price is None:
            price = _Price(steps, before - left)
        else:
            price.update(steps, before - left)
        done += steps
        if not useful or done >= most:
            return price.step
        steps = min(price.steps(left, share, first), max(first, growth * done), most - done)
        if steps == 0:
            stop_signal.skipped_seconds = (most - done) * price.step
            return price.step


@contextmanager
def kept(learner: Any, *names: str) -> Iterator[None]:
    """Give these parameters back at the end, whatever happens.

    By attribute, since a user's subclass need not have them all in its `get_params`.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(7)
    >>> with kept(forest, "n_estimators"):
    ...     forest.n_estimators = 1
    >>> forest.n_estimators
    7
    """
    before = {name: getattr(learner, name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(learner, name, value)


@contextmanager
def replaced(owner: Any, method: str, stand_in: Callable[..., Any]) -> Iterator[None]:
    """Let this one object have another method for a while; its class stays as it is.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> learner = DummyClassifier()
    >>> with replaced(learner, "fit", lambda X, y: "not now"):
    ...     learner.fit([[0]], [0])
    'not now'
    >>> learner.fit([[0]], [0])
    DummyClassifier()
    """
    setattr(owner, method, stand_in)
    try:
        yield
    finally:
        vars(owner).pop(method, None)


def rewinding(random_state: Any) -> Callable[[], None]:
    """A way back to the random state of now, so that each of several fits starts from the same one.

    An integer does so by itself; a generator of the user's, or numpy's own for None, ends as after the last fit alone.

    Examples
    --------
    >>> import numpy as np
    >>> state = np.random.RandomState(0)
    >>> rewind = rewinding(state)
    >>> first = state.randint(1000)
    >>> rewind()
    >>> state.randint(1000) == first
    True
    """
    if isinstance(random_state, numbers.Integral):
        return lambda: None
    generator = check_random_state(random_state)
    start = generator.get_state(legacy=False)
    return lambda: generator.set_state(start)


class LastWarned:
    """The warnings of the last of several calls, for the user to see once.

    Examples
    --------
    >>> calls = LastWarned()
    >>> calls(lambda: warnings.warn("one member is few", UserWarning, 2))
    >>> calls(lambda: None)
    >>> calls.repeat()
    """

    def __init__(self) -> None:
        self._caught: list[warnings.WarningMessage] = []

    def __call__(self, call: Callable[[], object]) -> None:
        """Make the call; forget what the one before warned of."""
        with warnings.catch_warnings(record=True) as self._caught:
            warnings.simplefilter("always")
            call()

    def repeat(self, unless: Callable[[warnings.WarningMessage], bool] = lambda _: False) -> None:
        """Warn of what the last call warned of, unless it is about something that the user did not do."""
        for warning in self._caught:
            if not unless(warning):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def in_one_go(learner: Any, steps: Any) -> bool:
    """Whether a fit is not ours to do in parts.

    One that goes on from an earlier fit of the user's, one of a single step, and one of a number of steps that is none,
    of which scikit-learn complains best.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> in_one_go(RandomForestClassifier(), 100), in_one_go(RandomForestClassifier(), "many")
    (False, True)
    """
    goes_on = getattr(learner, "warm_start", False) and hasattr(learner, "n_features_in_")
    return bool(goes_on) or not isinstance(steps, numbers.Integral) or int(steps) <= 1
