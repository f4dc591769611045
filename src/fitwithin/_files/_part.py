"""Rows of a file, as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .._tables import concatenate

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


def join(parts: Sequence[Part]) -> Part:
    """Parts of one file, one below the other."""
    matrices = [part.matrix for part in parts]
    table = pa.concat_tables([part.table for part in parts])
    return Part(table, None if matrices[0] is None else concatenate(matrices))
