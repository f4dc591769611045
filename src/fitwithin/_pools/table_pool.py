"""Rows of tables: arrays, memory-mapped files, sparse matrices and frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.decks.rare_values import count_sample_rows, find_missing_values
from fitwithin._pools.decks.table_pile import drop_repeats
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import concatenate, copy_if_view, is_frame, take_rows


class TablePool:
    """Rows of a table: an array, a `numpy.memmap`, a sparse matrix or a frame.

    Parameters
    ----------
    X : array, CSR matrix, frame or StackedTable of n_rows
        Features; never copied as a whole.
    y : Labels or Values
        Target.
    row_params : dict of array, optional
        Other arguments of `fit` with one entry for each row, such as `sample_weight`.

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

    modules: tuple[str, ...] = ()
    spooled = None

    def __init__(self, X: Any, y: Target, row_params: Mapping[str, Array] | None = None) -> None:
        self.X = X
        self.y = y
        self.row_params: Mapping[str, Array] = dict(row_params or {})
        self.n_given_rows = len(self)
        self.training_table: Any = X.first if isinstance(X, StackedTable) else X

    def __len__(self) -> int:
        return len(self.y.column)

    def add_validation_rows(self, more: TablePool) -> TablePool:
        """Return a pool of these rows and, numbered after them, others that no model is trained on.

        They have the weight 1. Other arguments of `fit` are used in training only, so zeros fill their place.
        """
        row_params = {
            name: np.concatenate(
                [column, np.full((len(more), *column.shape[1:]), name == "sample_weight", column.dtype)]
            )
            for name, column in self.row_params.items()
        }
        return TablePool(StackedTable(self.X, more.X), self.y.extend(more.y), row_params)

    def read(self, rows: Rows) -> LabeledRows:
        """Return a copy of these rows."""
        row_params = {name: column[rows] for name, column in self.row_params.items()}
        return LabeledRows(copy_if_view(take_rows(self.X, rows)), self.y.decode(self.y.column[rows]), row_params)

    def start(self) -> None:
        """Do nothing: the rows are there."""

    close = start

    def make_deck(self, rng: np.random.Generator, costs: CostEstimates, min_class_rows: int = 1) -> Deck:
        """Return the deck of the rows."""
        strata, counts = (self.y.codes, self.y.counts) if isinstance(self.y, Labels) else (None, None)
        weights = self.row_params.get("sample_weight")
        if weights is not None and not weights.all():
            # Rows of weight zero are strata of their own, so that a first lesson holds rows that count.
            n_classes = 1 if counts is None else len(counts)
            is_empty = weights == 0
            strata, counts = is_empty * np.uint32(n_classes) + (0 if strata is None else strata), None
        return Deck(len(self), rng, strata, min_class_rows, costs, counts)

    def find_missing_values(self, lesson: Rows, sample: Callable[[int], Rows]) -> Rows:
        """Return rows with values that are frequent in a sample, and missing in a lesson."""
        table = self.training_table
        if not (is_frame(table) or (isinstance(table, np.ndarray) and table.ndim > 1)):
            return lesson[:0]
        return find_missing_values(self.X, lesson, drop_repeats(sample(count_sample_rows(self.X))))

    def describe(self) -> Mapping[str, str]:
        """Return nothing: only its rows tell a table from another."""
        return {}

    def describe_unread_rows(self) -> None:
        """Return None: all rows can be read."""


class StackedTable:
    """Rows of two tables of one type, numbered one table after the other, without a copy of either.

    Parameters
    ----------
    first, second : array, CSR matrix or frame
        Tables with the same columns. Rows of the second array are converted to the type of the first as they are read.

    Examples
    --------
    >>> import numpy as np
    >>> table = StackedTable(np.zeros((2, 2)), np.ones((3, 2), dtype=np.int8))
    >>> table.shape
    (5, 2)
    >>> table[np.array([4, 0])]
    array([[1., 1.],
           [0., 0.]])
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second
        self.shape: tuple[int, ...] = (first.shape[0] + second.shape[0], *first.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values in two arrays."""
        dtype: np.dtype[Any] = self.first.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the values in two arrays."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __getitem__(self, rows: Rows) -> Any:
        n_first = self.first.shape[0]
        is_second = rows >= n_first
        if not is_second.any():
            return take_rows(self.first, rows)
        second = take_rows(self.second, rows[is_second] - n_first)
        if not is_frame(self.first):
            second = second.astype(self.dtype, copy=False)
        if is_second.all():
            return second
        both = concatenate([take_rows(self.first, rows[~is_second]), second])
        # Back into the order of `rows`, in which rows of the two tables may alternate.
        return take_rows(both, np.argsort(np.argsort(is_second, kind="stable")))


def has_fixed_row_size(X: Any) -> bool:
    """Return whether X is a NumPy array, or two of them, whose rows all take the same number of bytes."""
    if isinstance(X, StackedTable):
        return has_fixed_row_size(X.first) and has_fixed_row_size(X.second)
    return isinstance(X, np.ndarray) and not X.dtype.hasobject
