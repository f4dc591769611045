"""Stand-ins for features and weights that are on a cluster, where this program does not see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fitwithin._core.records import Rows


@dataclass(frozen=True, eq=False)
class RemoteTable:
    """Features that are on a cluster, in the place of a table.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    empty : frame or array
        A table with the same columns and no rows.
    partitions : object
        Where the rows are; its backend knows more.
    read : callable
        Brings a few rows here, by number.

    Examples
    --------
    >>> import numpy as np
    >>> RemoteTable(5, np.empty((0, 2)), None, lambda rows: np.zeros((len(rows), 2))).shape
    (5, 2)
    """

    n_rows: int
    empty: Any
    partitions: Any
    read: Callable[[Rows], Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.empty.shape[1]

    @property
    def dtype(self) -> Any:
        """Type of an array; frames have none."""
        return getattr(self.empty, "dtype", "frame")

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Rows) -> Any:
        return self.read(rows)


class RemoteColumn:
    """One entry for each row, such as a weight, that lies beside the features on a cluster."""
