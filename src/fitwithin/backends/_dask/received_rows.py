"""Rows that a Dask worker received from others, in files that its learners' processes map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.target import Target
from fitwithin._pools.block_index import BlockIndex
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import concatenate, is_contiguous, take_rows
from fitwithin.backends._process.row_reader import RowBlock, RowLayout, RowSelection
from fitwithin.backends._process.shared_memory import SharedColumn, create_files, dump_pickle
from fitwithin.backends._process.shared_rows import RowPositions


@dataclass(frozen=True, eq=False)
class RowSchema:
    """Types of the rows of a pool that is spread over a cluster.

    Parameters
    ----------
    target : Target
        Decodes the target column; holds no rows.
    target_column : SharedColumn
        Type of the encoded target.
    row_params : dict of SharedColumn
        Types of the other arguments of `fit` with one entry for each row.
    features : SharedColumn or None
        Type of the features; None if they are no plain array.
    n_rows : int
        Rows of the pool.
    index : BlockIndex or None, default=None
        The block that each row comes from, if the rows are read block by block.
    """

    target: Target
    target_column: SharedColumn
    row_params: dict[str, SharedColumn]
    features: SharedColumn | None
    n_rows: int
    index: BlockIndex | None = None

    @property
    def columns(self) -> tuple[SharedColumn, ...]:
        """One for each shared file: target, row_params, row numbers if there are blocks, features of a plain array."""
        numbers = () if self.index is None else (SharedColumn(np.dtype(np.int64), ()),)
        features = () if self.features is None else (self.features,)
        return (self.target_column, *self.row_params.values(), *numbers, *features)

    @property
    def layout(self) -> RowLayout:
        """What a learner's process must know to read the files."""
        return RowLayout(self.columns, self.target, tuple(self.row_params), index=self.index)


class ReceivedRows:
    """Rows of a cluster's pool, each with its number there, appended to shared files as they arrive.

    Parameters
    ----------
    schema : RowSchema
        Types of the rows.
    budget : Budget
        Ends copying at the deadline.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin._core.target import Labels
    >>> column = SharedColumn(np.dtype(np.uint8), ())
    >>> schema = RowSchema(Labels.encode([0, 1]).without_rows(), column, {}, SharedColumn(np.dtype(float), (2,)), 80)
    >>> received = ReceivedRows(schema, Budget(60))
    >>> received.append(np.array([70, 7]), LabeledRows(np.zeros((2, 2)), np.array([0, 1])))
    >>> received.find_missing(np.array([7, 8])).tolist()
    [8]
    >>> received.share_training_rows(np.array([7, 70])).positions.tolist()
    [1, 0]
    >>> received.close()
    """

    def __init__(self, schema: RowSchema, budget: Budget) -> None:
        self.layout = schema.layout
        self._schema = schema
        self._budget = budget
        self.files = create_files(len(schema.columns) + (schema.features is None))
        self.forget()

    def forget(self) -> None:
        """Begin again without rows; the files keep their memory for the next ones."""
        self._n_rows = 0
        self._positions = RowPositions(self._schema.n_rows)
        self._blocks: list[RowBlock] = []
        self._block_end = 0

    def find_missing(self, rows: Rows) -> Rows:
        """Return those of these rows that have not arrived, each once, in the order of `rows`."""
        missing = rows[self._positions.find(rows) < 0]
        _, first = np.unique(missing, return_index=True)
        return missing[np.sort(first)]

    def append(self, rows: Rows, content: LabeledRows) -> None:
        """Append rows that are new; raise TimeoutError at the deadline.

        Parameters
        ----------
        rows : array of int
            Their numbers in the pool, each once.
        content : LabeledRows
            The rows, with the target encoded.
        """
        if not len(rows):
            return
        self._budget.raise_if_spent()
        first = self._n_rows
        columns = [content.y, *(content.row_params[name] for name in self._schema.row_params)]
        if self._schema.index is not None:
            columns.append(rows)
        if self._schema.features is not None:
            columns.append(np.asarray(content.X))
        for file, column, values in zip(self.files, self._schema.columns, columns, strict=False):
            file.write_rows(values.astype(column.dtype, copy=False), first)
        if self._schema.features is None:
            offset = self._block_end
            self._block_end = dump_pickle(content.X, self.files[-1].fd, offset, self._budget.raise_if_spent)
            self._blocks.append(RowBlock(offset, first, len(rows)))
        self._n_rows += len(rows)
        self._positions.set(rows, np.arange(first, self._n_rows))

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Return where these rows lie: one range, which is read without a copy, if they arrived in this order."""
        return RowSelection.from_positions(self._positions.find(rows), tuple(self._blocks))

    share_exam_rows = share_training_rows

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()
        self.forget()


def join_rows(parts: list[LabeledRows], order: Rows | None = None) -> LabeledRows:
    """Return rows that came in several parts as one, in another order if one is given."""
    joined = LabeledRows(
        concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        {name: np.concatenate([part.row_params[name] for part in parts]) for name in parts[0].row_params},
    )
    return joined if order is None or is_contiguous(order) else take_part(joined, order)


def take_part(rows: LabeledRows, chosen: Any) -> LabeledRows:
    """Return some of these rows."""
    row_params = {name: column[chosen] for name, column in rows.row_params.items()}
    return LabeledRows(take_rows(rows.X, chosen), rows.y[chosen], row_params)
