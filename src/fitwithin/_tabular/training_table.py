"""The rows and columns of a file that a model is trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.columns import ColumnKind, FeatureColumn, select_columns
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn

_MAX_REASONS = 5
"""Columns whose reason for being left out is shown in an error."""


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The usable part of a training file.

    Parameters
    ----------
    chunk : TableChunk
        The rows that have a target value.
    target : TargetColumn
        The column to predict.
    columns : list of FeatureColumn
        Columns to train on; empty if the file holds a matrix without column names.
    left_out : dict
        Names of unused columns, with the reason.
    """

    chunk: TableChunk
    target: TargetColumn
    columns: list[FeatureColumn]
    left_out: Mapping[str, str]

    @property
    def n_rows(self) -> int:
        """Rows with a target value."""
        return len(self.chunk)

    @property
    def n_unlabeled_rows(self) -> int:
        """Rows without a target value."""
        return int(np.count_nonzero(~self.target.has_value))

    @property
    def missing_values(self) -> dict[ColumnKind, int]:
        """Number of missing values for each kind of column in the table."""
        counts: dict[ColumnKind, int] = {column.kind: 0 for column in self.columns}
        for column in self.columns:
            counts[column.kind] += self.chunk.table[column.name].null_count
        return counts


def make_training_table(chunk: TableChunk, target: TargetColumn) -> TrainingTable:
    """Select the rows and columns of a file to train on.

    Raises
    ------
    UserInputError
        If no column is left.
    """
    chunk = select_rows(chunk, target.has_value)
    table = chunk.table.drop_columns([target.name])
    if chunk.matrix is not None:
        return TrainingTable(chunk, target, [], dict.fromkeys(table.column_names, "not among the features"))
    columns, left_out = select_columns(table)
    if not columns:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in list(left_out.items())[:_MAX_REASONS])
        raise UserInputError(
            f"There is no column other than {target.name!r} to train on{f' ({reasons})' if reasons else ''}.",
            "Is --target the right column?",
        )
    return TrainingTable(chunk, target, columns, left_out)


def select_rows(chunk: TableChunk, mask: Array) -> TableChunk:
    """Return the rows for which the mask is True."""
    if mask.all():
        return chunk
    return TableChunk(chunk.table.filter(pa.array(mask)), None if chunk.matrix is None else chunk.matrix[mask])
