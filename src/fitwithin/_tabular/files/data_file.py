"""Data files: rows of a file or of several files, whole or in chunks, with errors in users' words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fitwithin._core.exceptions import UserInputError, join_names, no_such_column
from fitwithin._pools.sources.read_errors import translate_read_errors
from fitwithin._tabular.files.table_chunk import ColumnTypes, TableChunk

_MAX_COLUMN_NAMES = 5
"""Duplicate columns that are listed by name."""


class DataFile(ABC):
    """Rows of a file.

    A format defines the methods that begin with an underscore; their errors become those of `translate_read_errors`.

    Parameters
    ----------
    path : Path
        The file; see `open_data_file`, which checks it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Return the names of the columns, which must differ."""
        with translate_read_errors(self.path):
            names = self._read_names()
        duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
        if duplicates:
            raise UserInputError(
                f"{self.path} has more than one column called {join_names(map(repr, duplicates), _MAX_COLUMN_NAMES)}.",
                "Rename them in the file: every column needs a name of its own.",
            )
        return names

    def require_columns(self, names: Iterable[str]) -> None:
        """Raise an error unless the file has these columns."""
        known = self.column_names()
        for name in names:
            if name not in known:
                raise no_such_column(name, known, str(self.path))

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
