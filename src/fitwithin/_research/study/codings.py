"""Columns as a few states each, for a Bayesian network, and values drawn back from the states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Codes: TypeAlias = npt.NDArray[np.int64]


def is_number(column: Any) -> bool:
    """Whether a column counts or measures; truth values do neither.

    Examples
    --------
    >>> [is_number(pd.Series(values)) for values in ([1, 2], [0.5, None], [True, False], ["a", "b"])]
    [True, True, False, False]
    """
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))


class Coding(Protocol):
    """What turns a column into numbers of states, and states into a column."""

    @property
    def states(self) -> int:
        """How many states there are; a missing value is one if the column has any."""

    def encode(self, column: Any) -> Codes:
        """The state of each value."""

    def draw(self, codes: Codes, rng: np.random.Generator) -> Any:
        """A value for each of these states."""


@dataclass(frozen=True, eq=False)
class Categories:
    """A nominal column: every value is a state.

    Parameters
    ----------
    values : pandas.Index
        The values in their order.
    gaps : bool
        Whether a missing value is a state too, the last.

    Examples
    --------
    >>> coding = Categories.of(pd.Series(["b", "a", None]))
    >>> coding.states, coding.encode(pd.Series(["a", "b", None])).tolist()
    (3, [0, 1, 2])
    """

    values: Any
    gaps: bool

    @classmethod
    def of(cls, column: Any) -> Categories:
        """The coding of a column."""
        return cls(pd.Categorical(column).remove_unused_categories().categories, bool(column.isna().any()))

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.values) + self.gaps

    def encode(self, column: Any) -> Codes:
        """The state of each value."""
        codes = self.values.get_indexer(column)
        return np.where(codes < 0, len(self.values), codes)

    def draw(self, codes: Codes, rng: np.random.Generator) -> Any:
        """The value of each of these states, as a word: a file would make numbers of numbers."""
        return pd.Categorical.from_codes(np.where(codes < len(self.values), codes, -1), self.values.astype(str))


@dataclass(frozen=True, eq=False)
class Intervals:
    """A column of numbers: every interval between two cuts is a state.

    From an interval a number is drawn like those of the original in it: one of them if they are whole numbers, else
    one between two neighbours. So a drawn column has the distribution of the original, not that of its intervals.

    Parameters
    ----------
    cuts : numpy.ndarray
        Between the intervals, rising.
    members : tuple of numpy.ndarray
        The original's values in each interval, rising.
    gaps : bool
        Whether a missing value is a state too, the last.
    named : bool
        Whether states are drawn as the names of the intervals, which makes the column nominal.

    Examples
    --------
    >>> coding = Intervals.of(pd.Series([0, 0, 0, 0, 0, 1, 2, 3]), 3)
    >>> coding.encode(pd.Series([0, 1, 2, 3])).tolist()
    [0, 1, 1, 2]
    >>> coding.names
    ['<= 0.5', '0.5 to 2.5', '> 2.5']
    """

    cuts: npt.NDArray[np.float64]
    members: tuple[npt.NDArray[Any], ...]
    gaps: bool
    named: bool = False

    @classmethod
    def of(cls, column: Any, count: int) -> Intervals:
        """The coding of a column, of so many intervals if it has as many values, with about as many rows in each.

        A value that fills more than its share of the column has an interval of its own, and the rest is shared out.
        """
        return cls._between(column, _cuts(np.sort(column.dropna().to_numpy()), count), named=False)

    @classmethod
    def of_one_width(cls, column: Any, count: int) -> Intervals:
        """The coding of a column, of so many intervals of the same width, which are drawn by their names.

        Examples
        --------
        >>> Intervals.of_one_width(pd.Series([0, 1, 1, 9]), 3).names
        ['<= 3', '3 to 6', '> 6']
        """
        cuts = np.unique(np.linspace(column.min(), column.max(), count + 1)[1:-1])
        return cls._between(column, cuts, named=True)

    @classmethod
    def _between(cls, column: Any, cuts: npt.NDArray[np.float64], *, named: bool) -> Intervals:
        present = np.sort(column.dropna().to_numpy())
        members = tuple(np.split(present, np.searchsorted(present, cuts, side="right")))
        return cls(cuts, members, bool(column.isna().any()), named)

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.members) + self.gaps

    @property
    def names(self) -> list[str]:
        """What the intervals are called."""
        if not len(self.cuts):
            return ["any"]
        between = [f"{low:.6g} to {high:.6g}" for low, high in zip(self.cuts, self.cuts[1:], strict=False)]
        return [f"<= {self.cuts[0]:.6g}", *between, f"> {self.cuts[-1]:.6g}"]

    def encode(self, column: Any) -> Codes:
        """The state of each value."""
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        codes: Codes = np.searchsorted(self.cuts, numbers)
        return np.where(np.isnan(numbers), len(self.members), codes)

    def draw(self, codes: Codes, rng: np.random.Generator) -> Any:
        """A value for each of these states."""
        if self.named:
            return pd.Categorical.from_codes(np.where(codes < len(self.members), codes, -1), self.names)
        is_whole = self.members[0].dtype.kind in "iu"
        drawn = np.zeros(len(codes), np.float32 if self.gaps or not is_whole else self.members[0].dtype)
        for state, values in enumerate(self.members):
            here = np.flatnonzero(codes == state)
            if is_whole:
                drawn[here] = rng.choice(values, len(here))
            else:
                drawn[here] = np.interp(rng.random(len(here)) * (len(values) - 1), np.arange(len(values)), values)
        if self.gaps:
            drawn[codes == len(self.members)] = np.nan
        return drawn


def _cuts(values: npt.NDArray[Any], count: int) -> npt.NDArray[np.float64]:
    """Cuts between so many intervals of these rising values, or fewer if there are fewer different ones."""
    different, counts = np.unique(values, return_counts=True)
    up_to = np.cumsum(counts)
    cuts: list[float] = []
    start = 0
    for left in range(min(count, len(different)), 1, -1):
        before = up_to[start - 1] if start else 0
        nearest = int(np.searchsorted(up_to, before + (up_to[-1] - before) / left))
        # One different value at least goes into this interval, and one is left for each of the others.
        last = min(max(nearest, start), len(different) - left)
        cuts.append((float(different[last]) + float(different[last + 1])) / 2)
        start = last + 1
    return np.array(cuts)
