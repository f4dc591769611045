"""Kinds of parameters in a space: choices, ranges and distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

MIN_ORDERED_VALUES = 3
"""Fewest numbers that count as an ordered list; with two of them a step is a toss anyway."""


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
        numbers = [value for value in self.values if _is_number(value)]
        if len(numbers) < max(len(self.values), MIN_ORDERED_VALUES):
            return False
        return all(low < high for low, high in pairwise(numbers))

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only."""
        return len(self.values) == 1

    def sample(self, rng: np.random.Generator) -> Any:
        """Draw a value."""
        return self.values[int(rng.integers(len(self.values)))]

    def find(self, value: Any) -> int | None:
        """Return the index of this value, or None; 1, 1.0 and True are three values."""
        for index, known in enumerate(self.values):
            if known is value or (type(known) is type(value) and _are_equal(known, value)):
                return index
        return None


@dataclass(frozen=True)
class IntRange:
    """Whole numbers from `low` to `high`, both included.

    Parameters
    ----------
    low, high : int
        Bounds.
    log : bool, default=False
        Whether the logarithm is uniform, instead of the number; `low` is then at least 1.

    Examples
    --------
    >>> IntRange(4, 1024, log=True).contains(31)
    True
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high, self.log)

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only."""
        return self.low == self.high

    def sample(self, rng: np.random.Generator) -> int:
        """Draw a number."""
        if self.log:
            # Half a unit beyond both ends gives the bounds their share.
            exponent = rng.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5))
            return self.clip(round(math.exp(exponent)))
        return int(rng.integers(self.low, self.high, endpoint=True))

    @property
    def middle(self) -> int:
        """The number in the middle."""
        return self.clip(math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2)

    def contains(self, value: Any) -> bool:
        """Return whether this is a whole number in the range."""
        return _is_number(value) and value == round(value) and self.low <= value <= self.high

    def clip(self, value: float) -> int:
        """Return the number in the range that is next to this one."""
        return min(max(round(value), self.low), self.high)


@dataclass(frozen=True)
class FloatRange:
    """Numbers from `low` to `high`.

    Parameters
    ----------
    low, high : float
        Bounds.
    log : bool, default=False
        Whether the logarithm is uniform, instead of the number; `low` is then above 0.

    Examples
    --------
    >>> FloatRange(0.01, 1.0, log=True).contains(0.1)
    True
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high, self.log)

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only."""
        return self.low == self.high

    def sample(self, rng: np.random.Generator) -> float:
        """Draw a number."""
        if self.log:
            return self.clip(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        return self.clip(float(rng.uniform(self.low, self.high)))

    @property
    def middle(self) -> float:
        """The number in the middle."""
        return self.clip(math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2)

    def contains(self, value: Any) -> bool:
        """Return whether this is a number in the range."""
        return _is_number(value) and self.low <= value <= self.high

    def clip(self, value: float) -> float:
        """Return the number in the range that is next to this one."""
        return min(max(float(value), self.low), self.high)


@dataclass(frozen=True)
class Distribution:
    """Any distribution with a method `rvs`, such as those of scipy.stats.

    Parameters
    ----------
    dist : object
        Its `rvs` takes `random_state`.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> type(Distribution(norm(0, 1)).sample(np.random.default_rng(0)))
    <class 'float'>
    """

    dist: Any

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only; unknown here, and so False."""
        return False

    @property
    def has_quantiles(self) -> bool:
        """Whether the distribution tells its quantiles, so that a value has neighbours."""
        return hasattr(self.dist, "ppf")

    def sample(self, rng: np.random.Generator) -> Any:
        """Draw a value."""
        # scikit-learn passes a RandomState, and distributions of users rely on that.
        return _to_python(self.dist.rvs(random_state=np.random.RandomState(rng.bit_generator)))

    def find_quantile(self, probability: float) -> Any:
        """Return the value below which this part of the draws lies; a whole number if the distribution has those."""
        value = float(self.dist.ppf(probability))
        return round(value) if hasattr(self.dist, "pmf") else value

    def find_probability(self, value: Any) -> float:
        """Return the part of the draws that lies at or below this value."""
        return float(self.dist.cdf(value))


Parameter = Choice | IntRange | FloatRange | Distribution
"""What one parameter may be."""


def make_parameter(name: str, values: Any) -> Parameter:
    """Make a parameter from a list of values, or from a distribution.

    Parameters
    ----------
    name : str
        Name of the parameter, for errors.
    values : list, array, distribution or Parameter
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
    if isinstance(values, Choice | IntRange | FloatRange | Distribution):
        return values
    if hasattr(values, "rvs"):
        if isinstance(values, type) or not callable(values.rvs):
            raise TypeError(f"The distribution of {name!r} is the class {values!r}; expected an instance of it.")
        return _find_range(values) or Distribution(values)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray | range):
        raise TypeError(
            f"The values of {name!r} are {values!r}, of type {type(values).__name__}; "
            "expected a list of values, or a distribution with a method `rvs`, such as scipy.stats.loguniform(1e-3, 1)."
        )
    if len(values) == 0:
        raise ValueError(f"The list of values of {name!r} is empty; give a value, or leave the parameter out.")
    return Choice(tuple(_to_python(value) for value in values))


def _find_range(dist: Any) -> IntRange | FloatRange | None:
    """Return the range of one of scipy's uniform distributions, or None for any other distribution."""
    kind = getattr(getattr(dist, "dist", None), "name", None)
    if kind not in {"uniform", "loguniform", "reciprocal", "randint"}:
        return None
    low, high = (float(bound) for bound in dist.support())
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    if kind == "randint":
        return IntRange(round(low), round(high))
    if kind == "uniform":
        return FloatRange(low, high)
    # With a `loc` the logarithm is not uniform any more.
    is_log = low > 0 and math.isclose(dist.median(), math.sqrt(low * high), rel_tol=1e-6)
    return FloatRange(low, high, log=True) if is_log else None


def _check_bounds(low: float, high: float, log: bool) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"A range goes from {low!r} to {high!r}; expected two finite numbers, the lower one first.")
    if log and low <= 0:
        raise ValueError(f"A logarithmic range begins at {low!r}; expected a number above 0.")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # arrays say neither yes nor no
        return False


def _to_python(value: Any) -> Any:
    """Return a Python number for a number of numpy, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
