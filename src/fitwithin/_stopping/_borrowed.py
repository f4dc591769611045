"""What is changed about a learner for the time of a fit, and given back."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import check_random_state


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
