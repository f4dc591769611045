"""Parquet and feather files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.table_chunk import ROWS_AT_ONCE, Part


class ParquetFile:
    """A parquet file.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Names of the columns."""
        return list(pq.read_schema(self.path).names)

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows."""
        with pq.ParquetFile(self.path) as file:
            return Part(file.read(columns=_wanted(types)))

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time."""
        # What is read ahead would be kept until the end.
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=_wanted(types)):
                yield Part(pa.Table.from_batches([batch]))


class FeatherFile:
    """A feather file of version 2, which is arrow's own format.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Names of the columns."""
        with self._reader() as reader:
            return list(reader.schema.names)

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows."""
        with self._reader() as reader:
            table = reader.read_all()
        return Part(table if types is None else table.select(list(types)))

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time."""
        with self._reader() as reader:
            for number in range(reader.num_record_batches):
                table = pa.Table.from_batches([reader.get_batch(number)])
                yield from Part(table if types is None else table.select(list(types))).split()

    def _reader(self) -> pa.ipc.RecordBatchFileReader:
        with self.path.open("rb") as file:
            is_old = file.read(4) == b"FEA1"
        if is_old:
            raise UserInputError(f"{self.path} is a feather file of version 1.", "Write it again with a newer library.")
        return pa.ipc.open_file(pa.OSFile(str(self.path)))


def _wanted(types: Mapping[str, pa.DataType] | None) -> list[str] | None:
    return None if types is None else list(types)
