"""The blocks of a polars lazy frame."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

from fitwithin._pools.sources.blocks import Check
from fitwithin._pools.sources.read_errors import translate_query_errors, translate_spool_errors

_BLOCK_VALUES = 1 << 22
"""Values of a block, about: 32 MiB of numbers."""

_SLICED_NODES = ("Parquet SCAN", "IPC SCAN", "PROJECT", "SLICE:", "ESTIMATED ROWS", "SELECT [", "WITH_COLUMNS", "[")
"""How the lines begin in the plan of a slice that is read from the middle of a file, and nowhere else."""


class LazyFrameBlocks:
    """Rows of a polars lazy frame; the learner gets polars frames.

    A scan of parquet or Arrow files, with columns selected or computed row by row, is read in slices. Polars would
    begin any other query, such as one with a filter or a join, anew for each slice: its result is first written to a
    temporary file, in the streaming engine.

    Parameters
    ----------
    frame : polars.LazyFrame
        The query.
    names : sequence of str, optional
        The columns to read, in this order; by default all.
    folder : str or path-like, optional
        Where the temporary file goes; by default the folder for temporary files. Its name is gone once it is open.
    check : callable, optional
        Called while the temporary file is written; raises if the time is over.
    """

    is_shuffled = False
    rests: frozenset[int] = frozenset()  # Blocks are small.

    def __init__(
        self,
        frame: pl.LazyFrame,
        *,
        names: Sequence[str] | None = None,
        folder: Any = None,
        check: Check = lambda: None,
    ) -> None:
        with translate_query_errors():
            self._query = frame.explain(optimized=False)
            selected = frame if names is None else frame.select(names)
            self._polars_schema = selected.collect_schema()
            self.schema: pa.Schema = _arrow_schema(self._polars_schema)
            self.to_frame: Callable[[pa.Table], Any] = partial(to_polars, schema=dict(self._polars_schema))
            self._frame = selected
            self._block_rows = max(1, _BLOCK_VALUES // max(1, len(self.schema)))
            self._stored = None if can_be_sliced(selected, self._block_rows) else self._store(folder, check)
            self._n_rows = (
                int(selected.select(pl.len()).collect().item()) if self._stored is None else self._stored.num_rows
            )
            self.n_blocks = -(-self._n_rows // self._block_rows)

    def _store(self, folder: Any, check: Check) -> pa.Table:
        """Return the result of the query in a mapped file without a name."""
        folder = tempfile.gettempdir() if folder is None else folder
        with (
            translate_spool_errors(folder),
            tempfile.TemporaryDirectory(prefix=f"fitwithin-{os.getpid()}-", dir=folder) as name,
        ):
            path = os.path.join(name, "query.arrow")
            with pa.ipc.new_file(path, self.schema) as writer:
                for batch in _collect_batches(self._frame, self._block_rows):
                    check()
                    writer.write_table(_to_arrow(batch, self.schema), max_chunksize=self._block_rows)
            with pa.memory_map(path) as file:
                return pa.ipc.open_file(file).read_all()

    def read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read these columns of one block, in this order."""
        first = number * self._block_rows
        if self._stored is not None:
            return self._stored.select(list(names)).slice(first, self._block_rows)
        with translate_query_errors():
            return _to_arrow(self._frame.select(names).slice(first, self._block_rows).collect(), self.schema)

    def name_block(self, number: int) -> str:
        """Return the same name for all blocks."""
        return "The lazy frame"

    def describe(self) -> Mapping[str, str]:
        """Return the query and its number of rows."""
        columns = ", ".join(f"{name}: {dtype}" for name, dtype in self._polars_schema.items())
        return {"columns": columns, "query": self._query, "rows": str(self._n_rows)}


def to_polars(table: pa.Table, schema: Mapping[str, Any]) -> pl.DataFrame:
    """Return any columns and rows as a polars frame with these types."""
    return pl.DataFrame(pl.from_arrow(table)).cast({name: schema[name] for name in table.column_names})


def _collect_batches(frame: pl.LazyFrame, block_rows: int) -> Iterator[pl.DataFrame]:
    with translate_query_errors():
        if hasattr(frame, "collect_batches"):
            yield from frame.collect_batches(chunk_size=block_rows, maintain_order=True)
        else:  # Before polars 1.33.
            yield frame.collect()


def _arrow_schema(schema: Mapping[str, Any]) -> pa.Schema:
    """Return the columns in Arrow; categories as text, so that they need not be the same in all blocks."""
    empty = pl.DataFrame(schema=schema).to_arrow()
    return pa.schema([pa.field(column.name, _plain_type(column.type)) for column in empty.schema])


def _plain_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    # By their names: older versions of Arrow do not have these types.
    return {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(type_), type_)


def _to_arrow(frame: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    return frame.to_arrow().cast(pa.schema([schema.field(name) for name in frame.columns]))


def can_be_sliced(frame: pl.LazyFrame, n_rows: int) -> bool:
    """Return whether polars reads a slice from the middle of a query without all rows before it.

    Examples
    --------
    >>> can_be_sliced(pl.LazyFrame({"a": [1, 2]}).filter(pl.col("a") > 1), 1)
    False
    """
    lines = [line.strip() for line in frame.slice(n_rows, n_rows).explain().splitlines() if line.strip()]
    is_pushed_down = any(line.startswith("SLICE:") for line in lines)
    return is_pushed_down and all(line.startswith(_SLICED_NODES) for line in lines)
