"""A table with its class, and what is said when there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fitwithin._core.exceptions import FitwithinError
from fitwithin._research.study.names import Split


class NotToBeHad(FitwithinError, LookupError):
    """A data set that is known but not at hand; the message says what was looked for, and what to do."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as they come, before any transformation.

    Parameters
    ----------
    name : str
        Of the data set.
    X : pandas.DataFrame
        The columns to learn from.
    y : pandas.Series
        The class of each row.
    source : str
        Where the rows come from, in words.
    split : Split
        How they fall into training and test.
    nominal : tuple of str
        Columns that are categories although they are written as numbers; ``"*"`` stands for all.
    """

    name: str
    X: Any
    y: Any
    source: str
    split: Split = field(default_factory=Split)
    nominal: tuple[str, ...] = ()
