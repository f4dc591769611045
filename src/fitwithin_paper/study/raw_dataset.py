"""A data set as it was read, and the error for one that is unavailable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fitwithin import FitwithinError
from fitwithin_paper.study.paper_datasets import TrainTestSplit


class DatasetUnavailable(FitwithinError, LookupError):
    """A known data set can't be loaded or used; the message says what was tried and what to do."""


@dataclass(frozen=True, eq=False)
class RawDataset:
    """Rows as they were read, before any transformation.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame
        Feature columns.
    y : pandas.Series
        Class of each row.
    source : str
        Origin of the rows, in words.
    split : TrainTestSplit
        Rule that divides the rows into training and test rows.
    nominal_columns : tuple of str
        Columns that are categorical although they hold numbers; ``"*"`` stands for all.
    """

    name: str
    X: Any
    y: Any
    source: str
    split: TrainTestSplit = field(default_factory=TrainTestSplit)
    nominal_columns: tuple[str, ...] = ()
