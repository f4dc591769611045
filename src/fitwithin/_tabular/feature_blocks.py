"""Blocks of rows as the learner takes them: encoded while they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._tabular.columns import FeatureColumn, to_frame
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn

TARGET = "target"
"""Name of the target among the encoded columns, which have numbers for names."""


class FeatureBlocks:
    """Rows of files in blocks, encoded while they are read; the learner gets arrays. These are `Blocks`.

    Parameters
    ----------
    blocks : Blocks
        The rows, with the types in the files; each has a target, if there is one.
    encoder : ColumnTransformer
        Fitted on a sample.
    columns : list of FeatureColumn
        Its input.
    shape : tuple of int
        Rows, and columns of its output.
    dtype : dtype
        Type of its output.
    target : TargetColumn, optional
        The column to predict, for training.
    """

    def __init__(
        self,
        blocks: Blocks,
        encoder: Any,
        columns: list[FeatureColumn],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        target: TargetColumn | None = None,
    ) -> None:
        self._blocks = blocks
        self._encoder = encoder
        self._columns = columns
        self._target = target
        self.shape = shape
        self.dtype = dtype
        fields = [pa.field(str(number), pa.from_numpy_dtype(dtype)) for number in range(shape[1])]
        if target is not None:
            empty = blocks.schema.empty_table()
            fields.append(pa.field(TARGET, _to_arrow(target.convert(empty[target.name])).type))
        self.schema: pa.Schema = pa.schema(fields)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return self._blocks.n_blocks

    @property
    def is_shuffled(self) -> bool:
        """Whether the rows lie in random order."""
        return self._blocks.is_shuffled

    @property
    def has_quick_heads(self) -> bool:
        """Whether the first rows of a block are read in a fraction of the time that all of it takes."""
        return self._blocks.has_quick_heads

    def read(self, number: int, names: Sequence[str], n_rows: int | None = None) -> pa.Table:
        """Read these columns of one block, in this order; only its first rows if their number is given."""
        has_features = any(name != TARGET for name in names)
        stored = [column.name for column in self._columns] if has_features else []
        if self._target is not None and TARGET in names:
            stored.append(self._target.name)
        table = TableChunk(self._blocks.read(number, stored, n_rows)).normalize().table
        columns = {}
        if has_features:
            X = self._encode(table)
            columns = {str(place): pa.array(np.ascontiguousarray(X[:, place])) for place in range(X.shape[1])}
        if self._target is not None and TARGET in names:
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

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        encoded = ", ".join(column.name for column in self._columns)
        return {**self._blocks.describe(), "encoded columns": encoded}


def to_matrix(table: pa.Table) -> Array:
    """Return the columns of a table side by side in one array."""
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))


def _to_arrow(values: Array) -> pa.Array:
    return pa.array(values, pa.string()) if values.dtype.kind == "O" else pa.array(values)
