"""Rows of a file, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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

    def without_nan(self) -> Part:
        """The same rows, with gaps where a column has what is not a number: some writers tell the two apart.

        Examples
        --------
        >>> Part(pa.table({"a": [1.0, float("nan")]})).without_nan().table["a"].null_count
        1
        """
        table = self.table
        for place, kind in enumerate(table.schema.types):
            if kind in (pa.float32(), pa.float64()):
                is_nan = pc.is_nan(table.column(place))
                if pc.any(is_nan).as_py():
                    gaps = pc.if_else(is_nan, pa.scalar(None, kind), table.column(place))
                    table = table.set_column(place, table.schema.field(place).with_nullable(True), gaps)
        return self if table is self.table else Part(table, self.matrix)
