"""Blocks of rows as the learner takes them: encoded while they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._tabular.columns import FeatureColumn, decode_dictionary, to_frame
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn

TARGET = "target"
"""Name of the target among the encoded columns, which have numbers for names."""


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

    def __init__(
        self,
        blocks: Blocks,
        encoder: Any,
        columns: list[FeatureColumn],
        target: TargetColumn,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        *,
        has_gaps: bool,
    ) -> None:
        self._blocks = blocks
        self._encoder = encoder
        self._columns = columns
        self._target = target
        self._has_gaps = has_gaps
        self.shape = shape
        self.dtype = dtype
        fields = [pa.field(str(number), pa.from_numpy_dtype(dtype)) for number in range(shape[1])]
        labels = _to_arrow(target.convert(blocks.schema.empty_table()[target.name]))
        self.schema: pa.Schema = pa.schema([*fields, pa.field(TARGET, labels.type)])
        self.n_blocks = blocks.n_blocks
        self.is_shuffled = blocks.is_shuffled

    def without_target(self) -> FeatureBlocks:
        """Return the same rows without their target, for a prediction."""
        features = copy(self)
        features.schema = self.schema.remove(self.schema.get_field_index(TARGET))
        return features

    @property
    def has_quick_heads(self) -> bool:
        """Whether the first rows of a block are read in a fraction of the time that all of it takes."""
        return not self._has_gaps and self._blocks.has_quick_heads

    def read(self, number: int, names: Sequence[str], n_rows: int | None = None) -> pa.Table:
        """Read these columns of one block, in this order; only its first rows if their number is given."""
        has_features = any(name != TARGET for name in names)
        stored = [column.name for column in self._columns] if has_features else []
        if self._has_gaps or TARGET in names:
            stored.append(self._target.name)
        table = self._blocks.read(number, stored, None if self._has_gaps else n_rows)
        table = TableChunk(table).normalize().table
        if self._has_gaps:
            table = drop_unlabeled(table, self._target.name).slice(0, n_rows)
        columns = {}
        if has_features:
            X = self._encode(table)
            columns = {str(place): pa.array(np.ascontiguousarray(X[:, place])) for place in range(X.shape[1])}
        if TARGET in names:
            columns[TARGET] = _to_arrow(self._target.convert(table[self._target.name]))
        return pa.table(
            [columns[name] for name in names], schema=pa.schema([self.schema.field(name) for name in names])
        )

    def _encode(self, table: pa.Table) -> Array:
        X = self._encoder.transform(to_frame(table, self._columns))
        dense: Array = X.toarray() if hasattr(X, "toarray") else X
        return dense.astype(self.dtype, copy=False)

    @property
    def to_frame(self) -> Callable[[pa.Table], Array]:
        """Makes of any columns and rows an array."""
        return to_matrix

    def name_block(self, number: int) -> str:
        """Return the file that a block is in."""
        return self._blocks.name_block(number)

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        encoded = ", ".join(column.name for column in self._columns)
        return {**self._blocks.describe(), "encoded columns": encoded}


def drop_unlabeled(table: pa.Table, target: str) -> pa.Table:
    """Return the rows that have a target value."""
    return table.filter(decode_dictionary(table[target]).is_valid())


def to_matrix(table: pa.Table) -> Array:
    """Return the columns of a table side by side in one array."""
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))


def _to_arrow(values: Array) -> pa.Array:
    return pa.array(values, pa.string()) if values.dtype.kind == "O" else pa.array(values)
