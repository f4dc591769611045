"""Data files: rows of a file or of several files, whole or in chunks, with errors in users' words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError, join_names, require_columns
from fitwithin._pools.sources.column_types import decode_dictionary
from fitwithin._pools.sources.read_errors import translate_read_errors

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

    def drop_unlabeled(self, target: str) -> TableChunk:
        """Return the rows that have a value in the column `target`."""
        values = decode_dictionary(self.table[target])
        if not values.null_count:
            return self
        has_value = values.is_valid()
        matrix = None if self.matrix is None else self.matrix[has_value.to_numpy().astype(bool)]
        return TableChunk(self.table.filter(has_value), matrix)

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


class DataFile(ABC):
    """Rows of a file.

    A format defines the methods that begin with an underscore; their errors become those of `translate_read_errors`.

    Parameters
    ----------
    path : Path
        The file; see `open_data_file`, which checks it.
    """

    in_blocks = False
    """Whether training must not read all rows at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Return the names of the columns, which must differ."""
        with translate_read_errors(self.path):
            names = self._read_names()
        duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
        if duplicates:
            raise UserInputError(
                f"{self.path} has more than one column called {join_names(map(repr, duplicates))}.",
                "Rename them in the file: every column needs a name of its own.",
            )
        return names

    def require_columns(self, names: Iterable[str]) -> None:
        """Raise an error unless the file has these columns."""
        require_columns(names, self.column_names(), self.path)

    def read(self, types: ColumnTypes | None = None, label: str | None = None) -> TableChunk:
        """Read all rows; only the columns in `types`, if given.

        Parameters
        ----------
        types : mapping, optional
            Columns to read, with their types.
        label : str, optional
            A column to read as text if its numbers have leading zeros.

        Raises
        ------
        UserInputError
            If the file can't be read completely.
        """
        with translate_read_errors(self.path):
            return self._read_rows(types, label).normalize()

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read the same rows in chunks of bounded size."""
        with translate_read_errors(self.path):
            yield from (chunk.normalize() for chunk in self._read_chunks(types))

    @abstractmethod
    def _read_names(self) -> list[str]:
        """Return the names of the columns as they are in the file."""

    @abstractmethod
    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows, of all columns or of those in `types`."""

    def _read_chunks(self, types: ColumnTypes | None) -> Iterator[TableChunk]:
        """Read all rows in chunks."""
        yield from self._read_rows(types, None).split()
