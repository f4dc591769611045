"""A chunk of rows of a file, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

CHUNK_ROWS = 50_000
"""Rows of a chunk: enough for a learner to predict at full speed, few enough for any memory."""


ColumnTypes = Mapping[str, pa.DataType]
"""Columns to read, with the type to read them as."""


@dataclass(frozen=True, eq=False)
class TableChunk:
    """Rows of a file.

    Parameters
    ----------
    table : pyarrow.Table
        The named columns.
    matrix : numpy.ndarray, scipy.sparse.csr_matrix or None
        The features, in files that hold them as a matrix without column names; the table then holds labels only.
    """

    table: pa.Table
    matrix: Any = None

    def __len__(self) -> int:
        return self.table.num_rows if self.matrix is None else int(self.matrix.shape[0])

    def split(self, n_rows: int = CHUNK_ROWS) -> Iterator[TableChunk]:
        """Yield the rows in order, at most `n_rows` at a time.

        Examples
        --------
        >>> chunk = TableChunk(pa.table({"a": range(5)}))
        >>> [len(piece) for piece in chunk.split(2)]
        [2, 2, 1]
        """
        for start in range(0, len(self), n_rows):
            rows = slice(start, start + n_rows)
            yield TableChunk(self.table.slice(start, n_rows), None if self.matrix is None else self.matrix[rows])

    def normalize(self) -> TableChunk:
        """Return the rows independent of their writer: NaN is missing, text is `string`, no feature is infinite.

        Examples
        --------
        >>> TableChunk(pa.table({"a": [1.0, float("nan")]})).normalize().table["a"].null_count
        1
        """
        columns = [_normalize_column(column) for column in self.table.columns]
        X = self.matrix
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
            X = np.where(np.isinf(X), np.nan, X)
        return TableChunk(pa.table(columns, names=self.table.column_names) if columns else self.table, X)


def _normalize_column(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if values.type in (pa.float32(), pa.float64()):
        is_nan = pc.is_nan(values)
        return pc.if_else(is_nan, pa.scalar(None, values.type), values) if pc.any(is_nan).as_py() else values
    # By its name: older versions of arrow do not have this type.
    return values.cast(pa.string()) if str(values.type) == "string_view" else values
