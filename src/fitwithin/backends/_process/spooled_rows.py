"""Rows of a data set on disk: the learner's process maps the spool, and takes the rows that have been read from it."""

from __future__ import annotations

import os

from fitwithin._core.records import Rows
from fitwithin._pools.disk_pool import DiskPool
from fitwithin.backends._process.row_reader import RowLayout, RowSelection
from fitwithin.backends._process.shared_memory import SharedColumn, SharedFile


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
        self.layout = RowLayout(
            tuple(map(SharedColumn.from_array, columns)),
            pool.y.without_rows(),
            tuple(pool.row_params),
            spool=pool.layout,
            spool_index=pool.index,
        )
        names = ["target", *(["weight"] if pool.row_params else []), "features"]
        self.files = tuple(SharedFile(os.dup(pool.files[name].fd)) for name in names)

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Wait until these rows have been read; raise TimeoutError at the deadline."""
        self._pool.wait_for(rows)
        return RowSelection(rows, self._pool.bounds)

    share_exam_rows = share_training_rows

    def close(self) -> None:
        """Close the handles of the files."""
        for file in self.files:
            file.close()
