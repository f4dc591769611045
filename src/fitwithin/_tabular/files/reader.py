"""Data files by their name: the suffix gives the format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.paths import FORMATS
from fitwithin._tabular.files.csv import CsvFile
from fitwithin._tabular.files.data_file import DataFile
from fitwithin._tabular.files.data_set_files import DataSetFiles, is_file_set, needs_blocks
from fitwithin._tabular.files.matrix_files import NpzFile, SvmlightFile

_FORMATS: Mapping[str, type[DataFile]] = {
    **dict.fromkeys(FORMATS, DataSetFiles),
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".npz": NpzFile,
    ".svmlight": SvmlightFile,
    ".libsvm": SvmlightFile,
    ".svm": SvmlightFile,
}


_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of compressed CSV files, after `.csv` or `.tsv`."""


def open_data_file(path: Path, *, in_blocks: bool = False) -> DataFile:
    """Return the data file at a path, or the files of a folder or pattern.

    Parameters
    ----------
    path : Path
        A file, a folder of parquet or Arrow files, or a pattern such as ``rows/*.parquet``.
    in_blocks : bool, default=False
        Whether training must read a file in blocks even if it fits into memory.

    Raises
    ------
    UserInputError
        If it does not exist, is empty, or has an unknown suffix.
    """
    if in_blocks or is_file_set(path) or needs_blocks(path):
        return DataSetFiles(path, in_blocks=True)
    if not path.is_file():
        raise UserInputError(
            f"There is no regular file {path}; the data is read more than once.", "Write the rows to a file first."
        )
    if not path.stat().st_size:
        raise UserInputError(f"{path} is empty: it has 0 bytes.", "Was it written completely?")
    # The stem of ".csv.gz" and of ".csv" is ".csv".
    suffix = Path(full_suffix(path).lower()).stem
    if suffix not in _FORMATS:
        raise UserInputError(
            f"The name {path.name} does not tell the format of the file.",
            f"Known suffixes: {', '.join(_FORMATS)}; .csv and .tsv also followed by {', '.join(_COMPRESSIONS)}.",
        )
    return _FORMATS[suffix](path)


def full_suffix(path: Path) -> str:
    """Return the suffixes for format and compression, as they are in the name.

    Examples
    --------
    >>> full_suffix(Path("a.b.CSV.gz")), full_suffix(Path("a.b.parquet"))
    ('.CSV.gz', '.parquet')
    """
    inner = Path(path.stem).suffix
    is_compressed = path.suffix.lower() in _COMPRESSIONS and inner.lower() in (".csv", ".tsv")
    return inner + path.suffix if is_compressed else path.suffix
