"""Parquet and Arrow files: one, a folder or a pattern of them."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fitwithin._core.memory_limit import parse_memory_limit
from fitwithin._pools.sources.dataset_blocks import DatasetBlocks
from fitwithin._pools.sources.paths import FORMATS, find_files, make_dataset, open_paths
from fitwithin._tabular.files.data_file import ColumnTypes, DataFile, TableChunk

_MEMORY_SHARE = "25%"
"""Share of the machine's memory above which a file is read in blocks: encoding takes up to four times its size."""

_ARROW_GROWTH = 2
"""Bytes in memory for each byte of an Arrow file, which may be compressed."""


class DataSetFiles(DataFile):
    """Parquet or Arrow files.

    Parameters
    ----------
    path : Path
        A file, a folder, or a pattern such as ``rows/*.parquet``.
    in_blocks : bool, default=False
        Whether training must not read all rows at once.
    """

    def __init__(self, path: Path, *, in_blocks: bool = False) -> None:
        super().__init__(path)
        self.in_blocks = in_blocks

    def _read_names(self) -> list[str]:
        """Return the names of the columns, which all files must have."""
        folder = self.path if self.path.is_dir() else None
        return list(make_dataset(find_files(str(self.path)), folder).schema.names)

    def open(self, names: Sequence[str] | None = None, *, split_large: bool = False) -> DatasetBlocks:
        """Return the rows in blocks, with the types in the files."""
        return open_paths(str(self.path), names=names, as_stored=True, split_large=split_large)

    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows."""
        return TableChunk(pa.concat_tables([chunk.table for chunk in self._read_chunks(types)]))

    def _read_chunks(self, types: ColumnTypes | None) -> Iterator[TableChunk]:
        """Read all rows in chunks, after one without rows, which has the columns."""
        blocks = self.open(None if types is None else list(types))
        yield TableChunk(blocks.schema.empty_table())
        for number in range(blocks.n_blocks):
            yield from TableChunk(blocks.read(number, blocks.schema.names)).split()


def is_file_set(path: Path) -> bool:
    """Return whether a path is a folder or a pattern.

    Examples
    --------
    >>> is_file_set(Path("rows/*.parquet")), is_file_set(Path("rows.parquet"))
    (True, False)
    """
    return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())


def needs_blocks(path: Path) -> bool:
    """Return whether a parquet or Arrow file is too large to be read whole."""
    format_ = FORMATS.get(path.suffix.lower())
    if format_ is None or not path.is_file():
        return False
    limit = parse_memory_limit(_MEMORY_SHARE)
    if format_ == "ipc":
        return path.stat().st_size * _ARROW_GROWTH > limit
    try:
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return False  # Reading it says what is wrong.
    sizes = (metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    return bool(sum(sizes) > limit)
