"""Rows of whatever holds rows: arrays, sparse matrices, frames of pandas, polars and arrow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fitwithin._core.records import Rows


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas, polars or arrow; none of them is imported for the question.

    Examples
    --------
    >>> is_frame([[1, 2]])
    False
    """
    return _kind(X) in ("pandas", "polars", "pyarrow")


def is_plain(X: Any) -> bool:
    """Whether X is an array of numbers, whose rows are all of one size in memory."""
    return isinstance(X, np.ndarray) and not X.dtype.hasobject


def take(X: Any, rows: Rows) -> Any:
    """These rows of X, as the learner wants them: arrow tables become frames of pandas.

    Examples
    --------
    >>> import numpy as np
    >>> take(np.array([[1], [2], [3]]), np.array([2, 0]))
    array([[3],
           [1]])
    """
    match _kind(X):
        case "pandas":
            return X.iloc[_slice(rows)]
        case "pyarrow":
            return X.take(rows).to_pandas()
        case _:
            return X[rows]


def owned(X: Any) -> Any:
    """X, safe to be written to: before its version 3 a slice of a pandas frame writes through."""
    return X.copy() if _kind(X) == "pandas" and int(sys.modules["pandas"].__version__.split(".")[0]) < 3 else X


def as_learned(X: Any) -> Any:
    """X as a learner is given it: arrow tables as frames of pandas."""
    return X.to_pandas() if _kind(X) == "pyarrow" else X


def concatenate(parts: Sequence[Any]) -> Any:
    """Parts of one table, one below the other."""
    if len(parts) == 1:
        return parts[0]
    match _kind(parts[0]):
        case "pandas":
            return sys.modules["pandas"].concat(parts)
        case "polars":
            return sys.modules["polars"].concat(parts)
        case "sparse":
            return type(parts[0])(sparse.vstack(parts, format="csr"))
        case _:
            return np.concatenate(parts)


def _kind(X: Any) -> str:
    if sparse.issparse(X):
        return "sparse"
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if library in sys.modules and isinstance(X, getattr(sys.modules[library], name)):
            return library
    return "array"


def _slice(rows: Rows) -> Rows | slice:
    """A slice where the rows are side by side, for which a frame copies nothing."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows
