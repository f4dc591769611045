"""The blocks of one file: row groups of parquet, record batches of Arrow, or all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from fitwithin._pools.sources.read_errors import translate_read_errors

_MIN_BATCH_BYTES = 1 << 22
"""Bytes of a file up to which record batches are read together: small ones take longer to find than to read."""

_PAGE_BYTES = 1 << 20
"""Bytes of a column that are read at a time, where only the first rows are wanted."""

HEAD_ROWS = 1 << 16
"""Rows of a large row group that are a block of their own: few enough to be quick, enough for the first fits."""

_LARGE_BLOCK_ROWS = 4 * HEAD_ROWS
"""Rows from which on a row group counts as large: its head is decoded twice, in a quarter of its time at most."""

_WHOLE_BLOCK = 1 << 30
"""Rows of a record batch of a block: more than it has, as one that is cut into batches is copied to be joined."""


@dataclass(frozen=True, eq=False)
class FileBlock:
    """One row group of a parquet file, the first rows or the rest of one, or a whole file of another format.

    Parameters
    ----------
    fragment : pyarrow.dataset.Fragment
        The rows.
    schema : pyarrow.Schema
        Columns of the data set, with their types.
    filter : pyarrow.dataset.Expression or None
        Which rows the data set has.
    n_before : int, default=0
        Rows of the row group before these.
    n_first : int, optional
        How many rows these are, if there are others after them.
    """

    fragment: Any
    schema: pa.Schema
    filter: Any
    n_before: int = 0
    n_first: int | None = None

    def split(self) -> list[FileBlock]:
        """Return the first rows and the rest if they are many and the first ones are read quickly; else itself."""
        if not self._is_plain_row_group or self.fragment.row_groups[0].num_rows < _LARGE_BLOCK_ROWS:
            return [self]
        return [replace(self, n_first=HEAD_ROWS), replace(self, n_before=HEAD_ROWS)]

    @property
    def _is_plain_row_group(self) -> bool:
        """Whether it is a row group whose columns have the types of the data set, without a filter."""
        if not isinstance(self.fragment, ds.ParquetFileFragment) or self.filter is not None:
            return False
        stored = self.fragment.physical_schema
        return all(
            column.name in stored.names and stored.field(column.name).type == column.type for column in self.schema
        )

    def read(self, names: Sequence[str]) -> pa.Table:
        """Read these columns, after the filter of the data set."""
        with translate_read_errors(find_path(self.fragment)):
            if self._is_plain_row_group:
                return self._read_row_group(list(names))
            return self.fragment.to_table(
                schema=self.schema, columns=list(names), filter=self.filter, batch_size=_WHOLE_BLOCK
            )

    def _read_row_group(self, names: list[str]) -> pa.Table:
        """Read a row group in half the time that a data set of pyarrow takes for a small one; first rows by pages."""
        group, buffer_size = self.fragment.row_groups[0].id, 0 if self.n_first is None else _PAGE_BYTES
        with self.fragment.open() as stream:
            file = pq.ParquetFile(stream, metadata=self.fragment.metadata, buffer_size=buffer_size)
            if self.n_first is None:
                return file.read_row_group(group, names).select(names).slice(self.n_before)
            batches, n_read = [], 0
            for batch in file.iter_batches(self.n_first, [group], names, use_threads=False):
                batches.append(batch)
                n_read += batch.num_rows
                if n_read >= self.n_first:
                    break
        return pa.Table.from_batches(batches).slice(0, self.n_first).select(names)

    def count_nulls(self, name: str) -> int | None:
        """Return the missing values of a column as the statistics of parquet have them."""
        if not isinstance(self.fragment, ds.ParquetFileFragment):
            return None
        metadata = self.fragment.metadata
        names = metadata.schema.names
        position = names.index(name) if name in names else None
        if position is None or metadata.schema.column(position).path != name:
            return None
        statistics = metadata.row_group(self.fragment.row_groups[0].id).column(position).statistics
        return statistics.null_count if statistics is not None and statistics.has_null_count else None


@dataclass(frozen=True, eq=False)
class RecordBatchBlock(FileBlock):
    """Some record batches of an Arrow file.

    Parameters
    ----------
    fragment, schema, filter
        See `FileBlock`.
    start, stop : int
        The first record batch, and the one after the last.
    """

    start: int = 0
    stop: int = 0

    def read(self, names: Sequence[str]) -> pa.Table:
        """Read these columns, after the filter of the data set."""
        # A filter may need any column.
        wanted = list(names) if self.filter is None else self.schema.names
        # Not mapped: a file that is cut while it is mapped ends the program.
        with translate_read_errors(find_path(self.fragment)), self.fragment.open() as file:
            positions = [number for number, name in enumerate(pa.ipc.open_file(file).schema.names) if name in wanted]
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=positions))
            batches = [reader.get_batch(number) for number in range(self.start, self.stop)]
            if not positions:
                # Without any column Arrow reads all of them.
                batches = [batch.select([]) for batch in batches]
            table = self._add_missing(pa.Table.from_batches(batches), wanted)
            if self.filter is not None:
                table = table.filter(self.filter).select(list(names))
            return table

    def _add_missing(self, table: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return these columns with the types of the data set; those not in the file have one value or none."""
        keys = ds.get_partition_keys(self.fragment.partition_expression)
        columns = []
        for name in names:
            wanted = self.schema.field(name).type
            if name in table.column_names:
                column = table[name]
                columns.append(column if column.type == wanted else column.cast(wanted))
            else:
                value = pa.scalar(keys.get(name), getattr(wanted, "value_type", wanted))
                repeated = pa.repeat(value, table.num_rows)
                columns.append(repeated.dictionary_encode() if pa.types.is_dictionary(wanted) else repeated)
        return pa.table(columns, names=list(names))


def split_file(fragment: Any, schema: pa.Schema, filter_: Any) -> Sequence[FileBlock]:
    """Return the blocks of one file of a data set, a *fragment* of pyarrow, without those that its filter rules out."""
    with translate_read_errors(find_path(fragment)):
        if isinstance(fragment, ds.ParquetFileFragment):
            groups = fragment.split_by_row_group(filter=filter_, schema=schema)
            return [FileBlock(group, schema, filter_) for group in groups]
        if isinstance(getattr(fragment, "format", None), ds.IpcFileFormat):
            with fragment.open() as file:
                size, n_batches = file.size(), pa.ipc.open_file(file).num_record_batches
            step = max(1, _MIN_BATCH_BYTES * n_batches // max(size, 1))
            return [
                RecordBatchBlock(fragment, schema, filter_, start=start, stop=min(start + step, n_batches))
                for start in range(0, n_batches, step)
            ]
    return [FileBlock(fragment, schema, filter_)]


def find_path(fragment: Any) -> str:
    """Return the path of a file, or another name for errors."""
    return getattr(fragment, "path", "") or "A block of the data set"
