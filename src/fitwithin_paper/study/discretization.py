"""Columns as a few discrete states each, for a Bayesian network, and values sampled from states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

StateCodes: TypeAlias = npt.NDArray[np.int64]


def is_numeric_column(column: Any) -> bool:
    """Whether a column holds numbers; booleans do not count.

    Examples
    --------
    >>> [is_numeric_column(pd.Series(values)) for values in ([1, 2], [0.5, None], [True, False], ["a", "b"])]
    [True, True, False, False]
    """
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


class Discretization(Protocol):
    """Map between the values of a column and the numbers of its states."""

    @property
    def n_states(self) -> int:
        """Number of states; missing values are one of them if the column has any."""

    def encode(self, column: Any) -> StateCodes:
        """Return the state of each value."""

    def sample_values(self, codes: StateCodes, rng: np.random.Generator) -> Any:
        """Return a value for each of these states."""


@dataclass(frozen=True, eq=False)
class CategoryStates:
    """States of a categorical column, one per value.

    Parameters
    ----------
    values : pandas.Index
        The values in order.
    has_missing : bool
        Whether missing values are a state too, the last one.

    Examples
    --------
    >>> states = CategoryStates.from_column(pd.Series(["b", "a", None]))
    >>> states.n_states, states.encode(pd.Series(["a", "b", None])).tolist()
    (3, [0, 1, 2])
    """

    values: Any
    has_missing: bool

    @classmethod
    def from_column(cls, column: Any) -> CategoryStates:
        """Return the states of a column."""
        return cls(pd.Categorical(column).remove_unused_categories().categories, bool(column.isna().any()))

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.values) + self.has_missing

    def encode(self, column: Any) -> StateCodes:
        """Return the state of each value."""
        codes = self.values.get_indexer(column)
        return np.where(codes < 0, len(self.values), codes)

    def sample_values(self, codes: StateCodes, rng: np.random.Generator) -> Any:
        """Return the value of each state as text, because a file would read numbers back as numeric."""
        return pd.Categorical.from_codes(np.where(codes < len(self.values), codes, -1), self.values.astype(str))


@dataclass(frozen=True, eq=False)
class IntervalStates:
    """States of a numeric column, one per interval.

    A value sampled from an interval follows the original's values there: one of them if they are integers, otherwise
    a number between two neighbours. A sampled column thus has the distribution of the original.

    Parameters
    ----------
    cuts : numpy.ndarray
        Boundaries between the intervals, ascending.
    interval_values : tuple of numpy.ndarray
        The original's values in each interval, ascending.
    has_missing : bool
        Whether missing values are a state too, the last one.
    samples_names : bool
        Whether the names of the intervals are sampled instead of numbers, which makes the column categorical.

    Examples
    --------
    >>> states = IntervalStates.from_column(pd.Series([0, 0, 0, 0, 0, 1, 2, 3]), 3)
    >>> states.encode(pd.Series([0, 1, 2, 3])).tolist()
    [0, 1, 1, 2]
    >>> states.interval_names
    ['<= 0.5', '0.5 to 2.5', '> 2.5']
    """

    cuts: npt.NDArray[np.float64]
    interval_values: tuple[npt.NDArray[Any], ...]
    has_missing: bool
    samples_names: bool = False

    @classmethod
    def from_column(cls, column: Any, n_intervals: int) -> IntervalStates:
        """Return the states of a column, with about equally many rows in each interval.

        A value that fills more than its share of the column has an interval of its own. There are fewer intervals
        than requested if the column has fewer distinct values.
        """
        cuts = _find_balanced_cuts(np.sort(column.dropna().to_numpy()), n_intervals)
        return cls._from_cuts(column, cuts, samples_names=False)

    @classmethod
    def with_equal_widths(cls, column: Any, n_intervals: int) -> IntervalStates:
        """Return the states of a column, with intervals of equal width that are sampled by name.

        Examples
        --------
        >>> IntervalStates.with_equal_widths(pd.Series([0, 1, 1, 9]), 3).interval_names
        ['<= 3', '3 to 6', '> 6']
        """
        cuts = np.unique(np.linspace(column.min(), column.max(), n_intervals + 1)[1:-1])
        return cls._from_cuts(column, cuts, samples_names=True)

    @classmethod
    def _from_cuts(cls, column: Any, cuts: npt.NDArray[np.float64], *, samples_names: bool) -> IntervalStates:
        present = np.sort(column.dropna().to_numpy())
        interval_values = tuple(np.split(present, np.searchsorted(present, cuts, side="right")))
        return cls(cuts, interval_values, bool(column.isna().any()), samples_names)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.interval_values) + self.has_missing

    @property
    def interval_names(self) -> list[str]:
        """Names of the intervals."""
        if not len(self.cuts):
            return ["any"]
        between = [f"{low:.6g} to {high:.6g}" for low, high in zip(self.cuts, self.cuts[1:], strict=False)]
        return [f"<= {self.cuts[0]:.6g}", *between, f"> {self.cuts[-1]:.6g}"]

    def encode(self, column: Any) -> StateCodes:
        """Return the state of each value."""
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        codes: StateCodes = np.searchsorted(self.cuts, numbers)
        return np.where(np.isnan(numbers), len(self.interval_values), codes)

    def sample_values(self, codes: StateCodes, rng: np.random.Generator) -> Any:
        """Return a value for each of these states."""
        if self.samples_names:
            valid = np.where(codes < len(self.interval_values), codes, -1)
            return pd.Categorical.from_codes(valid, self.interval_names)
        is_integer = self.interval_values[0].dtype.kind in "iu"
        dtype = np.float32 if self.has_missing or not is_integer else self.interval_values[0].dtype
        sampled = np.zeros(len(codes), dtype)
        for state, values in enumerate(self.interval_values):
            rows = np.flatnonzero(codes == state)
            if is_integer:
                sampled[rows] = rng.choice(values, len(rows))
            else:
                positions = rng.random(len(rows)) * (len(values) - 1)
                sampled[rows] = np.interp(positions, np.arange(len(values)), values)
        if self.has_missing:
            sampled[codes == len(self.interval_values)] = np.nan
        return sampled


def _find_balanced_cuts(values: npt.NDArray[Any], n_intervals: int) -> npt.NDArray[np.float64]:
    """Return the boundaries between intervals of these ascending values, with about equally many values in each."""
    distinct, counts = np.unique(values, return_counts=True)
    cumulative = np.cumsum(counts)
    cuts: list[float] = []
    start = 0
    for n_left in range(min(n_intervals, len(distinct)), 1, -1):
        before = cumulative[start - 1] if start else 0
        nearest = int(np.searchsorted(cumulative, before + (cumulative[-1] - before) / n_left))
        # This interval takes at least one distinct value and leaves one for each interval after it.
        last = min(max(nearest, start), len(distinct) - n_left)
        cuts.append((float(distinct[last]) + float(distinct[last + 1])) / 2)
        start = last + 1
    return np.array(cuts)
