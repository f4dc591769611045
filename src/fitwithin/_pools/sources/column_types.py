"""The types that a column has in every block, whatever values are in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_EXTENSION_TYPES = ("Int", "UInt", "Float", "boolean", "string", "Sparse", "period", "interval")
"""How pandas' names of types begin that hold missing values without a change of type, or that are pandas' own."""


def needs_null_count(type_: pa.DataType) -> bool:
    """Return whether pandas has another type for a column of this type once a value is missing.

    Examples
    --------
    >>> needs_null_count(pa.int8()), needs_null_count(pa.float32())
    (True, False)
    """
    return bool(pa.types.is_integer(type_) or pa.types.is_boolean(type_))


@dataclass
class ColumnSurvey:
    """What has to be known about all rows of a column before its type is known.

    Parameters
    ----------
    with_nulls : set of str
        Columns with a missing value in any block.
    dictionaries : dict of list of pyarrow.Array
        The distinct dictionaries of each categorical column, in the order of the blocks.
    """

    with_nulls: set[str] = field(default_factory=set)
    dictionaries: dict[str, list[pa.Array]] = field(default_factory=dict)

    def add(self, table: pa.Table) -> None:
        """Note the missing values and the categories of a block."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count:
                self.with_nulls.add(name)
            if pa.types.is_dictionary(column.type):
                known = self.dictionaries.setdefault(name, [])
                for chunk in column.chunks:
                    if not any(chunk.dictionary.equals(other) for other in known):
                        known.append(chunk.dictionary)


class ColumnTypes:
    """Converts blocks to the types that all of them share.

    Integers of a column with missing values become float64, as in ``Table.to_pandas()``, in every block; booleans
    become Python objects, and a categorical column has the same categories everywhere. Columns that pandas wrote with
    a type of its own, such as ``Int64``, keep it.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns as they are stored.
    survey : ColumnSurvey
        What all blocks together hold.
    """

    def __init__(self, schema: pa.Schema, survey: ColumnSurvey) -> None:
        columns = _read_pandas_notes(schema).get("columns", [])
        self._pandas = {str(column.get("field_name", column["name"])): column for column in columns}
        self.categories = {
            column.name: merge_categories(
                survey.dictionaries.get(column.name, []), column.type.value_type, ordered=column.type.ordered
            )
            for column in schema
            if pa.types.is_dictionary(column.type)
        }
        self._with_nulls = {name for name in survey.with_nulls if not self._has_pandas_type(name)}
        self.schema: pa.Schema = pa.schema([self._shared_field(column) for column in schema])

    def _has_pandas_type(self, name: str) -> bool:
        return str(self._pandas.get(name, {}).get("numpy_type", "")).startswith(_EXTENSION_TYPES)

    def _shared_field(self, column: pa.Field) -> pa.Field:
        becomes_float = pa.types.is_integer(column.type) and column.name in self._with_nulls
        return pa.field(column.name, pa.float64() if becomes_float else widen_codes(column.type))

    def conform(self, table: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return these columns of a block, in this order, with the shared types."""
        columns = [self._conform_column(table[name], self.schema.field(name)) for name in names]
        return pa.table(columns, schema=pa.schema([self.schema.field(name) for name in names]))

    def _conform_column(self, column: pa.ChunkedArray, wanted: pa.Field) -> pa.ChunkedArray:
        if pa.types.is_dictionary(wanted.type):
            return recode(column, self.categories[wanted.name], wanted.type)
        return column if column.type == wanted.type else column.cast(wanted.type, safe=False)

    def to_pandas(self, table: pa.Table) -> Any:
        """Return rows as a pandas frame with the same dtypes for every block."""
        columns = [self._pandas[name] for name in table.column_names if self._has_pandas_type(name)]
        # Without an index, which is no feature; a fresh one counts the rows.
        metadata = {"pandas": json.dumps({"index_columns": [], "column_indexes": [], "columns": columns})}
        frame = table.replace_schema_metadata(metadata if columns else None).to_pandas()
        gapped = [column for column in table.schema if column.name in self._with_nulls]
        objects = [column.name for column in gapped if pa.types.is_boolean(column.type)]
        return frame.astype(dict.fromkeys(objects, object)) if objects else frame


def pandas_index_columns(schema: pa.Schema) -> set[str]:
    """Return the columns that hold the index of a pandas frame, which is no feature."""
    return {name for name in _read_pandas_notes(schema).get("index_columns", []) if isinstance(name, str)}


def _read_pandas_notes(schema: pa.Schema) -> dict[str, Any]:
    notes: dict[str, Any] = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    return notes


def merge_categories(dictionaries: Sequence[pa.Array], type_: pa.DataType, *, ordered: bool) -> pa.Array:
    """Return the categories of a column from the dictionaries of its blocks.

    They keep their order where one dictionary has them all; otherwise they are sorted, or, if they have an order of
    their own, in order of first appearance.

    Examples
    --------
    >>> merge_categories([pa.array(["b"]), pa.array(["c", "a"])], pa.string(), ordered=False).to_pylist()
    ['a', 'b', 'c']
    """
    if not dictionaries:
        return pa.array([], type_)
    together = pa.chunked_array(dictionaries, type_).combine_chunks().drop_null().unique()
    largest = max(dictionaries, key=len)
    if len(largest) == len(together) and not largest.null_count:
        return largest
    return together if ordered else together.take(pc.sort_indices(together))


def widen_codes(type_: pa.DataType) -> pa.DataType:
    """Return a categorical type for any number of categories; the codes of a file with few take fewer bytes."""
    return pa.dictionary(pa.int32(), type_.value_type, type_.ordered) if pa.types.is_dictionary(type_) else type_


def decode_dictionary(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a column that may be stored as a dictionary."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def recode(column: pa.ChunkedArray, categories: pa.Array, type_: pa.DataType) -> pa.ChunkedArray:
    """Return a categorical column with these categories."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(type_.value_type).dictionary_encode()
    chunks = []
    for chunk in column.chunks:
        codes = pc.index_in(chunk.dictionary, value_set=categories).take(chunk.indices)
        chunks.append(pa.DictionaryArray.from_arrays(codes, categories, ordered=type_.ordered))
    return pa.chunked_array(chunks, type_)
