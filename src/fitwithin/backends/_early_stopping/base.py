"""Which learners can be asked to stop, and how."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol


class EarlyStoppingFit(Protocol):
    """A fit that ends when its time is up, with what it has by then.

    It leaves an ordinary fitted learner, with the parameters that the user set, and with at most as many steps. It
    takes at least one step, however late it is. With time enough it is the learner of a plain fit.
    """

    def __call__(self, learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
        """Fit the learner in place; `params` are the other arguments of its fit."""
        ...


# By the names of a library and of a class in it, so that none is imported for a learner that is not there: the module
# of the function may import it.
_KNOWN: dict[str, str] = {
    "lightgbm.LGBMClassifier": "boosters.fit_lightgbm",
    "lightgbm.LGBMRanker": "boosters.fit_lightgbm",
    "lightgbm.LGBMRegressor": "boosters.fit_lightgbm",
    "xgboost.XGBClassifier": "boosters.fit_xgboost",
    "xgboost.XGBRanker": "boosters.fit_xgboost",
    "xgboost.XGBRegressor": "boosters.fit_xgboost",
    "catboost.CatBoost": "boosters.fit_catboost",
    "catboost.CatBoostClassifier": "boosters.fit_catboost",
    "catboost.CatBoostRanker": "boosters.fit_catboost",
    "catboost.CatBoostRegressor": "boosters.fit_catboost",
    "sklearn.GradientBoostingClassifier": "boosters.fit_gradient_boosting",
    "sklearn.GradientBoostingRegressor": "boosters.fit_gradient_boosting",
    "sklearn.HistGradientBoostingClassifier": "boosters.fit_hist_gradient_boosting",
    "sklearn.HistGradientBoostingRegressor": "boosters.fit_hist_gradient_boosting",
    "sklearn.RandomForestClassifier": "ensembles.fit_forest",
    "sklearn.RandomForestRegressor": "ensembles.fit_forest",
    "sklearn.ExtraTreesClassifier": "ensembles.fit_forest",
    "sklearn.ExtraTreesRegressor": "ensembles.fit_forest",
    "sklearn.BaggingClassifier": "ensembles.fit_bagging",
    "sklearn.BaggingRegressor": "ensembles.fit_bagging",
    "sklearn.LogisticRegression": "linear_models.fit_logistic_regression",
    "sklearn.SGDClassifier": "linear_models.fit_sgd",
    "sklearn.SGDRegressor": "linear_models.fit_sgd",
    "sklearn.Perceptron": "linear_models.fit_sgd",
    "sklearn.PassiveAggressiveClassifier": "linear_models.fit_sgd",
    "sklearn.PassiveAggressiveRegressor": "linear_models.fit_sgd",
    "sklearn.MLPClassifier": "neural_networks.fit_network",
    "sklearn.MLPRegressor": "neural_networks.fit_network",
    "sklearn.Pipeline": "wrappers.fit_pipeline",
    "fitwithin.LabelEncodedClassifier": "wrappers.fit_any_labels",
}


# Those that can with some settings only.
_IF: dict[str, str] = {
    "boosters.fit_catboost": "boosters.is_on_the_processor",
    "boosters.fit_hist_gradient_boosting": "boosters.asks_itself",
    "neural_networks.fit_network": "neural_networks.goes_by_batches",
    "ensembles.fit_bagging": "ensembles.has_no_oob_score",
    "linear_models.fit_logistic_regression": "linear_models.can_go_on",
    "wrappers.fit_pipeline": "wrappers.can_stop_at_the_end",
    "wrappers.fit_any_labels": "wrappers.can_stop_inside",
}


_ADDED: dict[type, EarlyStoppingFit] = {}


def register_early_stopping(kind: type, stopping: EarlyStoppingFit) -> None:
    """Teach the library how to stop a kind of learner.

    Parameters
    ----------
    kind : type
        The learner's class. Its subclasses are stopped in the same way, but for those with a `fit` of their own. It
        goes before what the library knows of that class.
    stopping : callable(learner, X, y, stop_signal, params)
        Fits the learner in place, and ends when the time is up: `stop_signal.steps(most)` yields the steps that there is
        time for; `stop_signal.is_set()` and `stop_signal.seconds_left()` are for learners without a number of steps. `params` are the
        other arguments of the learner's fit, such as `sample_weight`. To be used in another process it must be
        picklable by cloudpickle, like the learner.

    Examples
    --------
    >>> from fitwithin.backends._early_stopping import StopSignal, register_early_stopping, find_early_stopping
    >>> class Counter:
    ...     def fit(self, X, y):
    ...         self.steps_ = 1000
    >>> def fit(learner, X, y, stop_signal, params):
    ...     for step in stop_signal.steps(1000):
    ...         learner.steps_ = step + 1
    >>> register_early_stopping(Counter, fit)
    >>> counter = Counter()
    >>> find_early_stopping(counter)(counter, None, None, StopSignal(0), {})
    >>> counter.steps_
    1
    """
    if not isinstance(kind, type) or not callable(stopping):
        raise TypeError(f"register_early_stopping takes a class and a callable; got {kind!r} and {stopping!r}.")
    _ADDED[kind] = stopping


def find_early_stopping(learner: Any) -> EarlyStoppingFit | None:
    """How to fit this learner so that it ends when its time is up; None for a black box.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> find_early_stopping(RandomForestClassifier()) is None
    False
    >>> find_early_stopping(DecisionTreeClassifier()) is None
    True
    """
    kinds = [kind for kind in type(learner).__mro__ if _fits_like(learner, kind)]
    for kind in kinds:
        if kind in _ADDED:
            return _ADDED[kind]
    for kind in kinds:
        name = _KNOWN.get(f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}")
        if name is not None and (name not in _IF or _load(_IF[name])(learner)):
            stopping: EarlyStoppingFit = _load(name)
            return stopping
    return None


def _fits_like(learner: Any, kind: type) -> bool:
    """Whether the learner has the `fit` of this class; one that a user wrote may do anything, and is left alone."""
    return "fit" not in getattr(learner, "__dict__", {}) and getattr(type(learner), "fit", None) is getattr(
        kind, "fit", None
    )


def _load(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    loaded: Callable[..., Any] = getattr(import_module(f".{module}", __package__), function)
    return loaded


# So that the difference of two answers is a number even where there is no limit; thirty years.
_FOREVER = 1e9


class StopSignal:
    """What a fit looks at to know when to end.

    Parameters
    ----------
    seconds : float
        How long it has from now on.
    clock : callable, default=time.monotonic
        Read for the time, and for nothing else.

    Attributes
    ----------
    skipped_seconds : float
        Seconds that the steps would have taken which a fit left out, told by the fit; for the price of a whole one.

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

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.skipped_seconds = 0.0
        self._clock = clock
        self._end = clock() + min(float(seconds), _FOREVER)

    def seconds_left(self) -> float:
        """Seconds until the fit should have ended; below zero if it should have by now."""
        return self._end - self._clock()

    def is_set(self) -> bool:
        """Whether the fit should end; cheap, to be asked between any two steps."""
        return self.seconds_left() <= 0.0

    def steps(self, most: int) -> Iterator[int]:
        """Numbers of steps, as many as there is time for: at least one; tells `skipped_seconds` of those that it leaves out.

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
        >>> stop_signal = StopSignal(10, clock=clock)
        >>> for step in stop_signal.steps(100):
        ...     clock.advance(4)
        >>> step, stop_signal.skipped_seconds
        (2, 388.0)
        """
        before = self.seconds_left()
        for number in range(most):
            if number and self.is_set():
                self.skipped_seconds = (most - number) * (before - self.seconds_left()) / number
                return
            yield number
