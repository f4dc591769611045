"""Parameter space of one estimator: choices, ranges and distributions, each with scikit-learn's `rvs`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.model_selection import ParameterSampler

Settings = dict[str, Any]
"""Values by the estimator's own parameter names, for `set_params`."""

STEP_COUNTS = ("n_estimators", "max_iter", "iterations", "num_boost_round", "num_trees")
"""Names under which estimators count their steps."""

LEAVES = ("num_leaves", "max_leaves", "max_leaf_nodes")
"""Names under which estimators count the leaves of a tree."""

# Parameters whose lowest value gives the fastest fit.
_CHEAP_WHEN_LOW = frozenset({*STEP_COUNTS, *LEAVES, "depth", "max_depth", "n_components", "n_init"})

N_DRAWN_VALUES = 64
"""Values that stand for a distribution, in which no step is short."""

MIN_ORDERED_VALUES = 3
"""Fewest numbers that count as an ordered list; with two of them a step is a toss anyway."""

MIN_STEPS_LIMIT = 512
"""Steps that are allowed on any number of rows; beyond, there are at most as many steps as rows, as in FLAML."""

_MAX_RATE = 0.5
"""Highest learning rate that steps are traded for: FLAML's winners on covtype in 18 s had 0.47 to 0.49."""

_MIN_STEPS = 20
"""Fewest steps that are left of a portfolio's; the same winners had 11 to 19."""

_SURE_TYPO = 0.9
"""Similarity of a typing error, even if the estimator takes any name: num_leave is one, num_leaf is not."""


class Parameter(Protocol):
    """What one parameter may be: a `Choice`, a range, or any distribution, such as those of scipy.stats."""

    def rvs(self, *, random_state: Any) -> Any:
        """Draw a value."""
        ...


@dataclass(frozen=True)
class Choice:
    """One of several values of any type, with equal probability.

    Examples
    --------
    >>> Choice(("gini", "entropy")).is_ordered, Choice((7, 15, 31)).is_ordered
    (False, True)
    """

    values: tuple[Any, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether a value's neighbours in the tuple are close to it: at least three numbers, in rising order."""
        is_rising = all(map(is_number, self.values)) and all(low < high for low, high in pairwise(self.values))
        return is_rising and len(self.values) >= MIN_ORDERED_VALUES

    @property
    def lowest(self) -> int | None:
        """The lowest positive whole number, or None."""
        return min((one for one in self.values if is_number(one) and one >= 1 and one == round(one)), default=None)

    def rvs(self, *, random_state: np.random.RandomState) -> Any:
        """Draw a value."""
        return self.values[random_state.randint(len(self.values))]

    def find(self, value: Any) -> int | None:
        """Return the index of this value, or None; 1, 1.0 and True are three values."""
        key = _make_value_key(value)
        return next((index for index, one in enumerate(self.values) if _make_value_key(one) == key), None)

    def nearest(self, value: Any) -> Any:
        """Return the value itself, the nearest one of an ordered list, or else the one in the middle."""
        return self.values[self._find_nearest(value)]

    def find_place(self, value: Any) -> float:
        """Return the place of the nearest value, between 0 and 1."""
        return (self._find_nearest(value) + 0.5) / len(self.values)

    def find_value(self, place: float) -> Any:
        """Return the value at a place; beyond the ends is the last one, or the other end of values without an order."""
        index, last = math.floor(place * len(self.values)), len(self.values) - 1
        return self.values[min(max(index, 0), last) if self.is_ordered else index % len(self.values)]

    def _find_nearest(self, value: Any) -> int:
        found = self.find(value)
        if found is None and self.is_ordered and is_number(value):
            return int(np.argmin([abs(known - value) for known in self.values]))
        return len(self.values) // 2 if found is None else found


@dataclass(frozen=True)
class FloatRange:
    """Numbers from `low` to `high`, both included; with `log` their logarithm is uniform.

    Examples
    --------
    >>> FloatRange(0.01, 1.0, log=True).nearest(7)
    1.0
    """

    low: float
    high: float
    log: bool = False

    _margin: ClassVar[float] = 0.0  # beyond both ends, within which numbers count as the bound

    @property
    def lowest(self) -> float:
        """The lower bound."""
        return self.low

    def rvs(self, *, random_state: np.random.RandomState) -> Any:
        """Draw a number."""
        return self.find_value(random_state.uniform())

    def nearest(self, value: Any) -> Any:
        """Return the number in the range that is next to this one; the middle, if this is no number."""
        return min(max(float(value), self.low), self.high) if is_number(value) else self.find_value(0.5)

    def find_place(self, value: Any) -> float:
        """Return the place of a number between 0 and 1."""
        bounds = self.low - self._margin, self.high + self._margin
        low, high, number = (math.log(one) if self.log else one for one in (*bounds, self.nearest(value)))
        return (number - low) / (high - low) if low < high else 0.0

    def find_value(self, place: float) -> Any:
        """Return the number at a place; beyond the ends is the bound."""
        low, high, place = self.low - self._margin, self.high + self._margin, min(max(place, 0.0), 1.0)
        return self.nearest(low * (high / low) ** place if self.log else low + place * (high - low))


@dataclass(frozen=True)
class IntRange(FloatRange):
    """Whole numbers from `low` to `high`, both included.

    Examples
    --------
    >>> IntRange(4, 1024, log=True).nearest(31.2)
    31
    """

    low: int
    high: int

    _margin: ClassVar[float] = 0.5

    def nearest(self, value: Any) -> Any:
        """Return the whole number in the range that is next to this one; the middle, if this is no number."""
        return round(super().nearest(value))


@dataclass(frozen=True)
class Space:
    """Settings that a search may try.

    Parameters
    ----------
    parameters : mapping of str to Parameter
        Parameters by name.
    cheap : mapping of str to Any, optional
        Settings to begin with: those of a fast fit. Parameters that are left out are drawn.
    steps : str, optional
        Name of the parameter that counts the estimator's steps, such as "n_estimators", if it is in the space.
    portfolio : tuple of dict, optional
        Settings that were good on other data, to try first. Parameters that are left out stay as the estimator has
        them. With too many steps for the time there is, they are tried with fewer steps and a higher learning rate.

    Examples
    --------
    >>> space = Space({"n_estimators": IntRange(4, 64, log=True), "max_depth": Choice((3, None))}, {"n_estimators": 4})
    >>> space.complete({"n_estimators": 8, "max_depth": 3}, np.random.RandomState(0))
    {'max_depth': 3, 'n_estimators': 8}
    """

    parameters: Mapping[str, Parameter]
    cheap: Mapping[str, Any] = field(default_factory=dict)
    steps: str | None = None
    portfolio: tuple[Settings, ...] = ()

    def sample(self, random: np.random.RandomState) -> Settings:
        """Draw settings."""
        (drawn,) = ParameterSampler(self.parameters, 1, random_state=random)
        return {name: to_python(value) for name, value in drawn.items()}

    def complete(self, settings: Mapping[str, Any], random: np.random.RandomState) -> Settings:
        """Return settings with every parameter: the cheap value, or a drawn one, where they have none."""
        return {**self.sample(random), **self.cheap, **settings}

    def clip(self, settings: Mapping[str, Any]) -> Settings:
        """Return settings with each number in its range, or the nearest one of a list."""
        known = {name: one for name, one in self.parameters.items() if isinstance(one, Choice | FloatRange)}
        return {name: known[name].nearest(value) if name in known else value for name, value in settings.items()}

    def limit_to_rows(self, n_rows: int) -> Space:
        """Return the space with fewer leaves and steps if there are few rows."""
        limits = {name: n_rows // 2 for name in self.parameters if strip_prefix(name) in LEAVES}
        limits |= {self.steps: max(n_rows, MIN_STEPS_LIMIT)} if self.steps else {}
        ranges = {name: one for name, one in self.parameters.items() if isinstance(one, IntRange) and name in limits}
        lower = {name: replace(one, high=max(2 * one.low, min(one.high, limits[name]))) for name, one in ranges.items()}
        return replace(self, parameters={**self.parameters, **lower})

    def limit_steps(self, settings: Settings, most: float) -> Settings:
        """Return hyperparameters with at most `most` steps, and with a learning rate that is higher in proportion.

        Examples
        --------
        >>> space = Space({"n_estimators": IntRange(4, 4096)}, steps="n_estimators")
        >>> space.limit_steps({"n_estimators": 1000, "learning_rate": 0.05}, 250)
        {'n_estimators': 250, 'learning_rate': 0.2}
        """
        n_steps, most = settings.get(self.steps or ""), max(most, _MIN_STEPS)
        if not isinstance(n_steps, int) or n_steps <= most:
            return settings
        rates = {name: rate for name, rate in settings.items() if strip_prefix(name) in ("learning_rate", "eta")}
        faster = {name: max(rate, min(rate * n_steps / most, _MAX_RATE)) for name, rate in rates.items()}
        return {**settings, str(self.steps): int(most), **faster}


def count_leaves(settings: Mapping[str, Any]) -> float:
    """Return the leaves of each tree; 0 if unknown."""
    numbers = {strip_prefix(name): float(value) for name, value in settings.items() if is_number(value)}
    leaves = next((numbers[name] for name in LEAVES if name in numbers), 0.0)
    return 2.0 ** numbers["depth"] if not leaves and "depth" in numbers else leaves


def make_spaces(estimator: Any, param_distributions: Any) -> list[Space]:
    """Make a space from each dict of a list, as in scikit-learn; see `make_space`."""
    distributions = param_distributions if isinstance(param_distributions, list) else [param_distributions]
    return [make_space(estimator, one) for one in distributions or [None]]


def make_space(estimator: Any, param_distributions: Any) -> Space:
    """Make the space of an estimator from lists and distributions, as in scikit-learn's ``RandomizedSearchCV``.

    It begins with the lowest step counts, depths and numbers of leaves, and else with the estimator's own values.

    Raises
    ------
    TypeError
        If this is not a dict, or a value is neither a list nor a distribution.
    ValueError
        If the dict or a list in it is empty, or the estimator has no such parameter.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> space = make_space(RandomForestClassifier(), {"n_estimators": [10, 30, 100], "max_features": ["sqrt", None]})
    >>> space.cheap, space.steps
    ({'n_estimators': 10, 'max_features': 'sqrt'}, 'n_estimators')
    """
    if not isinstance(param_distributions, Mapping):
        raise TypeError(
            f"param_distributions is {param_distributions!r}, of type {type(param_distributions).__name__}; "
            "expected a dict of parameter names and their values, or a list of such dicts."
        )
    if not param_distributions:
        raise ValueError("param_distributions is empty; name at least one parameter, or pass None for a ready space.")
    for name in param_distributions:
        _check_name(estimator, name)
    parameters = {name: make_parameter(name, values) for name, values in param_distributions.items()}
    steps = next((name for name in parameters if strip_prefix(name) in STEP_COUNTS), None)
    own, cheap = estimator.get_params(deep=True), {}
    for name, one in parameters.items():
        if isinstance(one, Choice | FloatRange):
            lowest = one.lowest if strip_prefix(name) in _CHEAP_WHEN_LOW else None
            cheap[name] = one.nearest(own.get(name)) if lowest is None else lowest
    return Space(parameters, cheap, steps)


def _check_name(estimator: Any, name: Any) -> None:
    """Raise an error unless the estimator, or one inside it, has this parameter, or takes any name."""
    if not isinstance(name, str):
        raise TypeError(f"A parameter's name is {name!r}, of type {type(name).__name__}; expected a string.")
    params = estimator.get_params(deep=True)
    step, _, own_name = name.rpartition("__")
    owner, prefix = params.get(step), f"{step}__"
    if not hasattr(owner, "get_params"):
        owner, prefix, own_name = estimator, "", name
    signature = inspect.signature(type(owner)).parameters.values()
    # get_params of CatBoost has the parameters that were set; the signature of XGBoost has none of its base's.
    named = {one.name for one in signature if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    known = sorted(named | {one.removeprefix(prefix) for one in params if one.startswith(prefix)})
    takes_any = any(one.kind is one.VAR_KEYWORD for one in signature) and "__" not in own_name
    if own_name in known or (takes_any and not get_close_matches(own_name, known, 1, _SURE_TYPO)):
        return
    close = "".join(f" Did you mean {prefix + one!r}?" for one in get_close_matches(own_name, known, 1))
    names = ", ".join(prefix + one for one in known)
    raise ValueError(f"{type(owner).__name__} has no parameter {name!r}; it has {names}.{close}")


def make_parameter(name: str, values: Any) -> Parameter:
    """Make the parameter `name` from a list of values, or from a distribution.

    Examples
    --------
    >>> from scipy.stats import loguniform, randint
    >>> make_parameter("C", loguniform(0.5, 8))
    FloatRange(low=0.5, high=8.0, log=True)
    >>> make_parameter("max_depth", randint(2, 10))
    IntRange(low=2, high=9, log=False)
    >>> make_parameter("criterion", ["gini", "entropy"])
    Choice(values=('gini', 'entropy'))
    """
    if hasattr(values, "rvs"):
        if isinstance(values, type) or not callable(values.rvs):
            raise TypeError(f"The distribution of {name!r} is the class {values!r}; expected an instance of it.")
        return _find_range(values) or values
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        raise TypeError(
            f"The values of {name!r} are {values!r}, of type {type(values).__name__}; "
            "expected a list of values, or a distribution with a method `rvs`, such as scipy.stats.loguniform(1e-3, 1)."
        )
    if len(values) == 0:
        raise ValueError(f"The list of values of {name!r} is empty; give a value, or leave the parameter out.")
    return Choice(tuple(map(to_python, values)))


def _find_range(dist: Any) -> IntRange | FloatRange | None:
    """Return the range of one of scipy's uniform distributions, or None for any other distribution."""
    kind = getattr(getattr(dist, "dist", None), "name", None)
    low, high = dist.support() if kind in ("uniform", "loguniform", "reciprocal", "randint") else (0, math.inf)
    if not math.isfinite(high - low):
        # Another one, or one without values, whose own draws tell what is wrong with it.
        return None
    if kind in ("uniform", "randint"):
        return FloatRange(float(low), float(high)) if kind == "uniform" else IntRange(int(low), int(high))
    # With a `loc` the logarithm is not uniform any more.
    is_log = low > 0 and math.isclose(dist.median(), math.sqrt(low * high), rel_tol=1e-6)
    return FloatRange(float(low), float(high), log=True) if is_log else None


def make_movable(parameter: Parameter, random: np.random.RandomState) -> Choice | FloatRange:
    """Return the parameter, or draws in place of a distribution."""
    if isinstance(parameter, Choice | FloatRange):
        return parameter
    values = [to_python(parameter.rvs(random_state=random)) for _ in range(N_DRAWN_VALUES)]
    return Choice(tuple(sorted(set(values)) if all(map(is_number, values)) else values))


def is_number(value: Any) -> bool:
    """Return whether this is a finite number, and no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def to_python(value: Any) -> Any:
    """Return a Python number for a number of numpy, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def make_key(settings: Mapping[str, Any]) -> Hashable:
    """Return a hashable form of settings; 1, 1.0 and True are different values."""
    return tuple((name, _make_value_key(settings[name])) for name in sorted(settings))


def _make_value_key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        # An array's own text leaves out most of many values.
        return (type(value), repr(value.tolist() if isinstance(value, np.ndarray) else value))
    return (type(value), value)


def strip_prefix(name: str) -> str:
    """Return the name that a parameter has in its own estimator."""
    return name.rsplit("__", 1)[-1]
