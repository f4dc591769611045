"""Rows that the parent shares with the learner's process; each travels at most once.

The parent appends rows to one growing shared map when they are first used. Where all rows have one
size, it moves the training rows to the front of the map, in training order: the learner then reads
one contiguous array, and a subset that grows the last one moves only the new rows. Frames and sparse
matrices are appended in blocks. The learner's process maps a `numpy.memmap` itself, without a copy.

If several learners read at the same time, no row may move: training rows are appended from the front
of the map, and rows that are only examined from its end. Subsets that grow one order are prefixes of
the map, and contiguous; all rows of the pool are the whole map. A learner gathers the rows of any other.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.block_pool import DiskPool
from fitwithin._pools.pool import Pool, StackedTable, TablePool, has_fixed_row_size
from fitwithin._pools.tables import take_rows
from fitwithin.backends._process.row_reader import RowBlock, RowLayout, RowPositions, RowSelection
from fitwithin.backends._process.shared_memory import (
    MappedFile,
    SharedColumn,
    SharedFile,
    create_files,
    dump_pickle,
    unmap_pages,
)

_MAX_COPY_BYTES = 1 << 20
"""Bytes copied between two checks of the time, about a millisecond, so that copying never makes a session late."""

_UNMAPPED_CHUNKS = 32
"""Chunks that are moved before this process lets go of their pages."""


class SharedRows(ABC):
    """Make rows of a pool readable for the learner's process.

    Attributes
    ----------
    layout : RowLayout
        How the rows lie in the files.
    files : tuple of SharedFile
        The shared files.
    """

    layout: RowLayout
    files: tuple[SharedFile, ...]

    @abstractmethod
    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Share rows, side by side if possible; raise TimeoutError at the deadline."""

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        """Share rows; raise TimeoutError at the deadline."""
        return self.share_training_rows(rows)

    def close(self) -> None:
        """Close the shared files."""
        for file in self.files:
            file.close()


def share_rows(pool: Pool, budget: Budget, n_readers: int = 1) -> SharedRows:
    """Return the way to share this pool's rows.

    Parameters
    ----------
    pool : Pool
        The rows.
    budget : Budget
        Ends copying at the deadline.
    n_readers : int, default=1
        Learners' processes that read at the same time.
    """
    if not isinstance(pool, TablePool):
        raise TypeError(
            f"Got a pool of type {type(pool).__name__}; the process backend reads tables only. Use backend='inline'."
        )
    first = pool.X.first if isinstance(pool.X, StackedTable) else pool.X
    file = MappedFile.find(first) if has_fixed_row_size(pool.X) else None
    if file is not None:
        return MappedFileRows(pool, file, budget)
    return (RowMap if n_readers == 1 else AppendOnlyRowMap)(pool, budget)


def list_row_columns(pool: TablePool) -> tuple[Array, ...]:
    """Return what has one entry of one size for each row: target, row_params, and the features of a plain array."""
    return (pool.y.column, *pool.row_params.values(), *((pool.X,) if has_fixed_row_size(pool.X) else ()))


def make_row_layout(pool: TablePool) -> RowLayout:
    """Return how rows with these columns lie in shared files."""
    columns = tuple(map(SharedColumn.from_array, list_row_columns(pool)))
    return RowLayout(columns, pool.y.without_rows(), tuple(pool.row_params))


class MappedFileRows(SharedRows):
    """Rows of a file that the learner's process maps itself; only the target and the row_params are copied.

    A second table of the pool is mapped too if it has a file; otherwise its rows are copied as they are used.
    """

    def __init__(self, pool: TablePool, file: MappedFile, budget: Budget) -> None:
        sources = (pool.y.column, *pool.row_params.values())
        columns = tuple(map(SharedColumn.from_array, sources))
        second = pool.X.second if isinstance(pool.X, StackedTable) else None
        second_table = None if second is None else MappedFile.find(second) or SharedColumn.from_array(second)
        copied = second if isinstance(second_table, SharedColumn) else None
        self.layout = RowLayout(columns, pool.y.without_rows(), tuple(pool.row_params), file, second_table)
        self.files = create_files(len(sources) + (copied is not None))
        for shared_file, source in zip(self.files, sources, strict=False):
            shared_file.write_rows(source, 0)
        self._copy: _CopiedRows | None = None
        if copied is not None:
            self._copy = _CopiedRows(copied, len(pool) - len(copied), budget, self.files[-1])

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Return the rows' positions in the file."""
        if self._copy is not None:
            self._copy.share(rows)
        return RowSelection(rows)

    def close(self) -> None:
        """Close the shared files."""
        super().close()
        self._copy = None


class _CopiedRows:
    """Rows of an array, copied to the same places of a shared file as they are used.

    Parameters
    ----------
    source : array
        The rows.
    first : int
        Row number in the pool of the first of them.
    budget : Budget
        Ends copying at the deadline.
    file : SharedFile
        Where to copy them.
    """

    def __init__(self, source: Array, first: int, budget: Budget, file: SharedFile) -> None:
        self._source = source
        self._first = first
        self._budget = budget
        self._map = file.map_array(source.shape, source.dtype)
        self._is_shared = np.zeros(len(source), dtype=np.bool_)
        self._chunk_rows = max(1, _MAX_COPY_BYTES // max(1, SharedColumn.from_array(source).row_bytes))

    def share(self, rows: Rows) -> None:
        """Copy those of the rows that are new; raise TimeoutError at the deadline."""
        places = rows[rows >= self._first] - self._first
        places = places[~self._is_shared[places]]
        for start in range(0, len(places), self._chunk_rows):
            self._budget.raise_if_spent()
            chunk = places[start : start + self._chunk_rows]
            self._map[chunk] = self._source[chunk]
            self._is_shared[chunk] = True


class RowMap(SharedRows):
    """Rows of a table in memory, appended to a growing shared map as they are used."""

    def __init__(self, pool: TablePool, budget: Budget) -> None:
        self._budget = budget
        self._table = pool.X
        self._sources = list_row_columns(pool)
        self.layout = make_row_layout(pool)
        columns = self.layout.columns
        is_plain = has_fixed_row_size(pool.X)
        self.files = create_files(len(columns) + (not is_plain))
        self._column_files = self.files[: len(columns)]
        self._blocks = None if is_plain else BlockFile(budget, self.files[-1])
        self._maps = [
            file.map_array(source.shape, source.dtype)
            for file, source in zip(self._column_files, self._sources, strict=True)
        ]
        self._chunk_rows = max(1, _MAX_COPY_BYTES // max(1, sum(column.row_bytes for column in columns)))
        self._positions = RowPositions(len(pool))
        # Zeroed memory costs nothing until it is written, and positions are written from the front.
        self._row_at: Rows = np.zeros(len(pool), dtype=np.int32 if len(pool) < 2**31 else np.int64)
        self.n_appended = 0

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Move these rows to the front of the map, in their order, if they are distinct and plain."""
        self._append(self._find_new(rows))
        if self._blocks is not None or not self._are_distinct(rows):
            return self._select(rows)
        n_in_place = _common_prefix(self._row_at[: len(rows)], rows)
        for number, (start, stop) in enumerate(self._chunks(n_in_place, len(rows)), 1):
            self._swap_in(rows[start:stop], start)
            if number % _UNMAPPED_CHUNKS == 0:
                self._unmap_pages()
        self._unmap_pages()
        return RowSelection(slice(0, len(rows)))

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        """Append the rows that are new."""
        self._append(self._find_new(rows))
        return self._select(rows)

    def close(self) -> None:
        """Close the shared files, and let go of the rows, whoever may still hold this object."""
        super().close()
        self._maps, self._sources, self._blocks, self._table = [], (), None, None
        self._positions, self._row_at = RowPositions(0), np.zeros(0, dtype=self._row_at.dtype)

    def _find_new(self, rows: Rows) -> Rows:
        """Return the rows that are not in the map yet."""
        return rows[self._positions.find(rows) < 0]

    def _select(self, rows: Rows) -> RowSelection:
        blocks = () if self._blocks is None else tuple(self._blocks.blocks)
        return RowSelection.from_positions(self._positions.find(rows), blocks)

    def _are_distinct(self, rows: Rows) -> bool:
        present = np.zeros(self.n_appended, dtype=np.bool_)
        present[self._positions.find(rows)] = True
        return int(np.count_nonzero(present)) == len(rows)

    def _append(self, rows: Rows) -> None:
        rows = self._drop_duplicates(rows)
        first, self.n_appended = self.n_appended, self.n_appended + len(rows)
        self._insert(rows, first)

    def _drop_duplicates(self, rows: Rows) -> Rows:
        """Return rows that are not in the map yet, each once; sets their positions, which `_write` sets anew."""
        numbers = np.arange(len(rows), dtype=self._row_at.dtype)
        self._positions.set(rows, numbers)
        return rows if np.array_equal(self._positions.find(rows), numbers) else np.unique(rows)

    def _insert(self, rows: Rows, first: int) -> None:
        """Write rows that are new from position `first` on."""
        if self._blocks is not None and len(rows):
            self._budget.raise_if_spent()
            self._blocks.append(take_rows(self._table, rows), first)
        self._write(rows, first)

    def _write(self, rows: Rows, first: int) -> None:
        """Write rows into the map, from position `first` on."""
        for start, stop in self._chunks(0, len(rows)):
            chunk = rows[start:stop]
            for file, source in zip(self._column_files, self._sources, strict=True):
                file.write_rows(source[chunk], first + start)
            self._set_positions(chunk, np.arange(first + start, first + stop))

    def _swap_in(self, rows: Rows, start: int) -> None:
        """Move rows to positions from `start` on; the rows that lay there take the vacated positions."""
        target = np.arange(start, start + len(rows))
        origin = self._positions.find(rows).astype(np.intp)
        stays = np.zeros(len(rows), dtype=np.bool_)
        inside = (origin >= start) & (origin < start + len(rows))
        stays[origin[inside] - start] = True
        displaced, vacated = target[~stays], origin[~inside]
        displaced_rows = self._row_at[displaced]
        for shared in self._maps:
            arriving, leaving = shared[origin], shared[displaced]
            shared[vacated] = leaving
            shared[target] = arriving
        self._set_positions(displaced_rows, vacated)
        self._set_positions(rows, target)

    def _unmap_pages(self) -> None:
        """Let go of the pages that this process has touched; their content stays in the files.

        Otherwise they would be let go of at the deadline, all at once: 0.14 s for 3.8 GB.
        """
        for shared in self._maps:
            unmap_pages(shared)

    def _chunks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        for first in range(start, stop, self._chunk_rows):
            self._budget.raise_if_spent()
            yield first, min(first + self._chunk_rows, stop)

    def _set_positions(self, rows: Rows, positions: Rows) -> None:
        self._positions.set(rows, positions)
        self._row_at[positions] = rows


class AppendOnlyRowMap(RowMap):
    """Rows that never move, for several learners' processes that read at the same time.

    Its methods may be called by several threads.
    """

    def __init__(self, pool: TablePool, budget: Budget) -> None:
        super().__init__(pool, budget)
        self._lock = threading.Lock()
        # One more than the last free position: rows that are only examined lie behind it.
        self._free_end = len(pool)

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Append the rows that are new after the training rows before, in their order."""
        with self._lock:
            self._append(self._find_new(rows))
            return self._select(rows)

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        """Append the rows that are new before those that were only examined."""
        with self._lock:
            new = self._drop_duplicates(self._find_new(rows))
            self._free_end -= len(new)
            self._insert(new, self._free_end)
            return self._select(rows)


class BlockFile:
    """Parts of a table whose rows differ in size, pickled one after the other into a file.

    Parameters
    ----------
    budget : Budget
        Ends writing at the deadline.
    file : SharedFile
        The file.

    Attributes
    ----------
    blocks : list of RowBlock
        Where the parts lie.
    """

    def __init__(self, budget: Budget, file: SharedFile) -> None:
        self._budget = budget
        self._file = file
        self.blocks: list[RowBlock] = []
        self._end = 0

    def append(self, part: Any, first: int) -> None:
        """Append a part of the table, whose rows get the positions from `first` on."""
        self._budget.raise_if_spent()
        offset = self._end
        self._end = dump_pickle(part, self._file.fd, offset, self._budget.raise_if_spent)
        self.blocks.append(RowBlock(offset, first, part.shape[0]))


def _common_prefix(left: Rows, right: Rows) -> int:
    differs = left != right
    return int(differs.argmax()) if differs.any() else len(right)


class SpooledRows(SharedRows):
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
            index=pool.index,
        )
        self.files = tuple(SharedFile(os.dup(file)) for file in pool.spool.files.values())

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Wait until these rows have been read; raise TimeoutError at the deadline."""
        self._pool.wait_for(rows)
        return RowSelection(rows, tuple(self._pool.spool.bounds))
