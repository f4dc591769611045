"""Parquet and feather files."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from fitwithin._tabular.files.data_file import DataFile
from fitwithin._tabular.files.table_chunk import CHUNK_ROWS, ColumnTypes, TableChunk


class ParquetFile(DataFile):
    """A parquet file.

    Parameters
    ----------
    path : Path
        The file.
    """

    def _read_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(pq.read_schema(self.path).names)

    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows."""
        with pq.ParquetFile(self.path) as file:
            return TableChunk(file.read(columns=None if types is None else list(types)))

    def _read_chunks(self, types: ColumnTypes | None) -> Iterator[TableChunk]:
        """Read all rows in chunks."""
        # Buffers that are read ahead would be kept until the end of the file.
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(CHUNK_ROWS, columns=None if types is None else list(types)):
                yield TableChunk(pa.Table.from_batches([batch]))


class FeatherFile(DataFile):
    """A feather file of version 2, which is arrow's own format.

    Parameters
    ----------
    path : Path
        The file.
    """

    def _read_names(self) -> list[str]:
        """Return the names of the columns."""
        with self._open_reader() as reader:
            return list(reader.schema.names)

    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows."""
        with self._open_reader() as reader:
            table = reader.read_all()
        return TableChunk(table if types is None else table.select(list(types)))

    def _read_chunks(self, types: ColumnTypes | None) -> Iterator[TableChunk]:
        """Read all rows in chunks."""
        with self._open_reader() as reader:
            for number in range(reader.num_record_batches):
                table = pa.Table.from_batches([reader.get_batch(number)])
                yield from TableChunk(table if types is None else table.select(list(types))).split()

    def _open_reader(self) -> pa.ipc.RecordBatchFileReader:
        return pa.ipc.open_file(pa.OSFile(str(self.path)))
