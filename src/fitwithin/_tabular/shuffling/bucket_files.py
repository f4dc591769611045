"""Bucket files: rows on their way from one order to another, in record batches one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.target import Array


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns as buckets hold them: a categorical column by its codes.

    Examples
    --------
    >>> plain_schema(pa.schema({"a": pa.dictionary(pa.int32(), pa.string())})).field("a").type
    DataType(int32)
    """
    types = [column.type.index_type if pa.types.is_dictionary(column.type) else column.type for column in schema]
    return pa.schema([pa.field(name, type_) for name, type_ in zip(schema.names, types, strict=True)])


def split_rows(table: pa.Table, n_buckets: int, rng: np.random.Generator) -> list[tuple[int, pa.Buffer]]:
    """Give each row a random bucket, and return the rows of each bucket as bytes.

    Parameters
    ----------
    table : pyarrow.Table
        Rows of one block.
    n_buckets : int
        How many buckets there are.
    rng : numpy.random.Generator
        Chooses the buckets.

    Returns
    -------
    list of (int, pyarrow.Buffer)
        Number and content of each bucket that got rows.
    """
    buckets = rng.integers(0, n_buckets, table.num_rows, dtype=np.uint16)
    counts = np.bincount(buckets, minlength=n_buckets)
    ends = counts.cumsum()
    batch = _take_plain(table, _to_indices(np.argsort(buckets, kind="stable")))
    return [
        (number, batch.slice(int(ends[number] - counts[number]), int(counts[number])).serialize())
        for number in np.flatnonzero(counts).tolist()
    ]


def _take_plain(table: pa.Table, order: pa.Array) -> pa.RecordBatch:
    columns = []
    for column in table.columns:
        values = _join_chunks(column)
        columns.append(_take(values.indices if pa.types.is_dictionary(values.type) else values, order))
    return pa.RecordBatch.from_arrays(columns, schema=plain_schema(table.schema))


def _join_chunks(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)  # Arrow would copy it.
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _to_indices(rows: Array) -> pa.Array:
    """Return row numbers in the smallest type, with which rows are taken faster."""
    return pa.array(rows.astype(np.min_scalar_type(len(rows))))


def _take(values: pa.Array, order: pa.Array) -> pa.Array:
    return pc.take(values, order, boundscheck=False)


def append_rows(path: Path, rows: pa.Buffer) -> int:
    """Add rows to a bucket file, and return its size."""
    with path.open("ab", buffering=0) as file:
        view = memoryview(rows)
        while len(view):
            view = view[file.write(view) :]
        return file.tell()


def read_shuffled(
    path: Path, schema: pa.Schema, categories: Sequence[pa.Array | None], rng: np.random.Generator
) -> pa.Table:
    """Return the rows of a bucket in random order.

    Parameters
    ----------
    path : Path
        The bucket; without a file it is empty.
    schema : pyarrow.Schema
        The columns.
    categories : sequence of pyarrow.Array or None
        Those of each categorical column.
    rng : numpy.random.Generator
        Chooses the order.
    """
    table = _read_bucket(path, plain_schema(schema))
    order = _to_indices(rng.permutation(table.num_rows))
    columns = []
    for column, field, labels in zip(table.columns, schema, categories, strict=True):
        values = _take(_join_chunks(column), order)
        if labels is not None:
            values = pa.DictionaryArray.from_arrays(values, labels, ordered=field.type.ordered)
        columns.append(values)
    return pa.table(columns, schema=schema)


def _read_bucket(path: Path, schema: pa.Schema) -> pa.Table:
    batches = []
    if path.exists():
        with pa.OSFile(str(path)) as file:
            size = file.size()
            while file.tell() < size:
                batches.append(pa.ipc.read_record_batch(pa.ipc.read_message(file), schema))
    return pa.Table.from_batches(batches, schema)
