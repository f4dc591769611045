"""Rows on a cluster by number, in partitions that its workers hold; a data set is read by them in the background."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import FitwithinError, OutOfTime, UserInputError, shorten_reason
from fitwithin._core.records import Rows
from fitwithin._core.target import Labels
from fitwithin._pools.block_pool import BlockPool, HoldOut
from fitwithin._pools.block_reader import BlockReader
from fitwithin._pools.pool import LabeledRows, TablePool
from fitwithin._pools.target_pass import merge_targets
from fitwithin.backends._dask.cluster import LOOK_SECONDS, Cluster
from fitwithin.backends._dask.collection_parts import WEIGHT, open_parts
from fitwithin.backends._dask.worker_runner import join_rows
from fitwithin.backends._process.row_reader import RowLayout
from fitwithin.backends._process.shared_memory import SharedColumn
from fitwithin.backends._process.shared_rows import list_row_columns, make_row_layout

_PARTITIONS_PER_WORKER = 2
"""Parts of a plain table for each worker, so that a worker that is lost costs half of its share at a time."""

_PAUSE = 1e6
"""Pause after a partition, relative to the time it took: what the learner does not need yet is not read."""


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


class ClusterPool(BlockPool):
    """Rows of a data set on a cluster.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    given : dict
        X, y, sample_weight, groups, X_val and y_val. The workers read the target at once; `start` begins to read the
        rest.
    regression : bool
        Whether the target holds values.
    seed : int
        Makes the order of the rows random.
    budget : Budget
        Ends waiting at the deadline.
    hold_out : callable
        See `HoldOut`.

    Attributes
    ----------
    partitions : Partitions
        The rows that the workers have.
    """

    def __init__(
        self,
        cluster: Cluster,
        given: Mapping[str, Any],
        *,
        regression: bool,
        seed: int,
        budget: Budget,
        hold_out: HoldOut,
    ) -> None:
        parts = open_parts(cluster, given)
        targets = parts.read_targets(regression=regression)
        found = merge_targets(targets, parts.weight, parts.group, regression=regression)
        found = hold_out(found, found.groups if parts.groups is None else parts.groups, parts.n_validation_blocks)
        super().__init__(found, parts.empty, seed, budget, parts)
        self._cluster = cluster
        self._submit = parts.submit
        self._submitted: list[Any] = []
        self._target_hash = f"{found.block_rows.tobytes().hex()} {zlib.crc32(found.target.column.data)}"
        dtype = found.target.column.dtype
        # The values stay on the workers; their stand-in takes no memory.
        is_labels = isinstance(found.target, Labels)
        column = np.zeros(len(self), dtype) if is_labels else np.broadcast_to(np.zeros((), dtype), (len(self),))
        self.y = found.target.with_column(column)
        # Weights lie beside the features.
        self.row_params = {}
        names = () if parts.weight is None else (WEIGHT,)
        columns = [SharedColumn(dtype, ()), *(SharedColumn(np.dtype(np.float64), ()) for _ in names)]
        columns.append(SharedColumn(np.dtype(np.int64), ()))
        if isinstance(parts.empty, np.ndarray):
            columns.append(SharedColumn.from_array(parts.empty))
        layout = RowLayout(tuple(columns), self.y.with_column(column[:0]), names, index=self.index)
        self.partitions = Partitions([], np.diff(self.index.row_starts), layout, wait_for=self.wait_for)
        self._reader = BlockReader(self.supply, self._read_place, _PAUSE, self.partitions.release)

    def read(self, rows: Rows) -> LabeledRows:
        """Bring rows to this program."""
        ascending, order = np.unique(rows, return_inverse=True)
        found = join_rows(self._cluster.client.gather(self.partitions.take(self._cluster, ascending)), order)
        return LabeledRows(found.X, self.y.decode(found.y), found.row_params)

    def describe(self) -> dict[str, str]:
        """Return what must be the same in a resumed fit, by a name for users."""
        return {**super().describe(), "labels": self._target_hash}

    def _read_place(self, place: int) -> None:
        """Wait until a worker has read the rows at a place; others read the next ones meanwhile."""
        n_ahead = len(self._cluster.wait_for_workers())
        for number in range(len(self._submitted), min(place + n_ahead + 1, len(self.index.numbers))):
            self._submitted.append(self._submit(self.make_place(number)))
        part = self._submitted[place]
        find = attrgetter("y") if isinstance(self.y, Labels) else len
        try:
            codes: Any = self._await(self._cluster.submit(find, part))
        except (FitwithinError, OutOfTime):
            raise
        except Exception as error:  # a partition may come from any code of the user's
            # At the end of the session Dask raises errors of its own.
            self._raise_if_over()
            block = self.index.numbers[place]
            raise UserInputError(f"Partition {block} of X could not be read: {shorten_reason(error)}.") from error
        if isinstance(self.y, Labels):
            self.y.codes[self.index.row_starts[place] : self.index.row_starts[place + 1]] = codes
        self.partitions.futures.append(part)

    def _await(self, future: Any) -> Any:
        """Return the result of a task, or raise what it raised; stop waiting when the session ends."""
        # `Future.result` with a time-out breaks off a transfer under way, which fails in Dask on a busy machine.
        arrived = threading.Event()
        future.add_done_callback(lambda _: arrived.set())
        while not arrived.wait(LOOK_SECONDS):
            self._raise_if_over()
        return future.result()

    def _raise_if_over(self) -> None:
        if self.supply.is_over or self._budget.is_spent:
            raise OutOfTime("the data set was still being read")
