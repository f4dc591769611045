"""The rows and columns of a file that a model is trained on; a sample of the rows if the file is read in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError, join_names
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.target_pass import number_groups
from fitwithin._tabular.columns import FeatureColumn, select_columns
from fitwithin._tabular.files.data_file import DataFile, TableChunk
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.target_column import DEFAULT_MAX_CLASSES, TargetColumn, TaskType, read_target_column

_SAMPLE_BLOCKS = 8
"""Blocks of the sample, evenly spaced."""

_SAMPLE_ROWS = 25_000
"""Rows of the sample from each of its blocks, at most."""


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
    groups : numpy.ndarray of int, optional
        The group of each row, if a column names it.
    blocks : Blocks, optional
        All rows of files that are read in blocks, also those without a target value; the chunk is a sample then.
    """

    chunk: TableChunk
    target: TargetColumn
    columns: list[FeatureColumn]
    left_out: Mapping[str, str]
    groups: Array | None = None
    blocks: Blocks | None = None

    @property
    def y(self) -> Array:
        """The target of the rows in the chunk."""
        return self.target.convert(self.chunk.table[self.target.name])


def read_training_table(
    file: DataFile,
    target: str,
    task: TaskType | None = None,
    max_classes: int = DEFAULT_MAX_CLASSES,
    *,
    groups: str | None = None,
    texts: Sequence[str] = (),
) -> TrainingTable:
    """Read a file, or the target of all rows and a sample of the others if it is read in blocks.

    Parameters
    ----------
    file : DataFile
        The file.
    target : str
        The column to predict.
    task : {"classification", "regression"} or None
        The user's choice.
    max_classes : int
        Raise if there are more.
    groups : str, optional
        A column that names the group of each row, and is no feature; for files in memory only.
    texts : sequence of str
        Columns whose words are features.

    Raises
    ------
    UserInputError
        If no model can be trained on it, or a row has no group.
    """
    blocks: Blocks | None = None
    if isinstance(file, DataSetFiles) and file.in_blocks:
        labels = file.open([target])
        tables = (TableChunk(labels.read(number, [target])).normalize().table for number in range(labels.n_blocks))
        column = read_target_column(target, (table[target] for table in tables), task, max_classes)
        blocks = file.open(split_large=True)
        chunk = _read_sample(blocks, target)
    else:
        chunk = file.read(label=target)
        column = read_target_column(target, [chunk.table[target]], task, max_classes)
        chunk = chunk.drop_unlabeled(target)
    columns, left_out = _select_features(chunk, target, groups, texts)
    numbers = None if groups is None else number_groups([chunk.table[groups]], groups)
    return TrainingTable(chunk=chunk, target=column, columns=columns, left_out=left_out, groups=numbers, blocks=blocks)


def _select_features(
    chunk: TableChunk, target: str, groups: str | None, texts: Sequence[str]
) -> tuple[list[FeatureColumn], Mapping[str, str]]:
    """Return the columns to train on, and the others with the reason; no columns for a matrix without names."""
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


def _read_sample(blocks: Blocks, target: str) -> TableChunk:
    """Return some rows with a target value, from blocks that lie evenly spaced."""
    numbers = np.unique(np.linspace(0, blocks.n_blocks - 1, min(_SAMPLE_BLOCKS, blocks.n_blocks)).astype(int))
    rng = np.random.default_rng(0)
    parts = []
    for number in numbers.tolist():
        table = TableChunk(blocks.read(number, blocks.schema.names)).normalize().drop_unlabeled(target).table
        rows = np.sort(rng.permutation(table.num_rows)[:_SAMPLE_ROWS])
        parts.append(table.take(pa.array(rows)))
    return TableChunk(pa.concat_tables(parts))
