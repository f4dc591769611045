"""The target of a data set in blocks: its task, its classes and its rows, by a pass over that column alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._tabular.columns import column_kind, decode_dictionary
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn, TaskType, read_target_column, to_labels

_MAX_DISTINCT = 10_000
"""Distinct values that are counted; more are values, or too many for classes."""


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
