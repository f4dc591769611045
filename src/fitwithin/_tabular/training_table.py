"""The rows and columns of a file that a model is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError, join_names
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.column_types import decode_dictionary
from fitwithin._session.held_out_rows import MIN_GROUPS
from fitwithin._tabular.columns import ColumnKind, FeatureColumn, select_columns
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn


@dataclass(frozen=True, eq=False, kw_only=True)
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
    n_rows, n_unlabeled_rows : int
        Rows with and without a target value.
    class_counts : tuple of numpy.ndarray or None
        The labels, and the rows of each; None for a regression.
    groups : numpy.ndarray of int, optional
        The group of each row, if a column names it.
    blocks : Blocks, optional
        All rows of files that are read in blocks, also those without a target value; the chunk is a sample then.
    """

    chunk: TableChunk
    target: TargetColumn
    columns: list[FeatureColumn]
    left_out: Mapping[str, str]
    n_rows: int
    n_unlabeled_rows: int
    class_counts: tuple[Array, Array] | None
    groups: Array | None = None
    blocks: Blocks | None = None

    @property
    def missing_values(self) -> dict[ColumnKind, int]:
        """Number of missing values for each kind of column; estimated if the chunk is a sample."""
        counts: dict[ColumnKind, int] = {column.kind: 0 for column in self.columns}
        for column in self.columns:
            counts[column.kind] += self.chunk.table[column.name].null_count
        return {kind: round(count * self.n_rows / max(len(self.chunk), 1)) for kind, count in counts.items()}


def make_training_table(
    chunk: TableChunk, target: TargetColumn, groups: str | None = None, texts: Sequence[str] = ()
) -> TrainingTable:
    """Select the rows and columns of a file to train on.

    Parameters
    ----------
    chunk : TableChunk
        All rows of the file.
    target : TargetColumn
        The column to predict.
    groups : str, optional
        A column that names the group of each row, and is no feature.
    texts : sequence of str
        Columns whose words are features.

    Raises
    ------
    UserInputError
        If no column is left, or a row has no group.
    """
    n_unlabeled = int(np.count_nonzero(~target.has_value))
    chunk = select_rows(chunk, target.has_value)
    columns, left_out = select_features(chunk, target.name, groups, texts)
    return TrainingTable(
        chunk=chunk,
        target=target,
        columns=columns,
        left_out=left_out,
        n_rows=len(chunk),
        n_unlabeled_rows=n_unlabeled,
        class_counts=None if target.is_regression else np.unique(target.y, return_counts=True),
        groups=None if groups is None else _read_groups(groups, chunk.table[groups]),
    )


def select_features(
    chunk: TableChunk, target: str, groups: str | None = None, texts: Sequence[str] = ()
) -> tuple[list[FeatureColumn], Mapping[str, str]]:
    """Return the columns to train on, and the others with the reason; no columns for a matrix without names.

    Raises
    ------
    UserInputError
        If no column is left.
    """
    others = {} if groups is None else {groups: "it names the groups"}
    table = chunk.table.drop_columns([target, *others])
    if chunk.matrix is not None:
        return [], {**others, **dict.fromkeys(table.column_names, "not among the features")}
    columns, unusable = select_columns(table, texts)
    left_out = {**others, **unusable}
    if not columns:
        reasons = join_names(f"{name}: {reason}" for name, reason in left_out.items())
        raise UserInputError(
            f"There is no column other than {target!r} to train on{f' ({reasons})' if reasons else ''}.",
            "Is --target the right column?",
        )
    return columns, left_out


def _read_groups(name: str, values: pa.ChunkedArray) -> Array:
    """Return a number for the group of each row."""
    if values.null_count:
        raise UserInputError(
            f"The column of groups {name!r} has no value in {values.null_count:,} rows; every row needs a group.",
            "Fill the gaps, or choose another column with --groups.",
        )
    codes: Array = decode_dictionary(values).combine_chunks().dictionary_encode().indices.to_numpy()
    n_groups = int(codes.max()) + 1
    if n_groups < MIN_GROUPS:
        raise UserInputError(
            f"The column of groups {name!r} has {n_groups} different {'value' if n_groups == 1 else 'values'}; at "
            f"least {MIN_GROUPS} groups are needed, for training, validation and holdout.",
            "Choose another column with --groups.",
        )
    return codes


def select_rows(chunk: TableChunk, mask: Array) -> TableChunk:
    """Return the rows for which the mask is True."""
    if mask.all():
        return chunk
    return TableChunk(chunk.table.filter(pa.array(mask)), None if chunk.matrix is None else chunk.matrix[mask])
