"""Rows on their way to a learner's process: each travels at most once.

Rows that are taught or examined are appended to one growing shared map. Where they are all of one
size, a lesson's rows are moved to the front of the map first, in the lesson's order, so that the
learner sees one contiguous array: a lesson that grows the last one moves only what is new. Frames and
sparse matrices are appended in blocks. A `numpy.memmap` is mapped by the learner's process itself
and not copied at all.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Rows
from fitwithin._core.tables import concatenate, has_fixed_row_size, take_rows
from fitwithin._core.target import Array, Target
from fitwithin._pools import LabeledRows, Pool, TablePool
from fitwithin.backends._process.shared_memory import SharedFile, load, private_view, store

_CHUNK_BYTES = 1 << 20


class SharedRows(Protocol):
    """The rows of a pool on their way to a learner's process."""

    layout: Layout
    files: tuple[SharedFile, ...]

    def lesson(self, rows: Rows) -> Place:
        """Make these rows readable, side by side if that can be done; raises TimeoutError at the deadline."""
        ...

    def exam(self, rows: Rows) -> Place:
        """Make these rows readable; raises TimeoutError at the deadline."""
        ...

    def close(self) -> None:
        """Let go of the shared files."""
        ...


def share(pool: Pool, budget: Budget, folder: str | None = None) -> SharedRows:
    """The right way to bring this pool's rows to another process."""
    if not isinstance(pool, TablePool):
        raise TypeError(f"The process backend reads tables; got {type(pool).__name__}. Use backend='inline'.")
    source = mapped_file(pool.X) if has_fixed_row_size(pool.X) else None
    return FileRows(pool, source, folder) if source is not None else RowMap(pool, budget, folder)


class RowMap:
    """Rows of a table in memory, appended to a growing shared map as they are used."""

    def __init__(self, pool: TablePool, budget: Budget, folder: str | None = None) -> None:
        self._budget = budget
        self._blocks = None if has_fixed_row_size(pool.X) else _BlockFile(pool.X, budget, folder)
        self._sources = (pool.y.column, *pool.extras.values(), *(() if self._blocks else (pool.X,)))
        columns = tuple(map(Column.of, self._sources))
        self.layout = Layout(columns, pool.y.without_rows(), tuple(pool.extras))
        self._columns = tuple(SharedFile(folder) for _ in columns)
        self.files = (*self._columns, *((self._blocks.file,) if self._blocks else ()))
        self._maps = [
            file.view(source.shape, source.dtype) for file, source in zip(self._columns, self._sources, strict=True)
        ]
        self._chunk = max(1, _CHUNK_BYTES // max(1, sum(column.row_bytes for column in columns)))
        # One more than the position in the map, so that memory which nobody wrote means "not there".
        self._spot: Rows = np.zeros(len(pool), dtype=np.int32 if len(pool) < 2**31 - 1 else np.int64)
        self._row: Rows = np.zeros(len(pool), dtype=self._spot.dtype)
        self.length = 0

    def lesson(self, rows: Rows) -> Place:
        """Move these rows to the front of the map, in their order, if they can be moved."""
        self._append(rows[self._spot[rows] == 0])
        if self._blocks is not None or not self._distinct(rows):
            return self._place(rows)
        settled = _common_prefix(self._row[: len(rows)], rows)
        for start, stop in self._chunks(settled, len(rows)):
            self._swap_in(rows[start:stop], start)
        return Span(0, len(rows))

    def exam(self, rows: Rows) -> Place:
        """Append the rows that are new; they lie side by side if all are."""
        self._append(rows[self._spot[rows] == 0])
        return self._place(rows)

    def close(self) -> None:
        """Let go of the shared files."""
        for file in self.files:
            file.close()

    def _place(self, rows: Rows) -> Place:
        at: Rows = self._spot[rows] - 1
        blocks = () if self._blocks is None else tuple(self._blocks.blocks)
        start = int(at[0])
        if int(at[-1]) - start == len(at) - 1 and bool((np.diff(at) == 1).all()):
            return Span(start, start + len(at), blocks)
        return Spots(at, blocks)

    def _distinct(self, rows: Rows) -> bool:
        there = np.zeros(self.length + 1, dtype=np.bool_)
        there[self._spot[rows]] = True
        return int(np.count_nonzero(there)) == len(rows)

    def _repeat_themselves(self, rows: Rows) -> bool:
        """Whether a row that is not in the map yet comes twice."""
        numbers = np.arange(1, len(rows) + 1, dtype=self._spot.dtype)
        self._spot[rows] = numbers
        return not np.array_equal(self._spot[rows], numbers)

    def _append(self, rows: Rows) -> None:
        if self._repeat_themselves(rows):
            rows = np.unique(rows)
        if self._blocks is not None and len(rows):
            self._blocks.append(rows, self.length)
        first, self.length = self.length, self.length + len(rows)
        self._write(rows, first)

    def _write(self, rows: Rows, first: int) -> None:
        """Write rows into the map, from this place on."""
        for start, stop in self._chunks(0, len(rows)):
            chunk = rows[start:stop]
            for file, source in zip(self._columns, self._sources, strict=True):
                file.put(source[chunk], first + start)
            self._settle(chunk, np.arange(first + start, first + stop))

    def _swap_in(self, rows: Rows, start: int) -> None:
        """Put these rows at `start`; the rows that lay there go where these come from."""
        target = np.arange(start, start + len(rows))
        origin = self._spot[rows].astype(np.intp) - 1
        stays = np.zeros(len(rows), dtype=np.bool_)
        inside = (origin >= start) & (origin < start + len(rows))
        stays[origin[inside] - start] = True
        displaced, vacant = target[~stays], origin[~inside]
        leaving = self._row[displaced]
        for shared in self._maps:
            arriving, making_room = shared[origin], shared[displaced]
            shared[vacant] = making_room
            shared[target] = arriving
        self._settle(leaving, vacant)
        self._settle(rows, target)

    def _chunks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Pieces so small that copying one never makes the session late."""
        for first in range(start, stop, self._chunk):
            if self._budget.spent:
                raise TimeoutError
            yield first, min(first + self._chunk, stop)

    def _settle(self, rows: Rows, spots: Rows) -> None:
        self._spot[rows] = spots + 1
        self._row[spots] = rows


class _BlockFile:
    """Parts of a table whose rows are not all of one size, pickled one after the other into a file."""

    def __init__(self, X: Any, budget: Budget, folder: str | None) -> None:
        self._X = X
        self._budget = budget
        self.file = SharedFile(folder)
        self.blocks: list[Block] = []
        self._end = 0

    def append(self, rows: Rows, first: int) -> None:
        self._check_time()
        part = take_rows(self._X, rows)
        self._check_time()
        offset = self._end
        self._end, _ = store(part, self.file.fd, offset, self._check_time)
        self.blocks.append(Block(offset, first, len(rows)))

    def _check_time(self) -> None:
        if self._budget.spent:
            raise TimeoutError


class FileRows:
    """Rows of a file that the learner's process maps itself; only the other columns are shared."""

    def __init__(self, pool: TablePool, source: MappedFile, folder: str | None = None) -> None:
        sources = (pool.y.column, *pool.extras.values())
        self.layout = Layout(tuple(map(Column.of, sources)), pool.y.without_rows(), tuple(pool.extras), source)
        self.files = tuple(SharedFile(folder) for _ in sources)
        for file, column in zip(self.files, sources, strict=True):
            file.view(column.shape, column.dtype)[:] = column

    def lesson(self, rows: Rows) -> Place:
        """Where these rows are in the file."""
        return Spots(rows)

    exam = lesson

    def close(self) -> None:
        """Let go of the shared columns."""
        for file in self.files:
            file.close()


def mapped_file(X: Array) -> MappedFile | None:
    """The file that an array is a part of, if another process would see the same rows in it."""
    root: Any = X
    while isinstance(getattr(root, "base", None), np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode == "c" or root.filename is None or min(X.strides) < 0:
        return None
    if not os.path.exists(root.filename):
        return None
    start = X.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return MappedFile(str(root.filename), root.offset + start, X.shape, X.strides, X.dtype)


def _common_prefix(left: Rows, right: Rows) -> int:
    differs = left != right
    return int(differs.argmax()) if differs.any() else len(right)


@dataclass(frozen=True)
class Block:
    """A part of a table, pickled into a file: where it lies, and which places of the map it fills."""

    offset: int
    first: int
    rows: int


@dataclass(frozen=True, eq=False)
class Span:
    """Rows that lie side by side in a map."""

    start: int
    stop: int
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, eq=False)
class Spots:
    """Rows that lie here and there in a map."""

    at: Rows
    blocks: tuple[Block, ...] = ()


Place = Span | Spots
"""Where the rows of a lesson or an exam are."""


@dataclass(frozen=True)
class MappedFile:
    """An array that is a part of a file."""

    path: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def open(self) -> Array:
        """The array, read-only, not in memory."""
        with open(self.path, "rb") as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)


@dataclass(frozen=True)
class Column:
    """A column of the map: of what type, and how much of it a row has."""

    dtype: np.dtype[Any]
    tail: tuple[int, ...]

    @classmethod
    def of(cls, source: Array) -> Column:
        """The column that holds rows of this array."""
        return cls(source.dtype, source.shape[1:])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.tail, dtype=np.int64)) * self.dtype.itemsize

    def open(self, fd: int, stop: int) -> Array:
        """The rows before `stop`, private to this process."""
        return private_view(fd, (stop, *self.tail), self.dtype)


@dataclass(frozen=True, eq=False)
class Layout:
    """What a learner's process must know to read the rows.

    Parameters
    ----------
    columns : tuple of Column
        One for each shared file: the target, the extras, and the features where they are plain.
    target : Target
        How to read the first of them, without its rows.
    extras : tuple of str
        Names of the following ones.
    source : MappedFile or None
        The features' own file, if they have one.
    """

    columns: tuple[Column, ...]
    target: Target
    extras: tuple[str, ...]
    source: MappedFile | None = None


_PIECE_BYTES = 16 << 20


_PIECE_ROWS = 1 << 17


class RowReader:
    """The learner's side: rows by their place.

    Parameters
    ----------
    layout : Layout
        What the rows look like.
    files : sequence of int
        Descriptors of the shared files.
    """

    def __init__(self, layout: Layout, files: tuple[int, ...]) -> None:
        self._layout = layout
        self._files = files
        self._file = layout.source.open() if layout.source is not None else None
        self._loaded: dict[int, Any] = {}

    def read(self, place: Place) -> LabeledRows:
        """The rows at a place."""
        stop = place.stop if isinstance(place, Span) else int(place.at.max(initial=-1)) + 1
        columns = [self._column(number, stop)[_selection(place)] for number in range(len(self._layout.columns))]
        target, *others = columns
        extras = dict(zip(self._layout.extras, others, strict=False))
        return LabeledRows(self._features(place, columns), self._layout.target.decode(target), extras)

    def read_in_pieces(self, place: Place) -> Iterator[LabeledRows]:
        """The same, but never more than a piece of those rows at a time that must be gathered."""
        if isinstance(place, Span):
            yield self.read(place)
            return
        size = self._piece_rows()
        for start in range(0, len(place.at), size):
            yield self.read(Spots(place.at[start : start + size], place.blocks))

    def _piece_rows(self) -> int:
        if self._file is not None:
            return max(1, _PIECE_BYTES // max(1, Column.of(self._file).row_bytes))
        row_bytes = sum(column.row_bytes for column in self._layout.columns)
        return min(_PIECE_ROWS, max(1, _PIECE_BYTES // max(1, row_bytes)))

    def _column(self, number: int, stop: int) -> Array:
        return self._layout.columns[number].open(self._files[number], stop)

    def _features(self, place: Place, columns: list[Array]) -> Any:
        if self._file is not None:
            return self._file[_selection(place)]
        if not place.blocks:
            return columns[-1]
        return self._from_blocks(place)

    def _from_blocks(self, place: Place) -> Any:
        at = np.arange(place.start, place.stop) if isinstance(place, Span) else place.at
        parts, order = [], []
        for block in place.blocks:
            here = np.flatnonzero((at >= block.first) & (at < block.first + block.rows))
            if len(here):
                parts.append(self._part(block, at[here] - block.first))
                order.append(here)
        where = np.concatenate(order)
        whole = concatenate(parts)
        return whole if bool((np.diff(where) == 1).all()) else take_rows(whole, np.argsort(where))

    def _part(self, block: Block, rows: Rows) -> Any:
        if block.offset not in self._loaded:
            self._loaded[block.offset] = load(self._files[-1], block.offset)
        table = self._loaded[block.offset]
        return table if np.array_equal(rows, np.arange(block.rows)) else take_rows(table, rows)


def _selection(place: Place) -> slice | Rows:
    return slice(place.start, place.stop) if isinstance(place, Span) else place.at
