"""The stop signal, the registry of learners that can be stopped early, and the known learners."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

# Longest time of a stop signal in seconds, about thirty years; keeps differences of `seconds_left` finite.
_MAX_SECONDS = 1e9


# Steps of a fit that only measures: the first one is special, and one of the others may be slow by chance.
_MEASURED_STEPS = 4


class StopSignal:
    """Tells a running fit when to stop.

    An early-stopping fit receives a stop signal and looks at it between two steps. A fit with a known number of steps
    loops over `steps`. Any other fit calls `is_set` after each step.

    Parameters
    ----------
    seconds : float
        Time for the fit, counted from now.
    clock : callable, default=time.monotonic
        Returns the current time in seconds. Pass a fake clock in tests.
    min_steps : int, default=1
        Steps to take even if the time is up.

    Attributes
    ----------
    skipped_seconds : float
        Estimated time of the steps that the fit skipped; 0 for a complete fit. `steps` sets it. A fit that does not use
        `steps` sets it itself. It is used to predict the time of a complete fit.
    setup_seconds : float or None
        Seconds from the start of the fit until its first step: the part that nothing can stop, such as binning. `steps`
        sets it. A fit that does not use `steps` calls `finish_setup`, or sets it itself; None if it does neither.

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

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic, *, min_steps: int = 1) -> None:
        self.skipped_seconds = 0.0
        self.min_steps = min_steps
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

    def begin_fit(self) -> None:
        """Count `setup_seconds` from now on, because the rows are read; without this call, from the beginning."""
        self._start = self._clock()

    def finish_setup(self, seconds_left: float | None = None) -> None:
        """Set `setup_seconds`; call it when the first step begins.

        Parameters
        ----------
        seconds_left : float, optional
            What `seconds_left` returned, or would have returned, when the first step began; by default now.

        Examples
        --------
        >>> from fitwithin.testing import FakeClock
        >>> clock = FakeClock()
        >>> stop_signal = StopSignal(10, clock=clock)
        >>> clock.advance(4)
        >>> stop_signal.finish_setup()
        >>> stop_signal.setup_seconds
        4.0
        """
        began = self._clock() if seconds_left is None else self._end - seconds_left
        self.setup_seconds = max(0.0, began - self._start)

    def steps(self, max_steps: int) -> Iterator[int]:
        """Yield step numbers until the time is up, and set `skipped_seconds` for the remaining steps.

        The time before the first step becomes `setup_seconds`.

        Parameters
        ----------
        max_steps : int
            Number of steps of a complete fit.

        Yields
        ------
        int
            Number of the next step, starting at 0. The first `min_steps` are yielded even if the time is up.

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
            if number >= self.min_steps and self.is_set():
                self.skipped_seconds = (max_steps - number) * (start - self.seconds_left()) / number
                return
            yield number


def make_stop_signal(within: float | None, clock: Callable[[], float] = time.monotonic) -> StopSignal | None:
    """Return the signal for a fit; None without a time.

    A fit without any time is a measurement: its few steps tell what all of them would take.

    Examples
    --------
    >>> make_stop_signal(None) is None, make_stop_signal(10).min_steps, make_stop_signal(0).min_steps
    (True, 1, 4)
    """
    if within is None:
        return None
    return StopSignal(within, clock, min_steps=_MEASURED_STEPS if within == 0 else 1)


class EarlyStoppingFit(Protocol):
    """A function that fits a learner and stops when its stop signal says so.

    It takes at least one step, even if the time is up. It leaves an ordinary fitted learner with the user's parameters.
    With enough time the result equals that of the learner's own `fit`.
    """

    def __call__(self, learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
        """Fit the learner in place; `params` holds the other arguments of its `fit`."""
        ...


_REGISTERED: dict[type, EarlyStoppingFit] = {}


def register_early_stopping(learner_class: type, early_stopping: EarlyStoppingFit) -> None:
    """Let fitwithin stop learners of this class early.

    Parameters
    ----------
    learner_class : type
        Class of the learner. Subclasses are included, except those that define their own `fit`. A registered class
        takes precedence over the learners that fitwithin knows.
    early_stopping : callable(learner, X, y, stop_signal, params)
        Fits the learner in place and stops when the time is up; see `StopSignal`. `params` holds the other arguments of
        the learner's `fit`, such as `sample_weight`. The process backend pickles this function with cloudpickle.

    Raises
    ------
    TypeError
        If `learner_class` is not a class, or `early_stopping` cannot be called.

    Examples
    --------
    >>> from fitwithin.backends import StopSignal, register_early_stopping
    >>> class Counter:
    ...     def fit(self, X, y):
    ...         self.steps_ = 1000
    >>> def fit_counter(learner, X, y, stop_signal, params):
    ...     for step in stop_signal.steps(1000):
    ...         learner.steps_ = step + 1
    >>> register_early_stopping(Counter, fit_counter)
    >>> counter = Counter()
    >>> fit_counter(counter, None, None, StopSignal(0), {})
    >>> counter.steps_
    1
    """
    if not isinstance(learner_class, type) or not callable(early_stopping):
        raise TypeError(
            f"Got {learner_class!r} and {early_stopping!r}; register_early_stopping takes a class and a callable."
        )
    _REGISTERED[learner_class] = early_stopping


def find_early_stopping(learner: Any) -> EarlyStoppingFit | None:
    """Return the function that fits this learner and can stop early; None if there is none.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> find_early_stopping(RandomForestClassifier()) is None
    False
    >>> find_early_stopping(DecisionTreeClassifier()) is None
    True
    """
    classes = [cls for cls in type(learner).__mro__ if _uses_fit_of(learner, cls)]
    for cls in classes:
        if cls in _REGISTERED:
            return _REGISTERED[cls]
    for cls in classes:
        known = _KNOWN_BY_CLASS.get(f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}")
        early_stopping = None if known is None else known.find_fit(learner)
        if early_stopping is not None:
            return early_stopping
    return None


def _uses_fit_of(learner: Any, cls: type) -> bool:
    """Return whether the learner has the `fit` of this class; a `fit` that the user wrote may do anything."""
    has_own_fit = "fit" in getattr(learner, "__dict__", {})
    return not has_own_fit and getattr(type(learner), "fit", None) is getattr(cls, "fit", None)


@dataclass(frozen=True)
class _KnownLearner:
    """Learner classes and the functions that stop them.

    All are names, to import neither a learner's library nor our function before a learner needs it.

    Parameters
    ----------
    classes : tuple of str
        "library.Class" of each learner.
    fit : str
        "module.function" of an early-stopping fit in this package.
    condition : str or None
        "module.function" in this package that returns whether a learner's settings allow it; None if all do.
    inner : str or None
        "module.function" in this package that returns the learner inside a wrapper, which is the one to stop. Its fit
        travels with the wrapper's, since another process does not know the learners that were registered in this one.
    """

    classes: tuple[str, ...]
    fit: str
    condition: str | None = None
    inner: str | None = None

    def find_fit(self, learner: Any) -> EarlyStoppingFit | None:
        if self.condition is not None and not _import_function(self.condition)(learner):
            return None
        fit = _import_function(self.fit)
        if self.inner is None:
            return fit
        inner_fit = find_early_stopping(_import_function(self.inner)(learner))
        return None if inner_fit is None else functools.partial(fit, inner_fit=inner_fit)


def _import_function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    imported: Callable[..., Any] = getattr(import_module(f".{module}", __package__), function)
    return imported


_KNOWN_LEARNERS = (
    _KnownLearner(
        ("lightgbm.LGBMClassifier", "lightgbm.LGBMRanker", "lightgbm.LGBMRegressor"),
        fit="boosters.fit_lightgbm",
    ),
    _KnownLearner(
        ("xgboost.XGBClassifier", "xgboost.XGBRanker", "xgboost.XGBRegressor"),
        fit="boosters.fit_xgboost",
    ),
    _KnownLearner(
        (
            "catboost.CatBoost",
            "catboost.CatBoostClassifier",
            "catboost.CatBoostRanker",
            "catboost.CatBoostRegressor",
        ),
        fit="boosters.fit_catboost",
        condition="boosters.can_stop_catboost",
    ),
    _KnownLearner(
        ("sklearn.GradientBoostingClassifier", "sklearn.GradientBoostingRegressor"),
        fit="boosters.fit_gradient_boosting",
    ),
    _KnownLearner(
        ("sklearn.HistGradientBoostingClassifier", "sklearn.HistGradientBoostingRegressor"),
        fit="boosters.fit_hist_gradient_boosting",
        condition="boosters.can_stop_hist_gradient_boosting",
    ),
    _KnownLearner(
        (
            "sklearn.RandomForestClassifier",
            "sklearn.RandomForestRegressor",
            "sklearn.ExtraTreesClassifier",
            "sklearn.ExtraTreesRegressor",
        ),
        fit="ensembles.fit_forest",
    ),
    _KnownLearner(
        ("sklearn.BaggingClassifier", "sklearn.BaggingRegressor"),
        fit="ensembles.fit_bagging",
        condition="ensembles.can_stop_bagging",
    ),
    _KnownLearner(
        ("sklearn.LogisticRegression",),
        fit="linear_models.fit_logistic_regression",
        condition="linear_models.can_stop_logistic_regression",
    ),
    _KnownLearner(
        (
            "sklearn.SGDClassifier",
            "sklearn.SGDRegressor",
            "sklearn.Perceptron",
            "sklearn.PassiveAggressiveClassifier",
            "sklearn.PassiveAggressiveRegressor",
        ),
        fit="linear_models.fit_sgd",
    ),
    _KnownLearner(
        ("sklearn.MLPClassifier", "sklearn.MLPRegressor"),
        fit="neural_networks.fit_neural_network",
        condition="neural_networks.can_stop_neural_network",
    ),
    _KnownLearner(
        ("sklearn.Pipeline",),
        fit="wrappers.fit_pipeline",
        inner="wrappers.get_last_step",
    ),
    _KnownLearner(
        ("fitwithin.LabelEncodedClassifier",),
        fit="wrappers.fit_label_encoded_classifier",
        inner="wrappers.get_inner_classifier",
    ),
)


_KNOWN_BY_CLASS = {name: known for known in _KNOWN_LEARNERS for name in known.classes}
