"""The blocks of a pyarrow data set: row groups of parquet, record batches of Arrow, or whole files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from fitwithin._core.exceptions import require_columns
from fitwithin._pools.sources.blocks import Check
from fitwithin._pools.sources.column_types import (
    ColumnSurvey,
    ColumnTypes,
    needs_null_count,
    pandas_index_columns,
    widen_codes,
)
from fitwithin._pools.sources.read_errors import translate_read_errors

OPENING_THREADS = 8
"""Files that are opened at the same time; most of it is waiting, for a disk or a server."""

_SURVEY_THREADS = 2
"""Blocks that are surveyed at the same time; each takes the memory of a few columns."""

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


class DatasetBlocks:
    """Rows of a pyarrow data set: row groups of parquet files, record batches of Arrow files, other files whole.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The data set, with its own file system, schema and filter.
    roles : sequence of str
        Columns that must be there. They are kept although pandas wrote them as its index, which is left out otherwise.
    names : sequence of str, optional
        The columns to read, in this order; by default all.
    survey : ColumnSurvey, optional
        What all blocks together hold, if it is known already.
    is_shuffled : bool, default=False
        Whether the rows lie in random order.
    check : callable, optional
        Called while the files are opened; raises if the time is over.
    label : str, default="The data set"
        How errors call it.
    as_stored : bool, default=False
        Whether to keep every column, also the index of pandas, and the types in the files.
    split_large : bool, default=False
        Whether the first rows of a large row group are a block of their own, unless the rows lie in random order.

    Raises
    ------
    UserInputError
        If a file can't be read.
    """

    def __init__(
        self,
        dataset: ds.Dataset,
        *,
        roles: Sequence[str] = (),
        names: Sequence[str] | None = None,
        survey: ColumnSurvey | None = None,
        is_shuffled: bool = False,
        check: Check = lambda: None,
        label: str = "The data set",
        as_stored: bool = False,
        split_large: bool = False,
    ) -> None:
        self.is_shuffled = is_shuffled
        unfiltered, filter_ = remove_filter(dataset)
        if names is None:
            index = set() if as_stored else pandas_index_columns(dataset.schema) - set(roles)
            names = [name for name in dataset.schema.names if name not in index]
        require_columns((*names, *roles), dataset.schema.names, label)
        self._dataset = unfiltered
        self._filter = "" if filter_ is None else str(filter_)
        self._blocks = _list_blocks(unfiltered, dataset.schema, filter_, check)
        if split_large and not is_shuffled:
            self._blocks = [part for block in self._blocks for part in block.split()]
        self.rests = frozenset(number for number, block in enumerate(self._blocks) if block.n_before)
        schema = pa.schema([dataset.schema.field(name) for name in names], metadata=dataset.schema.metadata)
        if survey is None:
            survey = _survey_columns(schema, self._blocks, check, only_categories=as_stored)
        self.metadata: Mapping[bytes, bytes] | None = schema.metadata
        self._types = ColumnTypes(schema, survey)
        self.schema, self.categories = self._types.schema, self._types.categories
        self.n_blocks = len(self._blocks)
        self.to_frame: Callable[[pa.Table], Any] = self._types.to_pandas

    def read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read these columns of one block, in this order."""
        return self._types.conform(self._blocks[number].read(names), names)

    def name_block(self, number: int) -> str:
        """Return the path of the file that a block is in."""
        return find_path(self._blocks[number].fragment)

    def describe(self) -> Mapping[str, str]:
        """Return the files with their sizes and times, the columns and the filter."""
        columns = ", ".join(f"{column.name}: {column.type}" for column in self.schema)
        files = [f"{self.n_blocks} blocks"]
        if isinstance(self._dataset, ds.FileSystemDataset):
            found = self._dataset.filesystem.get_file_info(self._dataset.files)
            files = [f"{file.path} {file.size} {file.mtime_ns}" for file in found]
        described = {"columns": columns, "filter": self._filter, "files": "; ".join(files)}
        # Checkpoints of 0.3.0 number the rows of split row groups in another way.
        return described | ({"split row groups": str(len(self.rests))} if self.rests else {})


def remove_filter(dataset: ds.Dataset) -> tuple[ds.Dataset, Any]:
    """Return a data set without its filter, and the filter.

    Pyarrow gives the files of a data set only if it has no filter.
    """
    options: Mapping[str, Any] = getattr(dataset, "_scan_options", None) or {}
    if not options:
        return dataset, None
    plain = dataset.replace_schema(dataset.schema)
    plain._scan_options = {}
    return plain, options.get("filter")


def _list_blocks(dataset: ds.Dataset, schema: pa.Schema, filter_: Any, check: Check) -> list[FileBlock]:
    def split(fragment: Any) -> Sequence[FileBlock]:
        check()
        return split_file(fragment, schema, filter_)

    with ThreadPoolExecutor(OPENING_THREADS, thread_name_prefix="fitwithin-open") as threads:
        return [block for blocks in threads.map(split, dataset.get_fragments(filter=filter_)) for block in blocks]


def _survey_columns(
    schema: pa.Schema, blocks: Sequence[FileBlock], check: Check, *, only_categories: bool
) -> ColumnSurvey:
    """Look for missing values and categories, with statistics where there are any."""
    survey = ColumnSurvey()
    categorical = [column.name for column in schema if pa.types.is_dictionary(column.type)]
    nullable = [
        column.name for column in schema if needs_null_count(column.type) and column.nullable and not only_categories
    ]

    def read_unknown(block: FileBlock) -> pa.Table | None:
        check()
        n_nulls = {name: block.count_nulls(name) for name in nullable if name not in survey.with_nulls}
        survey.with_nulls.update(name for name, count in n_nulls.items() if count)
        unknown = [*categorical, *(name for name, count in n_nulls.items() if count is None)]
        return block.read(unknown) if unknown else None

    with ThreadPoolExecutor(_SURVEY_THREADS, thread_name_prefix="fitwithin-survey") as threads:
        for table in threads.map(read_unknown, blocks):
            if table is not None:
                survey.add(table)
    return ColumnSurvey(set(), survey.dictionaries) if only_categories else survey


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
        # The codes of categories become those of all blocks later.
        stored = {column.name: widen_codes(column.type) for column in self.fragment.physical_schema}
        return all(stored.get(column.name) == widen_codes(column.type) for column in self.schema)

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
