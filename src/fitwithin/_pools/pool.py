"""Rows by number, and some of them in the form that learners accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.tables import take_rows


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Some rows of a pool, in the form that learners accept.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Features.
    y : array
        Labels or values, as the user gave them.
    row_params : dict of array
        Other arguments of `fit` with one entry for each row, such as `sample_weight`.
    """

    X: Any
    y: Array
    row_params: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)

    def split(self, size: int) -> Iterator[LabeledRows]:
        """Yield the same rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            row_params = {name: column[rows] for name, column in self.row_params.items()}
            yield LabeledRows(take_rows(self.X, rows), self.y[rows], row_params)

    @property
    def weights(self) -> Array | None:
        """`sample_weight` of these rows, or None."""
        return self.row_params.get("sample_weight")


class Pool(Protocol):
    """Rows that are read by number, as copies."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def read(self, rows: Rows) -> LabeledRows:
        """Return these rows in the form that learners accept."""
        ...
