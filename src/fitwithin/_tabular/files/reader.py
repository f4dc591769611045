"""A data file by its name: its ending says what is in it."""

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
from fitwithin._tabular.files.arff import ArffFile
from fitwithin._tabular.files.arrow import FeatherFile, ParquetFile
from fitwithin._tabular.files.csv import CsvFile
from fitwithin._tabular.files.npz import NpzFile
from fitwithin._tabular.files.svmlight import SvmlightFile
from fitwithin._tabular.files.table_chunk import Part

Types = Mapping[str, pa.DataType]
"""Which columns are wanted, and as what."""


class Format(Protocol):
    """How one kind of file is read; whatever goes wrong may come out as it is."""

    def names(self) -> list[str]:
        """Names of the columns, as they are in the file."""

    def read(self, types: Types | None = None) -> Part:
        """All rows, of all columns or of join_names."""

    def parts(self, types: Types | None = None) -> Iterator[Part]:
        """All rows, join_names at a time."""


_ENDINGS: Mapping[str, Callable[[Path], Format]] = {
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
    ".arff": ArffFile,
}


# What the readers raise for files that are cut off or of another kind has no common base.
_TROUBLES = (
    *(OSError, EOFError, ValueError, KeyError, NotImplementedError),
    *(pa.ArrowException, zipfile.BadZipFile, zlib.error),
)


_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


_CAN_BE_COMPRESSED = (".csv", ".tsv")


class DataFile:
    """A file of data that is there, is not empty and has a known ending.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._format = _format_of(path)(path)

    def names(self) -> list[str]:
        """Names of the columns, each of them once."""
        with self._told():
            names = self._format.names()
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise UserInputError(
                f"{self.path} has more than one column called {join_names(map(repr, twice), 5)}.",
                "Rename them in the file: a name must tell which column is meant.",
            )
        return names

    def read(self, types: Types | None = None, label: str | None = None) -> Part:
        """All rows; of the named columns only, if any are named.

        Parameters
        ----------
        types : mapping, optional
            Which columns, and as what.
        label : str, optional
            A column whose values are names if they look like numbers with leading zeros.

        Raises
        ------
        UserInputError
            If the file can't be read to its end, or changes meanwhile.
        """
        with self._told():
            part = self._format.read(types).evened_out()
            if label is not None and isinstance(self._format, CsvFile) and pa.types.is_integer(part.table[label].type):
                return self._format.with_names(part, label)
            return part

    def parts(self, types: Types | None = None) -> Iterator[Part]:
        """The same rows, join_names at a time."""
        with self._told():
            yield from (part.evened_out() for part in self._format.parts(types))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Every trouble of every reader in the same words; and a look whether it was one file from start to end."""
        before = _state(self.path)
        try:
            yield
        except UserInputError:
            raise
        except _TROUBLES as error:
            self._refuse_changed(before)
            why = " ".join(str(error).split()) or type(error).__name__
            raise UserInputError(
                f"{self.path} can't be read: {why[:300].rstrip('.')}.",
                "Is it complete, and of the kind that its ending says?",
            ) from error
        self._refuse_changed(before)

    def _refuse_changed(self, before: tuple[int, ...]) -> None:
        if _state(self.path) != before:
            raise UserInputError(
                f"{self.path} changed while it was being read.", "Try again when nothing writes to it."
            )


def open_data(path: Path) -> DataFile:
    """A data file by its path.

    Raises
    ------
    UserInputError
        If it is not there, is empty, or has an ending that says nothing.
    """
    if path.is_dir():
        raise UserInputError(f"{path} is a folder.", "Name one file in it.")
    if not path.exists():
        raise UserInputError(f"There is no file {path}.", _nearest_file(path))
    if not path.is_file():
        raise UserInputError(
            f"{path} is no ordinary file, and is read more than once.", "Write its rows to a file first."
        )
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise UserInputError(f"{path} can't be read: {error.strerror or error}.", "Check its permissions.") from error
    if is_empty:
        raise UserInputError(f"{path} is empty: it holds not a single byte.", "Was it written to its end?")
    return DataFile(path)


def _nearest_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either."
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file() and _ending(entry) in _ENDINGS)
    near = closest_match(path.name, names)
    return f"Did you mean {path.parent / near}?" if near else "Check the path."


def full_ending(path: Path) -> str:
    """What says the format and the compression, as it is in the name.

    Examples
    --------
    >>> full_ending(Path("a.b.CSV.gz")), full_ending(Path("a.b.parquet"))
    ('.CSV.gz', '.parquet')
    """
    endings = path.suffixes
    if len(endings) > 1 and endings[-1].lower() in _COMPRESSED and endings[-2].lower() in _CAN_BE_COMPRESSED:
        return "".join(endings[-2:])
    return path.suffix


def _ending(path: Path) -> str:
    """What says the format alone."""
    return Path(f"x{full_ending(path).lower()}").suffixes[0] if path.suffix else ""


def _format_of(path: Path) -> Callable[[Path], Format]:
    ending = _ending(path)
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    known = ", ".join(_ENDINGS)
    raise UserInputError(
        f"The name {path.name} does not say what is in the file.",
        f"Endings that are known: {known}; .csv and .tsv also with {', '.join(_COMPRESSED)} behind.",
    )


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
