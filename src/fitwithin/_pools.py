"""The labelled rows that are at hand, by row number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import column_or_1d

from fitwithin._core.records import Rows
from fitwithin._core.tables import owned, take
from fitwithin._core.target import Array, Target


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Some rows of a pool, as the learner wants them.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Their features.
    y : array
        Their labels or values, as the user gave them.
    extras : dict of array
        What else goes with each row into `fit`, such as its weight.
    """

    X: Any
    y: Array
    extras: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)

    def split(self, size: int) -> Iterator[LabeledRows]:
        """The same rows in their order, so many at a time."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            extras = {name: column[rows] for name, column in self.extras.items()}
            yield LabeledRows(take(self.X, rows), self.y[rows], extras)

    @property
    def weights(self) -> Array | None:
        """The rows' weights, if they have any."""
        return self.extras.get("sample_weight")


class Pool(Protocol):
    """Rows by number. A pool hands out copies of the rows that are asked for and nothing else."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def read(self, rows: Rows) -> LabeledRows:
        """These rows, as the learner wants them."""
        ...


class TablePool:
    """Rows of a table in memory: an array, a `numpy.memmap`, a sparse matrix, a frame.

    Parameters
    ----------
    X : array, CSR matrix or frame of n_rows
        The features; never copied whole.
    y : Labels or Values
        What is to be learned.
    extras : dict of array, optional
        What else goes with each row into `fit`, such as its weight.
    held_out : int, default=0
        How many of the last rows are examined and never taught, such as a test set.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin._core.target import Labels
    >>> pool = TablePool(np.arange(6.0).reshape(3, 2), Labels.encode([5, 6, 5]))
    >>> pool.read(np.array([2, 0])).X
    array([[4., 5.],
           [0., 1.]])
    >>> pool.read(np.array([2, 1])).y
    array([5, 6])
    """

    def __init__(self, X: Any, y: Target, extras: Mapping[str, Array] | None = None, held_out: int = 0) -> None:
        self.held_out = held_out
        self.X = X
        self.y = y
        self.extras = dict(extras or {})

    def __len__(self) -> int:
        return len(self.y.column)

    def read(self, rows: Rows) -> LabeledRows:
        """These rows, as a copy."""
        extras = {name: column[rows] for name, column in self.extras.items()}
        return LabeledRows(owned(take(self.X, rows)), self.y.decode(self.y.column[rows]), extras)


def by_rows(params: Mapping[str, Any], rows: int) -> tuple[dict[str, Array], dict[str, Any]]:
    """Which arguments go with their rows, and which go as they are.

    Raises
    ------
    ValueError, TypeError
        If weights are not finite numbers, one for each row, or something that goes with rows holds objects.

    Examples
    --------
    >>> by_rows({"groups": ["a", "b"], "verbose": True}, 2)
    ({'groups': array(['a', 'b'], dtype='<U1')}, {'verbose': True})
    """
    extras: dict[str, Array] = {}
    options: dict[str, Any] = {}
    for name, value in params.items():
        if name == "sample_weight":
            extras[name] = _weights(value, rows)
        elif isinstance(value, list | tuple | np.ndarray) and len(value) == rows:
            extras[name] = _plain_column(name, value)
        else:
            options[name] = value
    return extras, options


def _plain_column(name: str, value: Any) -> Array:
    column = np.asarray(value)
    if column.dtype.hasobject:
        raise TypeError(f"{name} goes with the rows, so it must hold numbers or text of one type; got objects.")
    return column


def _weights(sample_weight: Any, rows: int) -> Array:
    one_for_all = isinstance(sample_weight, Real)
    weights = np.full(rows, float(sample_weight)) if one_for_all else column_or_1d(sample_weight)
    if len(weights) != rows:
        raise ValueError(f"sample_weight must have one entry for each row: {rows} rows, {len(weights)} weights.")
    weights = weights.astype(np.float64, copy=False)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        raise ValueError(f"sample_weight must be finite, and not all zero; its sum is {weights.sum()}.")
    return weights
