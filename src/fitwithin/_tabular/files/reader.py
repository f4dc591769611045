"""Data files by their name: the suffix gives the format."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from fitwithin._core.exceptions import UserInputError, closest_match, join_names
from fitwithin._tabular.files.arrow import FeatherFile, ParquetFile
from fitwithin._tabular.files.csv import CsvFile
from fitwithin._tabular.files.data_set_files import DataSetFiles, is_file_set
from fitwithin._tabular.files.npz import NpzFile
from fitwithin._tabular.files.svmlight import SvmlightFile
from fitwithin._tabular.files.table_chunk import ColumnTypes, TableChunk


class FileFormat(Protocol):
    """Reader of one format; it may raise any of `_READ_ERRORS`."""

    def column_names(self) -> list[str]:
        """Return the names of the columns as they are in the file."""

    def read(self, types: ColumnTypes | None = None) -> TableChunk:
        """Read all rows, of all columns or of those in `types`."""

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read all rows in chunks."""


_FORMATS: Mapping[str, Callable[[Path], FileFormat]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".feather": FeatherFile,
    ".arrow": FeatherFile,
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".npz": NpzFile,
    ".svmlight": SvmlightFile,
    ".libsvm": SvmlightFile,
    ".svm": SvmlightFile,
}


# The readers' errors for truncated files and for files of another format have no common base.
_READ_ERRORS = (
    *(OSError, EOFError, ValueError, KeyError, NotImplementedError),
    *(pa.ArrowException, zipfile.BadZipFile, zlib.error),
)


_MAX_REASON_LENGTH = 300
"""Characters of a reader's error that are shown."""


_MAX_COLUMN_NAMES = 5
"""Duplicate columns that are listed by name."""


_COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


_COMPRESSIBLE_SUFFIXES = (".csv", ".tsv")


class DataFile:
    """A data file with a known suffix.

    Parameters
    ----------
    path : Path
        The file; see `open_data_file`, which checks it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._format = _find_format(path)(path)

    def column_names(self) -> list[str]:
        """Return the names of the columns, which must differ."""
        with self._translate_errors():
            names = self._format.column_names()
        duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
        if duplicates:
            raise UserInputError(
                f"{self.path} has more than one column called {join_names(map(repr, duplicates), _MAX_COLUMN_NAMES)}.",
                "Rename them in the file: every column needs a name of its own.",
            )
        return names

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
            If the file can't be read completely, or changes meanwhile.
        """
        with self._translate_errors():
            chunk = self._format.read(types).normalize()
            if label is not None and isinstance(self._format, CsvFile) and pa.types.is_integer(chunk.table[label].type):
                return self._format.keep_leading_zeros(chunk, label)
            return chunk

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read the same rows in chunks of bounded size."""
        with self._translate_errors():
            yield from (chunk.normalize() for chunk in self._format.read_chunks(types))

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise a UserInputError for every error of a reader, and if the file changes meanwhile."""
        before = _file_identity(self.path)
        try:
            yield
        except UserInputError:
            raise
        except _READ_ERRORS as error:
            self._refuse_changed_file(before)
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UserInputError(
                f"{self.path} can't be read: {reason[:_MAX_REASON_LENGTH].rstrip('.')}.",
                "Is it complete, and does its suffix match its format?",
            ) from error
        self._refuse_changed_file(before)

    def _refuse_changed_file(self, before: tuple[int, ...]) -> None:
        if _file_identity(self.path) != before:
            raise UserInputError(
                f"{self.path} changed while it was being read.", "Try again when no program writes to it."
            )


AnyDataFile = DataFile | DataSetFiles
"""A file that is read whole or in chunks, or files that are read in blocks."""


def open_data_file(path: Path, *, in_blocks: bool = False) -> AnyDataFile:
    """Return the data file at a path, or the files of a folder or pattern.

    Parameters
    ----------
    path : Path
        A file, a folder of parquet or Arrow files, or a pattern such as ``rows/*.parquet``.
    in_blocks : bool, default=False
        Whether to read a single file in blocks, too.

    Raises
    ------
    UserInputError
        If it does not exist, is empty, or has an unknown suffix.
    """
    if in_blocks or is_file_set(path):
        return DataSetFiles(path)
    if not path.exists():
        raise UserInputError(f"There is no file {path}.", _suggest_file(path))
    if not path.is_file():
        raise UserInputError(
            f"{path} is not a regular file; the data is read more than once.", "Write the rows to a file first."
        )
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise UserInputError(f"{path} can't be read: {error.strerror or error}.", "Check its permissions.") from error
    if is_empty:
        raise UserInputError(f"{path} is empty: it has 0 bytes.", "Was it written completely?")
    return DataFile(path)


def _suggest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either."
    names = sorted(
        entry.name for entry in path.parent.iterdir() if entry.is_file() and _format_suffix(entry) in _FORMATS
    )
    closest = closest_match(path.name, names)
    return f"Did you mean {path.parent / closest}?" if closest else "Check the path."


def full_suffix(path: Path) -> str:
    """Return the suffixes for format and compression, as they are in the name.

    Examples
    --------
    >>> full_suffix(Path("a.b.CSV.gz")), full_suffix(Path("a.b.parquet"))
    ('.CSV.gz', '.parquet')
    """
    suffixes = path.suffixes
    if (
        len(suffixes) > 1
        and suffixes[-1].lower() in _COMPRESSION_SUFFIXES
        and suffixes[-2].lower() in _COMPRESSIBLE_SUFFIXES
    ):
        return "".join(suffixes[-2:])
    return path.suffix


def _format_suffix(path: Path) -> str:
    """Return the suffix for the format alone, in lower case."""
    return Path(f"x{full_suffix(path).lower()}").suffixes[0] if path.suffix else ""


def _find_format(path: Path) -> Callable[[Path], FileFormat]:
    suffix = _format_suffix(path)
    if suffix in _FORMATS:
        return _FORMATS[suffix]
    raise UserInputError(
        f"The name {path.name} does not tell the format of the file.",
        f"Known suffixes: {', '.join(_FORMATS)}; "
        f"{' and '.join(_COMPRESSIBLE_SUFFIXES)} also followed by {', '.join(_COMPRESSION_SUFFIXES)}.",
    )


def _file_identity(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
