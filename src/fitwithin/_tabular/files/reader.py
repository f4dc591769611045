"""Data files by their name: the suffix gives the format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fitwithin._core.exceptions import UserInputError, closest_match
from fitwithin._tabular.files.arrow import FeatherFile, ParquetFile
from fitwithin._tabular.files.csv import CsvFile
from fitwithin._tabular.files.data_file import DataFile
from fitwithin._tabular.files.data_set_files import DataSetFiles, is_file_set
from fitwithin._tabular.files.npz import NpzFile
from fitwithin._tabular.files.svmlight import SvmlightFile

_FORMATS: Mapping[str, type[DataFile]] = {
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


_COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


_COMPRESSIBLE_SUFFIXES = (".csv", ".tsv")


def open_data_file(path: Path, *, in_blocks: bool = False) -> DataFile:
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
    return _find_format(path)(path)


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


def _find_format(path: Path) -> type[DataFile]:
    suffix = _format_suffix(path)
    if suffix in _FORMATS:
        return _FORMATS[suffix]
    raise UserInputError(
        f"The name {path.name} does not tell the format of the file.",
        f"Known suffixes: {', '.join(_FORMATS)}; "
        f"{' and '.join(_COMPRESSIBLE_SUFFIXES)} also followed by {', '.join(_COMPRESSION_SUFFIXES)}.",
    )
