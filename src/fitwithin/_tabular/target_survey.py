"""The target of a data set in blocks: its task, its classes and its rows, by a pass over that column alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._tabular.columns import column_kind, decode_dictionary
from fitwithin._tabular.files import TableChunk
from fitwithin._tabular.target_column import TargetColumn, TaskType, read_target_column, to_labels

_MAX_DISTINCT = 10_000
"""Distinct values that are counted; more are values, or too many for classes."""


@dataclass
class TargetSurvey:
    """What a pass over the target found.

    Parameters
    ----------
    n_rows, n_missing : int
        Rows with and without a value.
    counts : Counter
        Rows of each value, as long as there are few.
    type : pyarrow.DataType
        Type of the values.
    low, high : float or None
        Smallest and largest number.
    """

    type: Any
    n_rows: int = 0
    n_missing: int = 0
    counts: Counter[Any] = field(default_factory=Counter)
    low: float | None = None
    high: float | None = None

    def add(self, values: pa.ChunkedArray) -> None:
        """Note the values of one block."""
        present = values.drop_null()
        self.n_missing += len(values) - len(present)
        self.n_rows += len(present)
        if not len(present):
            return
        if column_kind(self.type) == "number":
            ends = pc.min_max(present.cast(pa.float64(), safe=False)).as_py()
            self.low = ends["min"] if self.low is None else min(self.low, ends["min"])
            self.high = ends["max"] if self.high is None else max(self.high, ends["max"])
        if len(self.counts) <= _MAX_DISTINCT:
            found = pc.value_counts(present.combine_chunks())
            kept = found.slice(0, _MAX_DISTINCT + 1)
            self.counts.update(
                dict(zip(kept.field("values").to_pylist(), kept.field("counts").to_pylist(), strict=True))
            )

    def to_column(self, name: str, task: TaskType | None, max_classes: int) -> TargetColumn:
        """Return the target with one entry for each class, or with the smallest and the largest value.

        Raises
        ------
        UserInputError
            If no model can be trained to predict it.
        """
        if not self.n_rows + self.n_missing:
            raise UserInputError("The files have no rows, only column names.", "Were they written completely?")
        distinct = list(self.counts) or [None]
        target = read_target_column(name, pa.chunked_array([pa.array(distinct, self.type)]), task, max_classes)
        return replace(target, y=np.array([self.low, self.high])) if target.is_regression else target

    def count_classes(self) -> tuple[Any, Any]:
        """Return the labels, and the rows of each."""
        labels = to_labels(pa.chunked_array([pa.array(list(self.counts), self.type)]))
        return labels, np.array(list(self.counts.values()))


def survey_target(blocks: Blocks, name: str) -> TargetSurvey:
    """Read the target of all blocks, and nothing else."""
    survey: TargetSurvey | None = None
    for number in range(blocks.n_blocks):
        values = decode_dictionary(TableChunk(blocks.read(number, [name])).normalize().table[name])
        survey = survey or TargetSurvey(values.type)
        survey.add(values)
    return survey or TargetSurvey(pa.null())
