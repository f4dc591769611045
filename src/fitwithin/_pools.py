"""Rows by number, in arrays, sparse matrices and frames, and the arguments of `fit` that belong to them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Target


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Some rows of a pool, in the form that learners accept.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Features.
    y : array
        Labels or values, as the user gave them.
    row_params : dict of array
        Other arguments of `fit` with one entry for each row, such as `sample_weight`.
    """

    X: Any
    y: Array
    row_params: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)

    def split(self, size: int) -> Iterator[LabeledRows]:
        """Yield the same rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            row_params = {name: column[rows] for name, column in self.row_params.items()}
            yield LabeledRows(take_rows(self.X, rows), self.y[rows], row_params)

    @property
    def weights(self) -> Array | None:
        """`sample_weight` of these rows, or None."""
        return self.row_params.get("sample_weight")


class Pool(Protocol):
    """Rows that are read by number, as copies."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def read(self, rows: Rows) -> LabeledRows:
        """Return these rows in the form that learners accept."""
        ...


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

    def __init__(self, X: Any, y: Target, row_params: Mapping[str, Array] | None = None) -> None:
        self.X = X
        self.y = y
        self.row_params = dict(row_params or {})

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


def split_fit_params(params: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Array], dict[str, Any]]:
    """Split the arguments of `fit` into those with one entry for each row and all others.

    Returns
    -------
    row_params : dict of array
        Arguments with one entry for each row.
    fit_params : dict
        All other arguments, unchanged.

    Raises
    ------
    ValueError
        If `sample_weight` does not hold one finite number for each row, or sums to zero or less.
    TypeError
        If another argument with one entry for each row holds Python objects.

    Examples
    --------
    >>> split_fit_params({"region": ["a", "b"], "verbose": True}, 2)
    ({'region': array(['a', 'b'], dtype='<U1')}, {'verbose': True})
    """
    row_params: dict[str, Array] = {}
    fit_params: dict[str, Any] = {}
    for name, value in params.items():
        if name == "sample_weight":
            row_params[name] = _validate_weights(value, n_rows)
        elif isinstance(value, list | tuple | np.ndarray) and len(value) == n_rows:
            row_params[name] = _validate_row_param(name, value)
        else:
            fit_params[name] = value
    return row_params, fit_params


def _validate_row_param(name: str, value: Any) -> Array:
    column = np.asarray(value)
    if column.dtype.hasobject:
        raise TypeError(
            f"{name} holds Python objects; an argument with one entry for each row must hold numbers, or text only. "
            f"Convert it to an array of one type."
        )
    return column


def _validate_weights(sample_weight: Any, n_rows: int) -> Array:
    is_number = isinstance(sample_weight, Real)
    weights = np.full(n_rows, float(sample_weight)) if is_number else column_or_1d(sample_weight)
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight has {len(weights)} entries for {n_rows} rows; it must have one entry for each row."
        )
    weights = weights.astype(np.float64, copy=False)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        raise ValueError(
            f"sample_weight sums to {weights.sum()}; weights must be finite numbers with a sum greater than zero."
        )
    return weights


def is_frame(X: Any) -> bool:
    """Return whether X is a frame of pandas, polars or arrow, without importing any of them.

    Examples
    --------
    >>> is_frame([[1, 2]])
    False
    """
    return _library_of(X) in ("pandas", "polars", "pyarrow")


def list_column_types(X: Any) -> list[tuple[str, str]]:
    """Return the name and the type of each column of a frame; empty for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> list_column_types(pd.DataFrame({"a": [1], "b": [0.5]}))
    [('a', 'int64'), ('b', 'float64')]
    """
    match _library_of(X):
        case "pandas":
            return [(str(name), str(dtype)) for name, dtype in X.dtypes.items()]
        case "polars":
            return [(name, str(dtype)) for name, dtype in X.schema.items()]
        case "pyarrow":
            return [(column.name, str(column.type)) for column in X.schema]
        case _:
            return []


def has_fixed_row_size(X: Any) -> bool:
    """Return whether X is a NumPy array, or two of them, whose rows all take the same number of bytes."""
    if isinstance(X, StackedTable):
        return has_fixed_row_size(X.first) and has_fixed_row_size(X.second)
    return isinstance(X, np.ndarray) and not X.dtype.hasobject


def is_contiguous(rows: Rows) -> bool:
    """Return whether each row number is one more than the number before it; False for no rows.

    Examples
    --------
    >>> is_contiguous(np.array([3, 4, 5])), is_contiguous(np.array([3, 5, 4]))
    (True, False)
    """
    # The ends alone rule out most selections, without a pass over all numbers.
    return bool(len(rows)) and bool(rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all())


def take_rows(X: Any, rows: Rows) -> Any:
    """Return these rows of X in a form that learners accept: arrow tables become pandas frames.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows(np.array([[1], [2], [3]]), np.array([2, 0]))
    array([[3],
           [1]])
    """
    match _library_of(X):
        case "pandas":
            # pandas does not copy a slice.
            return X.iloc[slice(int(rows[0]), int(rows[-1]) + 1) if is_contiguous(rows) else rows]
        case "pyarrow":
            return X.take(rows).to_pandas()
        case _:
            return X[rows]


def copy_if_view(X: Any) -> Any:
    """Return X, copied if writing to it could change the table that it was taken from.

    Before pandas 3 a slice of a frame writes through to that frame.
    """
    is_view = _library_of(X) == "pandas" and int(sys.modules["pandas"].__version__.split(".")[0]) < 3
    return X.copy() if is_view else X


def convert_arrow(X: Any) -> Any:
    """Return an arrow table as a pandas frame, and anything else unchanged."""
    return X.to_pandas() if _library_of(X) == "pyarrow" else X


def concatenate(parts: Sequence[Any]) -> Any:
    """Join the rows of several tables of one type."""
    if len(parts) == 1:
        return parts[0]
    match _library_of(parts[0]):
        case "pandas":
            return sys.modules["pandas"].concat(parts)
        case "polars":
            return sys.modules["polars"].concat(parts)
        case "sparse":
            return type(parts[0])(sparse.vstack(parts, format="csr"))
        case _:
            return np.concatenate(parts)


def describe_table(X: Any) -> str:
    """Return the type of a table in words, to compare the types of two of them.

    Examples
    --------
    >>> describe_table(np.zeros((1, 1)))
    'a NumPy array'
    """
    library = _library_of(X)
    if library in ("array", "sparse"):
        return {"array": "a NumPy array", "sparse": "a sparse matrix"}[library]
    return f"a {library} {type(X).__name__}"


def _library_of(X: Any) -> str:
    if sparse.issparse(X):
        return "sparse"
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if library in sys.modules and isinstance(X, getattr(sys.modules[library], name)):
            return library
    return "array"
