"""Select and join rows of arrays, sparse matrices, and frames of pandas, polars and arrow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fitwithin._core.records import Rows


def is_frame(X: Any) -> bool:
    """Return whether X is a frame of pandas, polars or arrow, without importing any of them.

    Examples
    --------
    >>> is_frame([[1, 2]])
    False
    """
    return _library_of(X) in ("pandas", "polars", "pyarrow")


def has_fixed_row_size(X: Any) -> bool:
    """Return whether X is a NumPy array whose rows all take the same number of bytes."""
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


def _library_of(X: Any) -> str:
    if sparse.issparse(X):
        return "sparse"
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if library in sys.modules and isinstance(X, getattr(sys.modules[library], name)):
            return library
    return "array"
