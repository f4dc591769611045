"""The blocks of a pyarrow data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from fitwithin._core.exceptions import NoModelInTime, no_such_column
from fitwithin._pools.sources.column_types import ColumnSurvey, ColumnTypes, needs_null_count, pandas_index_columns
from fitwithin._pools.sources.file_blocks import FileBlock, find_path, split_file

OPENING_THREADS = 8
"""Files that are opened at the same time; most of it is waiting, for a disk or a server."""

_SURVEY_THREADS = 2
"""Blocks that are surveyed at the same time; each takes the memory of a few columns."""

IsOver = Callable[[], bool]
"""Whether the time is over."""


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
    is_over : callable, optional
        Whether the time is over; asked while the files are opened.
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
    NoModelInTime
        If the time is over before all files are open.
    """

    def __init__(
        self,
        dataset: ds.Dataset,
        *,
        roles: Sequence[str] = (),
        names: Sequence[str] | None = None,
        survey: ColumnSurvey | None = None,
        is_shuffled: bool = False,
        is_over: IsOver | None = None,
        label: str = "The data set",
        as_stored: bool = False,
        split_large: bool = False,
    ) -> None:
        self.is_shuffled = is_shuffled
        is_over = is_over or (lambda: False)
        unfiltered, filter_ = remove_filter(dataset)
        if names is None:
            index = set() if as_stored else pandas_index_columns(dataset.schema) - set(roles)
            names = [name for name in dataset.schema.names if name not in index]
        for name in (*names, *roles):
            if name not in dataset.schema.names:
                raise no_such_column(name, dataset.schema.names, label)
        self._dataset = unfiltered
        self._filter = "" if filter_ is None else str(filter_)
        self._blocks = _list_blocks(unfiltered, dataset.schema, filter_, is_over)
        if split_large and not is_shuffled:
            self._blocks = [part for block in self._blocks for part in block.split()]
        self.rests = frozenset(number for number, block in enumerate(self._blocks) if block.n_before)
        schema = pa.schema([dataset.schema.field(name) for name in names], metadata=dataset.schema.metadata)
        if survey is None:
            survey = _survey_columns(schema, self._blocks, is_over, only_categories=as_stored)
        self.metadata: Mapping[bytes, bytes] | None = schema.metadata
        self._types = ColumnTypes(schema, survey)
        self.schema = self._types.schema
        self.n_blocks = len(self._blocks)
        self.to_frame: Callable[[pa.Table], Any] = self._types.to_pandas

    @property
    def categories(self) -> list[pa.Array | None]:
        """Those of each categorical column; None for any other."""
        return [self._types.categories.get(name) for name in self.schema.names]

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
        return {"columns": columns, "filter": self._filter, "files": "; ".join(files)}


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


def _list_blocks(dataset: ds.Dataset, schema: pa.Schema, filter_: Any, is_over: IsOver) -> list[FileBlock]:
    fragments = list(dataset.get_fragments(filter=filter_))
    with ThreadPoolExecutor(OPENING_THREADS, thread_name_prefix="fitwithin-open") as threads:
        files = threads.map(lambda fragment: _unless_over(is_over, split_file, fragment, schema, filter_), fragments)
        return [block for blocks in files for block in blocks]


def _survey_columns(
    schema: pa.Schema, blocks: Sequence[FileBlock], is_over: IsOver, *, only_categories: bool
) -> ColumnSurvey:
    """Look for missing values and categories, with statistics where there are any."""
    survey = ColumnSurvey()
    categorical = [column.name for column in schema if pa.types.is_dictionary(column.type)]
    nullable = [
        column.name for column in schema if needs_null_count(column.type) and column.nullable and not only_categories
    ]

    def read_unknown(block: FileBlock) -> pa.Table | None:
        n_nulls = {name: block.count_nulls(name) for name in nullable if name not in survey.with_nulls}
        survey.with_nulls.update(name for name, count in n_nulls.items() if count)
        unknown = [*categorical, *(name for name, count in n_nulls.items() if count is None)]
        return block.read(unknown) if unknown else None

    with ThreadPoolExecutor(_SURVEY_THREADS, thread_name_prefix="fitwithin-survey") as threads:
        for table in threads.map(lambda block: _unless_over(is_over, read_unknown, block), blocks):
            if table is not None:
                survey.add(table)
    return ColumnSurvey(set(), survey.dictionaries) if only_categories else survey


def _unless_over(is_over: IsOver, function: Callable[..., Any], *arguments: Any) -> Any:
    if is_over():
        raise NoModelInTime(
            "No model within the time limit: it was over before all files of the data set were open. Allow more time."
        )
    return function(*arguments)
