"""Training on files that do not fit in memory: columns and encoder come from a sample of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.dataset_blocks import DatasetBlocks
from fitwithin._tabular.columns import decode_dictionary, to_frame
from fitwithin._tabular.encoding import Encoding, make_column_encoder
from fitwithin._tabular.feature_blocks import FeatureBlocks
from fitwithin._tabular.features import EncodedFeatures
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.target_column import TargetColumn, TaskType
from fitwithin._tabular.target_survey import survey_target
from fitwithin._tabular.training_table import TrainingTable, select_features

_SAMPLE_BLOCKS = 8
"""Blocks of the sample, evenly spaced."""

_SAMPLE_ROWS = 25_000
"""Rows of the sample from each of its blocks, at most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledTable(TrainingTable):
    """The usable part of files that are read in blocks; its chunk is a sample of their rows.

    Parameters
    ----------
    blocks : Blocks
        The rows with a target value.
    """

    blocks: Blocks


def read_sampled_table(files: DataSetFiles, target: str, task: TaskType | None, max_classes: int) -> SampledTable:
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

    Raises
    ------
    UserInputError
        If no model can be trained on them.
    """
    survey = survey_target(files.open([target]), target)
    column = survey.to_column(target, task, max_classes)
    stored = files.open()
    blocks: Blocks = LabeledRowsOnly(stored, target) if survey.n_missing else stored
    sample = _read_sample(blocks)
    chunk = TableChunk(sample).normalize()
    columns, left_out = select_features(chunk, target)
    return SampledTable(
        chunk=chunk,
        target=column,
        columns=columns,
        left_out=left_out,
        n_rows=survey.n_rows,
        n_unlabeled_rows=survey.n_missing,
        class_counts=None if column.is_regression else survey.count_classes(),
        blocks=blocks,
    )


def encode_blocks(table: SampledTable, encoding: Encoding) -> EncodedFeatures:
    """Fit an encoder on the sample, and return the rows, which it encodes while they are read."""
    encoder = make_column_encoder(table.columns, encoding)
    X = encoder.fit_transform(to_frame(table.chunk.table, table.columns))
    shape = table.n_rows, X.shape[1]
    blocks = FeatureBlocks(table.blocks, encoder, table.columns, shape, X.dtype, table.target)
    return EncodedFeatures(blocks, encoder, table.columns)


def open_test_blocks(features: EncodedFeatures, target: TargetColumn, files: DataSetFiles) -> tuple[Any, Any]:
    """Return the features of a test set, which are read later, and its target.

    Raises
    ------
    UserInputError
        If no row has a target value.
    """
    names = [*(column.name for column in features.columns), target.name]
    blocks = LabeledRowsOnly(files.open(names), target.name)
    parts = [
        target.convert(TableChunk(blocks.read(number, [target.name])).normalize().table[target.name])
        for number in range(blocks.n_blocks)
    ]
    y = np.concatenate(parts) if parts else np.empty(0)
    if not len(y):
        raise UserInputError(f"{files.path} has no row with a value of {target.name!r}.", "Is it the right file?")
    shape = len(y), features.X.shape[1]
    return FeatureBlocks(blocks, features.encoder, features.columns, shape, features.X.dtype), y


def _read_sample(blocks: Blocks) -> pa.Table:
    """Return some rows of blocks that lie evenly spaced."""
    numbers = np.unique(np.linspace(0, blocks.n_blocks - 1, min(_SAMPLE_BLOCKS, blocks.n_blocks)).astype(int))
    rng = np.random.default_rng(0)
    parts = []
    for number in numbers.tolist():
        table = blocks.read(number, blocks.schema.names)
        rows = np.sort(rng.permutation(table.num_rows)[:_SAMPLE_ROWS])
        parts.append(table.take(pa.array(rows)))
    return pa.concat_tables(parts)


class LabeledRowsOnly:
    """Blocks without the rows that have no target value. These are `Blocks`.

    Parameters
    ----------
    blocks : DatasetBlocks
        All rows.
    target : str
        The column that must have a value.
    """

    def __init__(self, blocks: DatasetBlocks, target: str) -> None:
        self._blocks = blocks
        self._target = target
        self.schema: pa.Schema = blocks.schema
        self.n_blocks = blocks.n_blocks
        # Rows are left out wherever they are, so that the order of the others stays random.
        self.is_shuffled = blocks.is_shuffled
        self.has_quick_heads = False  # How many rows of a head have a target value is not known.
        self.to_frame = blocks.to_frame
        self.describe = blocks.describe

    def read(self, number: int, names: Sequence[str], n_rows: int | None = None) -> pa.Table:
        """Read these columns of one block, in this order; only its first rows if their number is given."""
        wanted = list(dict.fromkeys([*names, self._target]))
        table = self._blocks.read(number, wanted)
        has_value = pc.invert(pc.is_null(decode_dictionary(table[self._target]), nan_is_null=True))
        return table.filter(has_value).select(list(names)).slice(0, n_rows)
