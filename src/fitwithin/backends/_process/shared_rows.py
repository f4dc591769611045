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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Target
from fitwithin._pools.pool import LabeledRows, Pool
from fitwithin._pools.table_pool import StackedTable, TablePool, has_fixed_row_size
from fitwithin._pools.tables import concatenate, is_contiguous, take_rows
from fitwithin.backends._model_runner import rows_per_piece, split_exam
from fitwithin.backends._process.mapped_file import MappedFile
from fitwithin.backends._process.row_positions import RowPositions
from fitwithin.backends._process.shared_memory import (
    SharedColumn,
    SharedFile,
    create_files,
    dump_pickle,
    load_pickle,
    unmap_pages,
)

_MAX_COPY_BYTES = 1 << 20
"""Bytes copied between two checks of the time, about a millisecond, so that copying never makes a session late."""

_UNMAPPED_CHUNKS = 32
"""Chunks that are moved before this process lets go of their pages."""


# How the rows lie in the shared files.


@dataclass(frozen=True)
class RowBlock:
    """A part of a table, pickled at `offset` of the block file; it fills `n_rows` positions from `first` on."""

    offset: int
    first: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class RowRange:
    """Rows at consecutive positions."""

    start: int
    stop: int
    blocks: tuple[RowBlock, ...] = ()

    def __len__(self) -> int:
        return self.stop - self.start

    def take(self, piece: slice) -> RowRange:
        """Return some of these rows."""
        return RowRange(self.start + piece.start, self.start + piece.stop, self.blocks)

    @property
    def index(self) -> slice:
        """Index into a shared column."""
        return slice(self.start, self.stop)

    @property
    def positions(self) -> Rows:
        """Position of each row."""
        return np.arange(self.start, self.stop)


@dataclass(frozen=True, eq=False)
class RowIndices:
    """Rows at any positions, in any order."""

    positions: Rows
    blocks: tuple[RowBlock, ...] = ()

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, piece: slice) -> RowIndices:
        """Return some of these rows."""
        return RowIndices(self.positions[piece], self.blocks)

    @property
    def index(self) -> Rows:
        """Index into a shared column."""
        return self.positions

    @property
    def stop(self) -> int:
        """One more than the last position."""
        return int(self.positions.max(initial=-1)) + 1


RowSelection = RowRange | RowIndices
"""Where the rows of a fit or an exam lie."""


@dataclass(frozen=True, eq=False)
class RowLayout:
    """What a learner's process must know to read the shared files.

    Parameters
    ----------
    columns : tuple of SharedColumn
        One for each shared file: the target, the row_params, and the features if they are a plain array.
    target : Target
        Decodes the first column; holds no rows itself.
    row_params : tuple of str
        Names of the columns after the target.
    mapped_file : MappedFile or None
        The features' own file, if they have one.
    second_table : MappedFile, SharedColumn or None
        The features of a `StackedTable`'s second table, if the first has its own file: another file of its own, or
        the shared file after those of the columns.
    """

    columns: tuple[SharedColumn, ...]
    target: Target
    row_params: tuple[str, ...]
    mapped_file: MappedFile | None = None
    second_table: MappedFile | SharedColumn | None = None


# The parent's side.


class SharedRows(Protocol):
    """Make rows of a pool readable for the learner's process."""

    layout: RowLayout
    files: tuple[SharedFile, ...]

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Share rows, side by side if possible; raise TimeoutError at the deadline."""
        ...

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        """Share rows; raise TimeoutError at the deadline."""
        ...

    def close(self) -> None:
        """Close the shared files."""
        ...


def share_rows(pool: Pool, budget: Budget, folder: str | None = None, n_readers: int = 1) -> SharedRows:
    """Return the way to share this pool's rows.

    Parameters
    ----------
    pool : Pool
        The rows.
    budget : Budget
        Ends copying at the deadline.
    folder : str, optional
        Where to put the files; see `SharedFile.create`.
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
        return MappedFileRows(pool, file, budget, folder)
    return (RowMap if n_readers == 1 else AppendOnlyRowMap)(pool, budget, folder)


class MappedFileRows:
    """Rows of a file that the learner's process maps itself; only the target and the row_params are copied.

    A second table of the pool is mapped too if it has a file; otherwise its rows are copied as they are used.
    """

    def __init__(self, pool: TablePool, file: MappedFile, budget: Budget, folder: str | None = None) -> None:
        sources = (pool.y.column, *pool.row_params.values())
        columns = tuple(map(SharedColumn.from_array, sources))
        second = pool.X.second if isinstance(pool.X, StackedTable) else None
        second_table = None if second is None else MappedFile.find(second) or SharedColumn.from_array(second)
        copied = second if isinstance(second_table, SharedColumn) else None
        self.layout = RowLayout(columns, pool.y.without_rows(), tuple(pool.row_params), file, second_table)
        n_files = len(sources) + (copied is not None)
        self.files = create_files(n_files, folder, sum(source.nbytes for source in sources))
        self._copy: _CopiedRows | None = None
        try:
            for shared_file, source in zip(self.files, sources, strict=False):
                shared_file.write_rows(source, 0)
            if copied is not None:
                self._copy = _CopiedRows(copied, len(pool) - len(copied), budget, self.files[-1])
        except BaseException:
            _close_all(self.files)
            raise

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Return the rows' positions in the file."""
        if self._copy is not None:
            self._copy.share(rows)
        return RowIndices(rows)

    share_exam_rows = share_training_rows

    def close(self) -> None:
        """Close the shared files."""
        _close_all(self.files)
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


class RowMap:
    """Rows of a table in memory, appended to a growing shared map as they are used."""

    def __init__(self, pool: TablePool, budget: Budget, folder: str | None = None) -> None:
        self._budget = budget
        is_plain = has_fixed_row_size(pool.X)
        self._sources: tuple[Array, ...] = (pool.y.column, *pool.row_params.values(), *((pool.X,) if is_plain else ()))
        columns = tuple(map(SharedColumn.from_array, self._sources))
        self.layout = RowLayout(columns, pool.y.without_rows(), tuple(pool.row_params))
        n_bytes = sum(source.nbytes for source in self._sources)
        self.files = create_files(len(columns) + (not is_plain), folder, n_bytes)
        self._column_files = self.files[: len(columns)]
        self._blocks = None if is_plain else _BlockFile(pool.X, budget, self.files[-1])
        try:
            self._maps = [
                file.map_array(source.shape, source.dtype)
                for file, source in zip(self._column_files, self._sources, strict=True)
            ]
        except BaseException:
            _close_all(self.files)
            raise
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
        return RowRange(0, len(rows))

    def share_exam_rows(self, rows: Rows) -> RowSelection:
        """Append the rows that are new."""
        self._append(self._find_new(rows))
        return self._select(rows)

    def close(self) -> None:
        """Close the shared files, and let go of the rows, whoever may still hold this object."""
        _close_all(self.files)
        self._maps, self._sources, self._blocks = [], (), None
        self._positions, self._row_at = RowPositions(0), np.zeros(0, dtype=self._row_at.dtype)

    def _find_new(self, rows: Rows) -> Rows:
        """Return the rows that are not in the map yet."""
        return rows[self._positions.find(rows) < 0]

    def _select(self, rows: Rows) -> RowSelection:
        positions = self._positions.find(rows)
        blocks = () if self._blocks is None else tuple(self._blocks.blocks)
        start = int(positions[0])
        if is_contiguous(positions):
            return RowRange(start, start + len(positions), blocks)
        return RowIndices(positions, blocks)

    def _are_distinct(self, rows: Rows) -> bool:
        present = np.zeros(self.n_appended, dtype=np.bool_)
        present[self._positions.find(rows)] = True
        return int(np.count_nonzero(present)) == len(rows)

    def _has_duplicates(self, rows: Rows) -> bool:
        """Whether a row that is not in the map yet occurs twice; overwrites the positions, which `_write` sets."""
        numbers = np.arange(len(rows))
        self._positions.set(rows, numbers)
        return not np.array_equal(self._positions.find(rows), numbers)

    def _append(self, rows: Rows) -> None:
        rows = self._drop_duplicates(rows)
        first, self.n_appended = self.n_appended, self.n_appended + len(rows)
        self._insert(rows, first)

    def _drop_duplicates(self, rows: Rows) -> Rows:
        return np.unique(rows) if self._has_duplicates(rows) else rows

    def _insert(self, rows: Rows, first: int) -> None:
        """Write rows that are new from position `first` on."""
        if self._blocks is not None and len(rows):
            self._blocks.append(rows, first)
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

    def __init__(self, pool: TablePool, budget: Budget, folder: str | None = None) -> None:
        super().__init__(pool, budget, folder)
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


class _BlockFile:
    """Parts of a table whose rows differ in size, pickled one after the other into a file."""

    def __init__(self, X: Any, budget: Budget, file: SharedFile) -> None:
        self._X = X
        self._budget = budget
        self._file = file
        self.blocks: list[RowBlock] = []
        self._end = 0

    def append(self, rows: Rows, first: int) -> None:
        self._budget.raise_if_spent()
        part = take_rows(self._X, rows)
        self._budget.raise_if_spent()
        offset = self._end
        self._end, _ = dump_pickle(part, self._file.fd, offset, self._budget.raise_if_spent)
        self.blocks.append(RowBlock(offset, first, len(rows)))


def _close_all(files: tuple[SharedFile, ...]) -> None:
    for file in files:
        file.close()


def _common_prefix(left: Rows, right: Rows) -> int:
    differs = left != right
    return int(differs.argmax()) if differs.any() else len(right)


# The learner's side.


class RowReader:
    """Read shared rows in the learner's process.

    Parameters
    ----------
    layout : RowLayout
        How the rows lie in the files.
    files : tuple of int
        Descriptors of the shared files.
    """

    def __init__(self, layout: RowLayout, files: tuple[int, ...]) -> None:
        self._layout = layout
        self._files = files
        self._mapped = self._open_mapped()

    def read(self, selection: RowSelection) -> LabeledRows:
        """Return the selected rows; whatever the learner writes into them, the next reading sees the pool's."""
        return self._read(selection, _LoadedBlocks(self._files))

    def _read(self, selection: RowSelection, blocks: _LoadedBlocks) -> LabeledRows:
        columns = [
            column.open(file, selection.stop)[selection.index]
            for column, file in zip(self._layout.columns, self._files, strict=False)
        ]
        target, *others = columns
        row_params = dict(zip(self._layout.row_params, others, strict=False))
        return LabeledRows(self._features(selection, columns, blocks), self._layout.target.decode(target), row_params)

    def read_in_pieces(self, selection: RowSelection, seconds: float | None = None) -> Iterator[LabeledRows]:
        """Yield the selected rows piece by piece; a range at once if there is time, because that copies nothing."""
        n_rows = len(selection)
        size = n_rows if isinstance(selection, RowRange) else rows_per_piece(self._row_bytes())
        blocks = _LoadedBlocks(self._files)
        for piece in split_exam(n_rows, size, seconds):
            yield self._read(selection.take(piece), blocks)

    def _open_mapped(self) -> Any:
        """Map the features that have a file of their own; None if they have none."""
        layout = self._layout
        if layout.mapped_file is None:
            return None
        first = layout.mapped_file.open()
        if layout.second_table is None:
            return first
        if isinstance(layout.second_table, MappedFile):
            return StackedTable(first, layout.second_table.open())
        file = self._files[len(layout.columns)]
        n_rows = os.fstat(file).st_size // max(1, layout.second_table.row_bytes)
        return StackedTable(first, layout.second_table.open(file, n_rows))

    def _row_bytes(self) -> int:
        if self._mapped is not None:
            return SharedColumn.from_array(self._mapped).row_bytes
        return sum(column.row_bytes for column in self._layout.columns)

    def _features(self, selection: RowSelection, columns: list[Array], blocks: _LoadedBlocks) -> Any:
        if self._mapped is not None:
            return self._mapped[selection.index]
        return blocks.read(selection) if selection.blocks else columns[-1]


class _LoadedBlocks:
    """Blocks of a table, loaded once for all pieces of one exam, or for one fit.

    They are not kept for longer: a learner may have written into them.
    """

    def __init__(self, files: tuple[int, ...]) -> None:
        self._files = files
        self._tables: dict[int, Any] = {}

    def read(self, selection: RowSelection) -> Any:
        """Return the selected rows as one table."""
        positions = selection.positions
        parts, found = [], []
        for block in selection.blocks:
            here = np.flatnonzero((positions >= block.first) & (positions < block.first + block.n_rows))
            if len(here):
                parts.append(self._take(block, positions[here] - block.first))
                found.append(here)
        order = np.concatenate(found)
        table = concatenate(parts)
        return table if is_contiguous(order) else take_rows(table, np.argsort(order))

    def _take(self, block: RowBlock, rows: Rows) -> Any:
        if block.offset not in self._tables:
            self._tables[block.offset] = load_pickle(self._files[-1], block.offset)
        table = self._tables[block.offset]
        return table if np.array_equal(rows, np.arange(block.n_rows)) else take_rows(table, rows)
