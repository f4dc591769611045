"""The blocks of a data set and, after them, those of its validation set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from fitwithin._core.exceptions import UserInputError, require_columns
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.column_types import recode
from fitwithin._pools.sources.dataset_blocks import DatasetBlocks
from fitwithin._pools.tables import find_input_kind, is_frame, list_column_types


@dataclass(eq=False)
class JoinedBlocks:
    """Blocks of a data set and, after them, of a second one, with the columns and types of the first.

    Parameters
    ----------
    first, second : Blocks
        The data sets. Categories that only the second one has become missing values.
    weight : str or None
        The column of weights, which are 1 in the second one.
    """

    first: Blocks
    second: Blocks
    weight: str | None = None

    def __post_init__(self) -> None:
        first, second = self.first, self.second
        self.schema: pa.Schema = first.schema
        self.n_blocks = first.n_blocks + second.n_blocks
        self.is_shuffled = first.is_shuffled
        self.rests = first.rests | {first.n_blocks + number for number in second.rests}
        self.to_frame: Callable[[pa.Table], Any] = first.to_frame
        # Other blocks than those of pyarrow have no categorical columns.
        self._categories: Mapping[str, pa.Array] = getattr(first, "categories", {})

    def read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read these columns of one block, in this order."""
        if number < self.first.n_blocks:
            return self.first.read(number, names)
        stored = [name for name in names if name != self.weight]
        table = self.second.read(number - self.first.n_blocks, stored)
        columns = [
            pa.array(np.ones(table.num_rows)) if name == self.weight else self._conform(table[name], name)
            for name in names
        ]
        return pa.table(columns, names=list(names))

    def name_block(self, number: int) -> str:
        """Return the file that a block is in, or another name for errors."""
        n_first = self.first.n_blocks
        if number < n_first:
            return self.first.name_block(number)
        return f"{self.second.name_block(number - n_first)} of X_val"

    def _conform(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        wanted = self.schema.field(name).type
        if pa.types.is_dictionary(wanted):
            return recode(column, self._categories[name], wanted)
        try:
            return column if column.type == wanted else column.cast(wanted)
        except pa.ArrowException as error:
            raise UserInputError(
                f"The column {name!r} of X_val holds {column.type}, which does not become {wanted}, its type in X.",
                "Convert it.",
            ) from error

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        return {**self.first.describe(), **{f"{name} of X_val": text for name, text in self.second.describe().items()}}


def open_validation_blocks(X_val: Any, y_val: Any, target: str, features: Sequence[str]) -> Blocks:
    """Return the blocks of a validation set.

    Parameters
    ----------
    X_val : data set or frame
        The rows.
    y_val : str or array-like
        The name of their target, or the labels or values of a frame.
    target : str
        The name of the target in X.
    features : sequence of str
        The features in X.

    Raises
    ------
    UserInputError
        If X_val is something else, or a column is missing.
    """
    from fitwithin._pools.sources.opening import open_blocks

    if find_input_kind(X_val) == "data set":
        if y_val != target:
            raise UserInputError(
                f"X_val is a data set outside memory, so y_val must be {target!r}, the name of the target in X; "
                f"got {repr(y_val) if isinstance(y_val, str) else type(y_val).__name__}."
            )
        return open_blocks(X_val, [*features, target], split_large=True)
    if not is_frame(X_val):
        raise UserInputError(
            f"X_val is of type {type(X_val).__name__}, and X a data set outside memory.",
            "Pass a frame with the columns of X, or a path.",
        )
    named = [*features, *([y_val] if isinstance(y_val, str) else [])]
    require_columns(named, (name for name, _ in list_column_types(X_val)), "X_val")
    table = X_val if isinstance(X_val, pa.Table) else _to_arrow(X_val)
    values = (
        table[y_val] if isinstance(y_val, str) else pa.chunked_array([pa.array(np.asarray(y_val), from_pandas=True)])
    )
    if len(values) != table.num_rows:
        raise UserInputError(f"X_val has {table.num_rows:,} rows, and y_val {len(values):,}.", "Both must be as long.")
    return DatasetBlocks(ds.dataset(table.select(list(features)).append_column(target, values)), as_stored=True)


def _to_arrow(frame: Any) -> pa.Table:
    return frame.to_arrow() if hasattr(frame, "to_arrow") else pa.Table.from_pandas(frame, preserve_index=False)
