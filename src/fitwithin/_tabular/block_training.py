"""Training on files that do not fit in memory: columns and encoder come from a sample of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.column_types import decode_dictionary
from fitwithin._tabular.columns import column_kind
from fitwithin._tabular.feature_blocks import TARGET, FeatureBlocks, drop_unlabeled
from fitwithin._tabular.features import EncodedFeatures
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.target_column import TargetColumn, TaskType, read_target_column, to_labels
from fitwithin._tabular.training_table import TrainingTable, select_features

_MAX_DISTINCT = 10_000
"""Distinct values that are counted; more are values, or too many for classes."""

_SAMPLE_BLOCKS = 8
"""Blocks of the sample, evenly spaced."""

_SAMPLE_ROWS = 25_000
"""Rows of the sample from each of its blocks, at most."""


def read_sampled_table(
    files: DataSetFiles, target: str, task: TaskType | None, max_classes: int, texts: Sequence[str] = ()
) -> TrainingTable:
    """Look at the target of all rows and at a sample of the others.

    Parameters
    ----------
    files : DataSetFiles
        The files.
    target : str
        The column to predict.
    task : {"classification", "regression"} or None
        The user's choice.
    max_classes : int
        Raise if there are more.
    texts : sequence of str
        Columns whose words are features.

    Raises
    ------
    UserInputError
        If no model can be trained on them.
    """
    survey = survey_target(files.open([target]), target, task, max_classes)
    blocks = files.open()
    chunk = TableChunk(_read_sample(blocks, target))
    columns, left_out = select_features(chunk, target, texts=texts)
    return TrainingTable(
        chunk=chunk,
        target=survey.column,
        columns=columns,
        left_out=left_out,
        n_rows=survey.n_rows,
        n_unlabeled_rows=survey.n_missing,
        class_counts=survey.class_counts,
        blocks=blocks,
    )


@dataclass(frozen=True, eq=False)
class TargetSurvey:
    """What a pass over the target found.

    Parameters
    ----------
    column : TargetColumn
        The target with one entry for each class, or with the smallest and the largest value.
    n_rows, n_missing : int
        Rows with and without a value.
    class_counts : tuple of numpy.ndarray or None
        The labels, and the rows of each; None for a regression.
    """

    column: TargetColumn
    n_rows: int
    n_missing: int
    class_counts: tuple[Array, Array] | None


def survey_target(blocks: Blocks, name: str, task: TaskType | None, max_classes: int) -> TargetSurvey:
    """Read the target of all blocks, and nothing else.

    Raises
    ------
    UserInputError
        If no model can be trained to predict it.
    """
    counts: Counter[Any] = Counter()
    n_rows = n_missing = 0
    ends: list[float] = []
    values = pa.chunked_array([], pa.null())
    for number in range(blocks.n_blocks):
        values = decode_dictionary(TableChunk(blocks.read(number, [name])).normalize().table[name])
        present = values.drop_null()
        n_rows, n_missing = n_rows + len(present), n_missing + values.null_count
        if len(present) and column_kind(values.type) == "number":
            ends += pc.min_max(present.cast(pa.float64(), safe=False)).as_py().values()
        if len(counts) <= _MAX_DISTINCT:
            found = pc.value_counts(present.combine_chunks())[: _MAX_DISTINCT + 1]
            counts.update(dict(zip(*(found.field(part).to_pylist() for part in ("values", "counts")), strict=True)))
    if not n_rows + n_missing:
        raise UserInputError("The files have no rows, only column names.", "Were they written completely?")
    distinct = pa.chunked_array([pa.array(list(counts) or [None], values.type)])
    column = read_target_column(name, distinct, task, max_classes)
    if column.is_regression:
        return TargetSurvey(replace(column, y=np.array([min(ends), max(ends)])), n_rows, n_missing, None)
    return TargetSurvey(column, n_rows, n_missing, (to_labels(distinct), np.array(list(counts.values()))))


def open_test_blocks(features: EncodedFeatures, target: TargetColumn, files: DataSetFiles) -> tuple[Any, Any]:
    """Return the features of a test set, which are read later, and its target.

    Raises
    ------
    UserInputError
        If no row has a target value.
    """
    names = [*(column.name for column in features.columns), target.name]
    stored, width = files.open(names), features.X.shape[1]
    blocks = FeatureBlocks(
        stored, features.encoder, features.columns, target, (0, width), features.X.dtype, has_gaps=True
    )
    parts = [blocks.read(number, [TARGET])[TARGET].to_numpy() for number in range(blocks.n_blocks)]
    y = np.concatenate(parts) if parts else np.empty(0)
    if not len(y):
        raise UserInputError(f"{files.path} has no row with a value of {target.name!r}.", "Is it the right file?")
    blocks.shape = len(y), width
    return blocks.without_target(), y


def _read_sample(blocks: Blocks, target: str) -> pa.Table:
    """Return some rows with a target value, from blocks that lie evenly spaced."""
    numbers = np.unique(np.linspace(0, blocks.n_blocks - 1, min(_SAMPLE_BLOCKS, blocks.n_blocks)).astype(int))
    rng = np.random.default_rng(0)
    parts = []
    for number in numbers.tolist():
        table = drop_unlabeled(TableChunk(blocks.read(number, blocks.schema.names)).normalize().table, target)
        rows = np.sort(rng.permutation(table.num_rows)[:_SAMPLE_ROWS])
        parts.append(table.take(pa.array(rows)))
    return pa.concat_tables(parts)
