"""Block files: the rows of one block of the source, in one record batch for each part that they go to."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.target import Array
from fitwithin._pools.sources.read_errors import translate_read_errors

_NOTE = "fitwithin"
"""Key of the metadata of a block file."""


def write_block(path: Path, table: pa.Table, n_parts: int, rng: np.random.Generator) -> None:
    """Send each row of a block to a random part.

    Parameters
    ----------
    path : Path
        The block file.
    table : pyarrow.Table
        Rows of one block.
    n_parts : int
        How many parts there are.
    rng : numpy.random.Generator
        Chooses the parts.
    """
    parts = rng.integers(0, n_parts, table.num_rows, dtype=np.uint16)
    ends = np.bincount(parts, minlength=n_parts).cumsum().tolist()
    rows = _take(table, np.argsort(parts, kind="stable"))
    note = {"n_rows": rows.num_rows, "with_nulls": [name for name in rows.schema.names if rows[name].null_count]}
    temporary = path.with_name(f".{path.name}.part")
    schema = rows.schema.with_metadata({_NOTE: json.dumps(note)})
    with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for start, end in pairwise([0, *ends]):
            writer.write_batch(rows.slice(start, end - start))
    os.replace(temporary, path)


def open_block(path: Path) -> pa.ipc.RecordBatchFileReader:
    """Map a block file into memory; it takes no file descriptor."""
    with translate_read_errors(str(path)), pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(pa.BufferReader(file.read_buffer()))


def read_note(block: pa.ipc.RecordBatchFileReader) -> tuple[int, list[str]]:
    """Return the number of rows of a block file, and its columns with missing values."""
    note = json.loads(block.schema.metadata[_NOTE.encode()])
    return note["n_rows"], note["with_nulls"]


def shuffle_rows(
    batches: Sequence[pa.RecordBatch],
    schema: pa.Schema,
    categories: Sequence[pa.Array | None],
    rng: np.random.Generator,
) -> pa.Table:
    """Return the rows of a part in random order.

    Parameters
    ----------
    batches : sequence of pyarrow.RecordBatch
        The rows of the part in each block file.
    schema : pyarrow.Schema
        The columns.
    categories : sequence of pyarrow.Array or None
        Those of each categorical column.
    rng : numpy.random.Generator
        Chooses the order.
    """
    table = pa.Table.from_batches(batches)
    rows = _take(table, rng.permutation(table.num_rows))
    columns = [
        values if labels is None else pa.DictionaryArray.from_arrays(values, labels, ordered=field.type.ordered)
        for values, field, labels in zip(rows.columns, schema, categories, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _take(table: pa.Table, rows: Array) -> pa.RecordBatch:
    """Return rows in this order, categorical columns by their codes: all blocks have the same categories."""
    # Row numbers in the smallest type are followed faster.
    order = pa.array(rows.astype(np.min_scalar_type(len(rows))))
    columns = []
    for column in table.columns:
        # Arrow would copy a single chunk.
        values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        codes = values.indices if pa.types.is_dictionary(values.type) else values
        columns.append(pc.take(codes, order, boundscheck=False))
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)
