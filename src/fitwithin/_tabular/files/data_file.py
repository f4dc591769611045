"""Data files: rows of a file or of several files, whole or in chunks, with errors in users' words."""

from __future__ import annotations

import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from fitwithin._core.exceptions import UserInputError, join_names, no_such_column
from fitwithin._tabular.files.table_chunk import ColumnTypes, TableChunk

# The readers' errors for truncated files and for files of another format have no common base.
_READ_ERRORS = (
    *(OSError, EOFError, ValueError, KeyError, NotImplementedError),
    *(pa.ArrowException, zipfile.BadZipFile, zlib.error),
)


_MAX_REASON_LENGTH = 300
"""Characters of a reader's error that are shown."""


_MAX_COLUMN_NAMES = 5
"""Duplicate columns that are listed by name."""


class DataFile(ABC):
    """Rows of a file.

    A format defines the methods that begin with an underscore; they may raise any of `_READ_ERRORS`.

    Parameters
    ----------
    path : Path
        The file; see `open_data_file`, which checks it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Return the names of the columns, which must differ."""
        with self._translate_errors():
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
        with self._translate_errors():
            return self._read_rows(types, label).normalize()

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read the same rows in chunks of bounded size."""
        with self._translate_errors():
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

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise a UserInputError for every error of a reader."""
        try:
            yield
        except UserInputError:
            raise
        except _READ_ERRORS as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UserInputError(
                f"{self.path} can't be read: {reason[:_MAX_REASON_LENGTH].rstrip('.')}.",
                "Is it complete, and does its suffix match its format?",
            ) from error
