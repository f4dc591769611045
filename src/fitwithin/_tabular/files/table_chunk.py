"""Rows of a file, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS_AT_ONCE = 50_000
"""Rows of a part when a file is read in parts: enough to keep a learner busy, few enough for any memory."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a file.

    Parameters
    ----------
    table : pyarrow.Table
        Its columns by name.
    matrix : numpy.ndarray, scipy.sparse.csr_matrix or None
        The features, in files that hold them as one matrix without names; then the table holds labels only.
    """

    table: pa.Table
    matrix: Any = None

    def __len__(self) -> int:
        return self.table.num_rows if self.matrix is None else int(self.matrix.shape[0])

    def split(self, size: int = ROWS_AT_ONCE) -> Iterator[Part]:
        """The same rows in their order, so many at a time.

        Examples
        --------
        >>> part = Part(pa.table({"a": range(5)}))
        >>> [len(piece) for piece in part.split(2)]
        [2, 2, 1]
        """
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            yield Part(self.table.slice(start, size), None if self.matrix is None else self.matrix[rows])

    def evened_out(self) -> Part:
        """The same rows, whoever wrote them: what is not a number is a gap, words are words, no feature is infinite.

        Examples
        --------
        >>> Part(pa.table({"a": [1.0, float("nan")]})).evened_out().table["a"].null_count
        1
        """
        columns = [_evened_out(column) for column in self.table.columns]
        X = self.matrix
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
            X = np.where(np.isinf(X), np.nan, X)
        return Part(pa.table(columns, names=self.table.column_names) if columns else self.table, X)


def _evened_out(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if values.type in (pa.float32(), pa.float64()):
        is_nan = pc.is_nan(values)
        return pc.if_else(is_nan, pa.scalar(None, values.type), values) if pc.any(is_nan).as_py() else values
    # Of newer writers; older versions of arrow do not know them.
    return values.cast(pa.string()) if str(values.type) == "string_view" else values
