"""Blocks of rows as the learner takes them: encoded while they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.column_types import decode_dictionary
from fitwithin._tabular.columns import FeatureColumn, to_frame
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn

TARGET = "target"
"""Name of the target among the encoded columns, which have numbers for names."""


@dataclass(eq=False)
class FeatureBlocks:
    """Rows of files in blocks, encoded while they are read; the learner gets arrays. These are `Blocks`.

    Rows without a target value are left out wherever they are, so that the order of the others stays random.

    Parameters
    ----------
    blocks : Blocks
        The rows, with the types in the files.
    encoder : ColumnTransformer
        Fitted on a sample.
    columns : list of FeatureColumn
        Its input.
    target : TargetColumn
        The column to predict.
    shape : tuple of int
        Rows with a target value, and columns of the encoder's output.
    dtype : dtype
        Type of its output.
    has_gaps : bool
        Whether rows may have no target value.
    """

    blocks: Blocks
    encoder: Any
    columns: list[FeatureColumn]
    target: TargetColumn
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    has_gaps: bool

    def __post_init__(self) -> None:
        fields = [pa.field(str(number), pa.from_numpy_dtype(self.dtype)) for number in range(self.shape[1])]
        labels = _to_arrow(self.target.convert(self.blocks.schema.empty_table()[self.target.name]))
        self.schema: pa.Schema = pa.schema([*fields, pa.field(TARGET, labels.type)])
        self.n_blocks = self.blocks.n_blocks
        self.is_shuffled = self.blocks.is_shuffled
        self.has_quick_heads = not self.has_gaps and self.blocks.has_quick_heads
        self.to_frame: Callable[[pa.Table], Any] = to_matrix

    def without_target(self) -> FeatureBlocks:
        """Return the same rows without their target, for a prediction."""
        features = copy(self)
        features.schema = self.schema.remove(self.schema.get_field_index(TARGET))
        return features

    def read(self, number: int, names: Sequence[str], n_rows: int | None = None) -> pa.Table:
        """Read these columns of one block, in this order; only its first rows if their number is given."""
        has_features = any(name != TARGET for name in names)
        stored = [column.name for column in self.columns] if has_features else []
        if self.has_gaps or TARGET in names:
            stored.append(self.target.name)
        table = self.blocks.read(number, stored, None if self.has_gaps else n_rows)
        table = TableChunk(table).normalize().table
        if self.has_gaps:
            table = drop_unlabeled(table, self.target.name).slice(0, n_rows)
        columns = {}
        if has_features:
            X = self._encode(table)
            columns = {str(place): pa.array(np.ascontiguousarray(X[:, place])) for place in range(X.shape[1])}
        if TARGET in names:
            columns[TARGET] = _to_arrow(self.target.convert(table[self.target.name]))
        return pa.table(
            [columns[name] for name in names], schema=pa.schema([self.schema.field(name) for name in names])
        )

    def _encode(self, table: pa.Table) -> Array:
        X = self.encoder.transform(to_frame(table, self.columns))
        dense: Array = X.toarray() if hasattr(X, "toarray") else X
        return dense.astype(self.dtype, copy=False)

    def name_block(self, number: int) -> str:
        """Return the file that a block is in."""
        return self.blocks.name_block(number)

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        encoded = ", ".join(column.name for column in self.columns)
        return {**self.blocks.describe(), "encoded columns": encoded}


def drop_unlabeled(table: pa.Table, target: str) -> pa.Table:
    """Return the rows that have a target value."""
    return table.filter(decode_dictionary(table[target]).is_valid())


def to_matrix(table: pa.Table) -> Array:
    """Return the columns of a table side by side in one array."""
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))


def _to_arrow(values: Array) -> pa.Array:
    return pa.array(values, pa.string()) if values.dtype.kind == "O" else pa.array(values)
