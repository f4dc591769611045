"""The rows of a pool that is spread over the workers of a cluster: row number = offset of the partition + position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.records import Rows
from fitwithin._pools.pool import LabeledRows, TablePool
from fitwithin._pools.tables import concatenate, is_contiguous
from fitwithin.backends._dask.cluster import Cluster
from fitwithin.backends._process.row_reader import RowLayout
from fitwithin.backends._process.shared_rows import list_row_columns, make_row_layout

_PARTITIONS_PER_WORKER = 2
"""Parts of a plain table for each worker, so that a worker that is lost costs half of its share at a time."""


@dataclass(eq=False)
class Partitions:
    """Partitions of a pool, each a `LabeledRows` with an encoded target on some worker.

    Parameters
    ----------
    futures : list of Future
        The partitions.
    sizes : array of int
        Rows of each.
    layout : RowLayout
        Types of the rows.
    renew : callable, optional
        Returns a partition again, by its number, if its worker was lost and Dask cannot compute it again.
    wait_for : callable, optional
        Waits until rows have been read.
    """

    futures: list[Any]
    sizes: Rows
    layout: RowLayout
    renew: Callable[[int], Any] | None = None
    wait_for: Callable[[Rows], None] | None = None

    def __post_init__(self) -> None:
        self.offsets: Rows = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def split(self, rows: Rows) -> Iterator[tuple[Any, int, Rows]]:
        """Yield the partitions that hold these rows, which ascend, their first rows, and the positions of the rows."""
        if self.wait_for is not None:
            self.wait_for(rows)
        ends = np.searchsorted(rows, self.offsets)
        for number in np.flatnonzero(np.diff(ends)):
            first = int(self.offsets[number])
            yield self.futures[number], first, (rows[ends[number] : ends[number + 1]] - first).astype(np.uint32)

    def take(self, cluster: Cluster, rows: Rows) -> list[Any]:
        """Have workers take out rows, which ascend; return a future of `LabeledRows` for each partition."""
        return [
            cluster.submit(LabeledRows.take, partition, cluster.pass_rows(positions))
            for partition, _, positions in self.split(rows)
        ]

    def renew_lost(self) -> None:
        """Bring back partitions that went with their worker."""
        if self.renew is not None:
            for number, future in enumerate(self.futures):
                if future.status in ("cancelled", "lost", "error"):
                    self.futures[number] = self.renew(number)

    def release(self) -> None:
        """Let the workers forget the rows, whoever may still hold this object."""
        for future in self.futures:
            future.release()


def scatter_table(pool: TablePool, cluster: Cluster) -> Partitions:
    """Send the rows of a table to the workers, each row to one of them, once."""
    n_parts = max(1, min(len(pool), _PARTITIONS_PER_WORKER * len(cluster.wait_for_workers())))
    bounds = np.linspace(0, len(pool), n_parts + 1).astype(np.int64)

    def send(number: int) -> Any:
        rows = np.arange(bounds[number], bounds[number + 1])
        plain = pool.read(rows)
        part = LabeledRows(plain.X, pool.y.column[rows], plain.row_params)
        workers = cluster.wait_for_workers()
        return cluster.scatter(part, workers[number % len(workers)])

    futures = [send(number) for number in range(n_parts)]
    return Partitions(futures, np.diff(bounds), make_row_layout(pool, list_row_columns(pool)), send)


def join_rows(parts: list[LabeledRows], order: Rows | None = None) -> LabeledRows:
    """Return rows that came in several parts as one, in another order if one is given."""
    joined = LabeledRows(
        concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        {name: np.concatenate([part.row_params[name] for part in parts]) for name in parts[0].row_params},
    )
    return joined if order is None or is_contiguous(order) else joined.take(order)
