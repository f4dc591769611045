"""Rows that the parent shares with the learner's process; each travels at most once.

The parent appends rows to one growing shared map when they are first used. Where all rows have one size, it moves the
training rows to the front, in training order: the learner then reads one contiguous array, and a subset that grows the
last one moves only the new rows. Frames and sparse matrices are appended in blocks.
"""

from __future__ import annotations

import mmap
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.block_pool import DiskPool
from fitwithin._pools.pool import Pool, StackedTable, TablePool, has_fixed_row_size
from fitwithin._pools.tables import take_rows
from fitwithin.backends._process.row_reader import RowBlock, RowLayout, RowPositions, RowSelection
from fitwithin.backends._process.shared_memory import MappedFile, PickledObject, SharedColumn, SharedFile

_MAX_COPY_BYTES = 1 << 20
"""Bytes copied between two checks of the time, about a millisecond, so that copying never makes a session late."""

_UNMAPPED_CHUNKS = 32
"""Chunks that are moved before this process lets go of their pages."""


class SharedRows(ABC):
    """Make rows of a pool readable for the learner's process, in files with a layout."""

    layout: RowLayout
    files: tuple[SharedFile, ...]

    @abstractmethod
    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Share rows, side by side if possible; raise TimeoutError at the deadline."""

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        return self.share_training_rows(rows)

    def close(self) -> None:
        """Close the shared files, and let go of the rows, whoever may still hold this object."""
        for file in self.files:
            file.close()
        vars(self).clear()


def share_rows(pool: Pool, budget: Budget, n_readers: int = 1) -> SharedRows:
    """Return the way to share this pool's rows with processes that read at the same time, until the deadline."""
    if isinstance(pool, DiskPool):
        return SpooledRows(pool)
    if not isinstance(pool, TablePool):
        raise TypeError(
            f"Got a pool of type {type(pool).__name__}; the process backend reads tables only. Use backend='inline'."
        )
    first = pool.X.first if isinstance(pool.X, StackedTable) else pool.X
    found = MappedFile.find(first) if has_fixed_row_size(pool.X) else None
    if found is not None:
        return MappedFileRows(pool, found, budget)
    return (RowMap if n_readers == 1 else AppendOnlyRowMap)(pool, budget)


def list_row_columns(pool: TablePool | DiskPool) -> tuple[Array, ...]:
    """Return what has one entry of one size for each row: target, row_params, and the features of a plain array."""
    features = (pool.X,) if isinstance(pool, TablePool) and has_fixed_row_size(pool.X) else ()
    return (pool.y.column, *pool.row_params.values(), *features)


def make_row_layout(pool: TablePool | DiskPool, columns: Sequence[Array]) -> RowLayout:
    """Return how rows with these columns lie in shared files."""
    shared_columns = tuple(map(SharedColumn.from_array, columns))
    return RowLayout(shared_columns, pool.y.with_column(pool.y.column[:0]), tuple(pool.row_params))


class MappedFileRows(SharedRows):
    """Rows of a file that the learner's process maps; those of a second table without one are copied when used."""

    def __init__(self, pool: TablePool, first: tuple[MappedFile, SharedFile], budget: Budget) -> None:
        self._budget = budget
        self._copied: Array | None = None
        found = [first]
        if isinstance(pool.X, StackedTable):
            found.append(MappedFile.find(pool.X.second) or self._prepare_copy(pool.X.second, len(pool.X.first)))
        tables, files = zip(*found, strict=True)
        *sources, _ = list_row_columns(pool)
        self.layout = replace(make_row_layout(pool, sources), tables=tables)
        self.files = (*(SharedFile() for _ in sources), *files)
        for file, source in zip(self.files, sources, strict=False):
            file.write_rows(source, 0)

    def _prepare_copy(self, table: Array, first: int) -> tuple[MappedFile, SharedFile]:
        """Return a file for a table whose rows are copied as they are used; its first row has this number."""
        file = SharedFile()
        self._copied, self._first_copied = table, first
        self._map = file.map_array(table.shape, table.dtype)
        self._is_shared = np.zeros(len(table), dtype=np.bool_)
        return MappedFile("", 0, table.shape, self._map.strides, table.dtype), file

    def share_training_rows(self, rows: Rows) -> RowSelection:
        if self._copied is not None:
            places = rows[rows >= self._first_copied] - self._first_copied
            places = places[~self._is_shared[places]]
            for _, chunk in _split_chunks(places, SharedColumn.from_array(self._copied).row_bytes, self._budget):
                self._map[chunk] = self._copied[chunk]
                self._is_shared[chunk] = True
        return RowSelection(rows)


class RowMap(SharedRows):
    """Rows of a table in memory, appended to a growing shared map as they are used."""

    def __init__(self, pool: TablePool, budget: Budget) -> None:
        self._budget = budget
        self._table = pool.X
        self._sources = list_row_columns(pool)
        self.layout = make_row_layout(pool, self._sources)
        columns = self.layout.columns
        is_plain = has_fixed_row_size(pool.X)
        self.files = tuple(SharedFile() for _ in range(len(columns) + (not is_plain)))
        self._blocks = None if is_plain else BlockFile(budget, self.files[-1])
        pairs = zip(self.files, self._sources, strict=False)
        self._maps = [file.map_array(source.shape, source.dtype) for file, source in pairs]
        self._row_bytes = sum(column.row_bytes for column in columns)
        self._positions = RowPositions(len(pool))
        # Zeroed memory costs nothing until it is written, and positions are written from the front.
        self._row_at: Rows = np.zeros(len(pool), dtype=np.int32 if len(pool) < 2**31 else np.int64)
        self.n_appended = 0

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Move these rows to the front of the map, in their order, if they are distinct and plain."""
        self._append(rows)
        present = np.zeros(self.n_appended, dtype=np.bool_)
        present[self._positions.find(rows)] = True
        if self._blocks is not None or np.count_nonzero(present) < len(rows):
            return self._select(rows)
        misplaced = np.flatnonzero(self._row_at[: len(rows)] != rows)
        chunks = _split_chunks(rows, self._row_bytes, self._budget, int(next(iter(misplaced), len(rows))))
        for number, (start, chunk) in enumerate(chunks, 1):
            self._swap_in(chunk, start)
            if number % _UNMAPPED_CHUNKS == 0:
                self._unmap_pages()
        self._unmap_pages()
        return RowSelection(range(len(rows)))

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        self._append(rows)
        return self._select(rows)

    def _select(self, rows: Rows) -> RowSelection:
        blocks = () if self._blocks is None else tuple(self._blocks.blocks)
        return RowSelection.from_positions(self._positions.find(rows), blocks)

    def _append(self, rows: Rows) -> None:
        new = self._positions.find_new(rows)
        first, self.n_appended = self.n_appended, self.n_appended + len(new)
        self._write(new, first)

    def _write(self, rows: Rows, first: int) -> None:
        """Write rows that are new into the map, from position `first` on."""
        if self._blocks is not None and len(rows):
            self._blocks.append(take_rows(self._table, rows), first)
        for start, chunk in _split_chunks(rows, self._row_bytes, self._budget):
            for file, source in zip(self.files, self._sources, strict=False):
                file.write_rows(source[chunk], first + start)
        self._set_positions(rows, np.arange(first, first + len(rows)))

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
        """Let go of the pages that this process has touched: at the deadline that would take 0.14 s for 3.8 GB."""
        for shared in self._maps:
            if isinstance(shared.base, mmap.mmap):
                shared.base.madvise(mmap.MADV_DONTNEED)

    def _set_positions(self, rows: Rows, positions: Rows) -> None:
        self._positions.set(rows, positions)
        self._row_at[positions] = rows


class AppendOnlyRowMap(RowMap):
    """Rows that never move, for learners' processes that read at the same time; subsets of one order are prefixes."""

    def __init__(self, pool: TablePool, budget: Budget) -> None:
        super().__init__(pool, budget)
        self._lock = threading.Lock()
        # One more than the last free position: rows that are only examined lie behind it.
        self._free_end = len(pool)

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Append the rows that are new after the training rows before, in their order."""
        with self._lock:
            self._append(rows)
            return self._select(rows)

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        """Append the rows that are new before those that were only examined."""
        with self._lock:
            new = self._positions.find_new(rows)
            self._free_end -= len(new)
            self._write(new, self._free_end)
            return self._select(rows)


class BlockFile:
    """Parts of a table whose rows differ in size, pickled one after the other into a file, until the deadline."""

    def __init__(self, budget: Budget, file: SharedFile) -> None:
        self._budget = budget
        self._file = file
        self.blocks: list[RowBlock] = []
        self._end = 0

    def append(self, part: Any, first: int) -> None:
        """Append a part of the table, whose rows get the positions from `first` on."""
        self._budget.raise_if_spent()
        offset = self._end
        self._end = PickledObject(part).write(self._file.fd, offset, self._budget.raise_if_spent)
        self.blocks.append(RowBlock(offset, first, part.shape[0]))


def _split_chunks(rows: Rows, row_bytes: int, budget: Budget, start: int = 0) -> Iterator[tuple[int, Rows]]:
    """Yield the rows from `start` on in chunks, with their places; raise TimeoutError at the deadline."""
    chunk_rows = max(1, _MAX_COPY_BYTES // max(1, row_bytes))
    for first in range(start, len(rows), chunk_rows):
        budget.raise_if_spent()
        yield first, rows[first : first + chunk_rows]


class SpooledRows(SharedRows):
    """Rows of a data set on disk, which the learner's process reads itself; whoever opened the pool closes it."""

    def __init__(self, pool: DiskPool) -> None:
        self._pool = pool
        self.layout = replace(make_row_layout(pool, list_row_columns(pool)), spool=pool.layout, index=pool.index)
        self.files = tuple(SharedFile(os.dup(file)) for file in pool.spool.files.values())

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Wait until these rows have been read; raise TimeoutError at the deadline."""
        self._pool.wait_for(rows)
        return RowSelection(rows, tuple(self._pool.spool.bounds))
