"""The stop signal, the registry of learners that can be stopped early, and the known learners."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from fitwithin._core.records import FitLimits

# Longest time of a stop signal in seconds, about thirty years; keeps differences of `seconds_left` finite.
_MAX_SECONDS = 1e9


# Steps and their seconds before a fit is projected: the first step is special, and short ones may be slow by chance.
_MEASURED_STEPS = 4
_MEASURED_SECONDS = 0.05


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
    give_up_over : float or None, default=None
        See `FitLimits`; only a fit that uses `steps` knows whether to give up.

    Attributes
    ----------
    skipped_seconds : float
        Estimated time of the steps that the fit skipped; 0 for a complete fit. `steps` sets it. A fit that does not use
        `steps` sets it itself. It is used to predict the time of a complete fit.
    n_steps, planned_steps : int or None
        Steps that were taken, and those of a complete fit, at most; None if they are unknown. `steps` sets them.
    gave_up : bool
        Whether the fit was projected to take longer than `give_up_over`, and ended.
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
            Number of the next step, starting at 0. The first is yielded even if the time is up.

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
        """Count the steps, and return whether the fit ends before the others: it is late, or gives up.

        Parameters
        ----------
        n_steps, max_steps : int
            Steps that were taken, and those of a complete fit.
        step_seconds : float
            Seconds of each of the others.
        is_late : bool
            Whether there is no time for another step.
        """
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
    """Return the signal for a fit; None if nothing but the deadline ends it.

    Examples
    --------
    >>> make_stop_signal(FitLimits(kill_after=5)) is None, make_stop_signal(FitLimits(stop_after=10)) is None
    (True, False)
    """
    if limits.stop_after is None and limits.give_up_over is None:
        return None
    seconds = _MAX_SECONDS if limits.stop_after is None else limits.stop_after
    return StopSignal(seconds, clock, give_up_over=limits.give_up_over)


class EarlyStoppingFit(Protocol):
    """A function that fits a learner and stops when its stop signal says so.

    It takes at least one step, even if the time is up. It leaves an ordinary fitted learner with the user's parameters.
    With enough time the result equals that of the learner's own `fit`.
    """

    def __call__(self, learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
        """Fit the learner in place; `params` holds the other arguments of its `fit`."""
        ...


_REGISTERED: dict[type, tuple[EarlyStoppingFit, bool]] = {}


def register_early_stopping(learner_class: type, early_stopping: EarlyStoppingFit, *, knows_steps: bool = True) -> None:
    """Let fitwithin stop learners of this class early.

    Parameters
    ----------
    learner_class : type
        Class of the learner. Subclasses are included, except those that define their own `fit`. A registered class
        takes precedence over the learners that fitwithin knows.
    early_stopping : callable(learner, X, y, stop_signal, params)
        Fits the learner in place and stops when the time is up; see `StopSignal`. `params` holds the other arguments of
        the learner's `fit`, such as `sample_weight`. The process backend pickles this function with cloudpickle.
    knows_steps : bool, default=True
        Whether it uses `StopSignal.steps`. Otherwise the time of a complete fit cannot be projected from a few steps.

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
    _REGISTERED[learner_class] = early_stopping, knows_steps


def knows_steps(learner: Any) -> bool:
    """Return whether the learner can stop early, and knows the number of its steps before it begins.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import SGDClassifier
    >>> knows_steps(RandomForestClassifier()), knows_steps(SGDClassifier())
    (True, False)
    """
    return _find(learner)[1]


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
    return _find(learner)[0]


def _find(learner: Any) -> tuple[EarlyStoppingFit | None, bool]:
    """Return the function that fits this learner and can stop early, or None, and whether it knows its steps."""
    classes = [cls for cls in type(learner).__mro__ if _uses_fit_of(learner, cls)]
    for cls in classes:
        if cls in _REGISTERED:
            return _REGISTERED[cls]
    for cls in classes:
        known = _KNOWN_BY_CLASS.get(f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}")
        found = (None, False) if known is None else known.find(learner)
        if found[0] is not None:
            return found
    return None, False


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
    knows_steps : bool
        False for solvers that converge: their largest number of steps says little.
    """

    classes: tuple[str, ...]
    fit: str
    condition: str | None = None
    inner: str | None = None
    knows_steps: bool = True

    def find(self, learner: Any) -> tuple[EarlyStoppingFit | None, bool]:
        if self.condition is not None and not _import_function(self.condition)(learner):
            return None, False
        fit = _import_function(self.fit)
        if self.inner is None:
            return fit, self.knows_steps
        inner_fit, inner_knows_steps = _find(_import_function(self.inner)(learner))
        if inner_fit is None:
            return None, False
        return functools.partial(fit, inner_fit=inner_fit), inner_knows_steps


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
        knows_steps=False,
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
        knows_steps=False,
    ),
    _KnownLearner(
        ("sklearn.MLPClassifier", "sklearn.MLPRegressor"),
        fit="neural_networks.fit_neural_network",
        condition="neural_networks.can_stop_neural_network",
        knows_steps=False,
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
