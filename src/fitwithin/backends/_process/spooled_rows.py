"""Rows of a data set on disk: the learner's process maps the spool, and takes the rows that have been read from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from fitwithin._core.records import Rows
from fitwithin._core.target import Target
from fitwithin._pools.block_index import BlockIndex
from fitwithin._pools.disk_pool import DiskPool
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.spool_format import SpoolFormat, SpoolReader
from fitwithin.backends._model_runner import rows_per_piece, split_exam
from fitwithin.backends._process.row_reader import RowLayout, RowReader, RowSelection
from fitwithin.backends._process.shared_memory import SharedColumn, SharedFile


@dataclass(frozen=True, eq=False)
class SpoolLayout:
    """What a learner's process must know to read the spool.

    Parameters
    ----------
    columns : tuple of SharedColumn
        One for each file but the last, which holds the features: the target, and the weights if there are any.
    target : Target
        Decodes the first column; holds no rows itself.
    row_params : tuple of str
        Names of the columns after the target.
    features : SpoolFormat
        How the features lie in the last file.
    index : BlockIndex
        The block that each row comes from.
    """

    columns: tuple[SharedColumn, ...]
    target: Target
    row_params: tuple[str, ...]
    features: SpoolFormat
    index: BlockIndex


@dataclass(frozen=True, eq=False)
class SpooledSelection:
    """Rows of the spool, in any order.

    Parameters
    ----------
    rows : array of int
        Their numbers.
    bounds : tuple of int
        Where the features lie of the blocks that have been read, in bytes: the end of each, after 0.
    """

    rows: Rows
    bounds: tuple[int, ...]


AnySelection = RowSelection | SpooledSelection
"""Where the rows of a fit or an exam lie."""


# The parent's side.


class SpooledRows:
    """Rows of a data set on disk, which the learner's process reads itself.

    Parameters
    ----------
    pool : DiskPool
        The rows; whoever opened it closes it.
    """

    def __init__(self, pool: DiskPool) -> None:
        self._pool = pool
        columns = (pool.y.column, *pool.row_params.values())
        self.layout = SpoolLayout(
            tuple(map(SharedColumn.from_array, columns)),
            pool.y.without_rows(),
            tuple(pool.row_params),
            pool.layout,
            pool.index,
        )
        names = ["target", *(["weight"] if pool.row_params else []), "features"]
        self.files = tuple(SharedFile(os.dup(pool.files[name].fd)) for name in names)

    def share_training_rows(self, rows: Rows) -> SpooledSelection:
        """Wait until these rows have been read; raise TimeoutError at the deadline."""
        self._pool.wait_for(rows)
        return SpooledSelection(rows, self._pool.bounds)

    share_exam_rows = share_training_rows

    def close(self) -> None:
        """Close the handles of the files."""
        for file in self.files:
            file.close()


# The learner's side.


class AnyRowReader(Protocol):
    """Reads the rows of fits and exams."""

    def read(self, selection: Any) -> LabeledRows:
        """Return the selected rows."""
        ...

    def read_in_pieces(self, selection: Any, seconds: float | None = None) -> Iterator[LabeledRows]:
        """Yield the selected rows piece by piece; see `split_exam`."""
        ...


def open_rows(layout: RowLayout | SpoolLayout, files: tuple[int, ...]) -> AnyRowReader:
    """Return a reader of rows that lie like this in these files."""
    return SpooledRowReader(layout, files) if isinstance(layout, SpoolLayout) else RowReader(layout, files)


class SpooledRowReader:
    """Read rows from the spool in the learner's process.

    Parameters
    ----------
    layout : SpoolLayout
        How the rows lie in the files.
    files : tuple of int
        Descriptors of the files.
    """

    def __init__(self, layout: SpoolLayout, files: tuple[int, ...]) -> None:
        self._layout = layout
        self._files = files

    def read(self, selection: SpooledSelection) -> LabeledRows:
        """Return a copy of the selected rows."""
        layout, rows = self._layout, selection.rows
        stop = int(rows.max(initial=-1)) + 1
        columns = [column.open(file, stop)[rows] for column, file in zip(layout.columns, self._files, strict=False)]
        target, *others = columns
        return LabeledRows(
            self._features.read(rows, layout.index, selection.bounds),
            layout.target.decode(target),
            dict(zip(layout.row_params, others, strict=True)),
            layout.index.find_clusters(rows, target),
        )

    def read_in_pieces(self, selection: SpooledSelection, seconds: float | None = None) -> Iterator[LabeledRows]:
        """Yield the selected rows piece by piece."""
        size = rows_per_piece(self._layout.features.row_bytes)
        for piece in split_exam(len(selection.rows), size, seconds):
            yield self.read(SpooledSelection(selection.rows[piece], selection.bounds))

    @cached_property
    def _features(self) -> SpoolReader:
        return self._layout.features.open(self._files[-1])
