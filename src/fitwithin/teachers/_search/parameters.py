"""Kinds of parameters in a space: choices, ranges and distributions, each with scikit-learn's `rvs`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np

MIN_ORDERED_VALUES = 3
"""Fewest numbers that count as an ordered list; with two of them a step is a toss anyway."""


class Parameter(Protocol):
    """What one parameter may be: a `Choice`, a range, or any distribution, such as those of scipy.stats."""

    def rvs(self, *, random_state: Any) -> Any:
        """Draw a value."""
        ...


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Parameters
    ----------
    values : tuple
        Values of any type, with equal probability.

    Examples
    --------
    >>> Choice(("gini", "entropy")).is_ordered, Choice((7, 15, 31)).is_ordered
    (False, True)
    """

    values: tuple[Any, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether a value's neighbours in the tuple are close to it: at least three numbers, in rising order."""
        if len(self.values) < MIN_ORDERED_VALUES or not all(map(is_number, self.values)):
            return False
        return all(low < high for low, high in pairwise(self.values))

    @property
    def lowest(self) -> int | None:
        """The lowest positive whole number, or None."""
        return min((one for one in self.values if is_number(one) and one >= 1 and one == round(one)), default=None)

    def rvs(self, *, random_state: np.random.RandomState) -> Any:
        """Draw a value."""
        return self.values[random_state.randint(len(self.values))]

    def find(self, value: Any) -> int | None:
        """Return the index of this value, or None; 1, 1.0 and True are three values."""
        keys = [_make_value_key(one) for one in self.values]
        return keys.index(key) if (key := _make_value_key(value)) in keys else None

    def nearest(self, value: Any) -> Any:
        """Return the value itself, the nearest one of an ordered list, or else the one in the middle."""
        if self.find(value) is None and self.is_ordered and is_number(value):
            return min(self.values, key=lambda known: abs(known - value))
        return self.values[len(self.values) // 2] if self.find(value) is None else value

    def find_place(self, value: Any) -> float:
        """Return the place of the nearest value, between 0 and 1."""
        return ((self.find(self.nearest(value)) or 0) + 0.5) / len(self.values)

    def find_value(self, place: float) -> Any:
        """Return the value at a place; beyond the ends is the last one, or the other end of values without an order."""
        index, last = math.floor(place * len(self.values)), len(self.values) - 1
        return self.values[min(max(index, 0), last) if self.is_ordered else index % len(self.values)]


@dataclass(frozen=True)
class FloatRange:
    """Numbers from `low` to `high`, both included.

    Parameters
    ----------
    low, high : float
        Bounds.
    log : bool, default=False
        Whether the logarithm is uniform, instead of the number; `low` is then above 0.

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
        if not is_number(value):
            value = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        return min(max(float(value), self.low), self.high)

    def find_place(self, value: Any) -> float:
        """Return the place of a number between 0 and 1."""
        low, high, number = (math.log(one) if self.log else one for one in (*self._bounds, self.nearest(value)))
        return (number - low) / (high - low) if low < high else 0.0

    def find_value(self, place: float) -> Any:
        """Return the number at a place; beyond the ends is the bound."""
        low, high = self._bounds
        place = min(max(place, 0.0), 1.0)
        return self.nearest(low * (high / low) ** place if self.log else low + place * (high - low))

    @property
    def _bounds(self) -> tuple[float, float]:
        return self.low - self._margin, self.high + self._margin


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


def make_parameter(name: str, values: Any) -> Parameter:
    """Make a parameter from a list of values, or from a distribution.

    Parameters
    ----------
    name : str
        Name of the parameter, for errors.
    values : list, array or distribution
        As in scikit-learn's ``RandomizedSearchCV``. scipy's ``uniform``, ``loguniform`` and ``randint`` become ranges.

    Raises
    ------
    ValueError
        If there are no values.
    TypeError
        If this is neither a list nor has a method `rvs`.

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
    return Choice(tuple(to_python(value) for value in values))


def _find_range(dist: Any) -> IntRange | FloatRange | None:
    """Return the range of one of scipy's uniform distributions, or None for any other distribution."""
    kind = getattr(getattr(dist, "dist", None), "name", None)
    if kind not in {"uniform", "loguniform", "reciprocal", "randint"}:
        return None
    low, high = (float(bound) for bound in dist.support())
    if not (math.isfinite(low) and math.isfinite(high)):
        # Its own draws tell what is wrong with it.
        return None
    if kind == "randint":
        return IntRange(round(low), round(high))
    if kind == "uniform":
        return FloatRange(low, high)
    # With a `loc` the logarithm is not uniform any more.
    is_log = low > 0 and math.isclose(dist.median(), math.sqrt(low * high), rel_tol=1e-6)
    return FloatRange(low, high, log=True) if is_log else None


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
        return (type(value), repr(value))
    return (type(value), value)
