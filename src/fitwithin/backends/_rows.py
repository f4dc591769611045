"""Rows on their way to a learner's process: each travels at most once.

Rows that are taught or examined are appended to one growing shared map. Before a lesson its rows are
moved to the front of the map, in the lesson's order, so that the learner sees one contiguous array:
a lesson that grows the last one moves only what is new. A `numpy.memmap` is mapped by the learner's
process itself and not copied at all.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._budget import Budget
from .._messages import Rows
from .._pools import Array, ArrayPool, Pool
from ._files import SharedFile, private_view

_CHUNK_BYTES = 1 << 20
_PIECE_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class Span:
    """Rows that lie side by side in a map."""

    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Spots:
    """Rows that lie here and there in a map."""

    at: Rows


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


@dataclass(frozen=True, eq=False)
class Layout:
    """What a learner's process must know to read the rows.

    Parameters
    ----------
    width : int
        Features of a row.
    dtype, codes : dtype
        Of the features, and of the labels' codes.
    classes : array
        What the codes stand for.
    source : MappedFile or None
        The features' own file, where they are not in the shared map.
    """

    width: int
    dtype: np.dtype[Any]
    codes: np.dtype[Any]
    classes: Array
    source: MappedFile | None


class SharedRows(Protocol):
    """The rows of a pool on their way to a learner's process."""

    layout: Layout
    files: tuple[SharedFile, SharedFile]

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
    if not isinstance(pool, ArrayPool):
        raise TypeError(f"The process backend reads array pools; got {type(pool).__name__}. Use backend='inline'.")
    source = mapped_file(pool.X)
    return FileRows(pool, source, folder) if source is not None else RowMap(pool, budget, folder)


class RowMap:
    """Rows of an array in memory, appended to a growing shared map as they are used."""

    def __init__(self, pool: ArrayPool, budget: Budget, folder: str | None = None) -> None:
        self._budget = budget
        X, codes = pool.X, pool.y.codes
        self.layout = Layout(X.shape[1], X.dtype, codes.dtype, pool.y.classes, source=None)
        self.files = (SharedFile(folder), SharedFile(folder))
        self._sources = (X, codes)
        self._maps = (self.files[0].view(X.shape, X.dtype), self.files[1].view(codes.shape, codes.dtype))
        self._chunk = max(1, _CHUNK_BYTES // max(1, X.dtype.itemsize * X.shape[1]))
        # One more than the position in the map, so that memory which nobody wrote means "not there".
        self._spot: Rows = np.zeros(len(X), dtype=np.int32 if len(X) < 2**31 - 1 else np.int64)
        self._row: Rows = np.zeros(len(X), dtype=self._spot.dtype)
        self.length = 0

    def lesson(self, rows: Rows) -> Place:
        """Move these rows to the front of the map, in their order."""
        self._append(rows[self._spot[rows] == 0])
        if not self._distinct(rows):
            return self._spots(rows)
        settled = _common_prefix(self._row[: len(rows)], rows)
        for start, stop in self._chunks(settled, len(rows)):
            self._swap_in(rows[start:stop], start)
        return Span(0, len(rows))

    def exam(self, rows: Rows) -> Place:
        """Append the rows that are new; they lie side by side if all are."""
        start = self.length
        self._append(rows[self._spot[rows] == 0])
        if self.length - start == len(rows):
            return Span(start, self.length)
        return self._spots(rows)

    def close(self) -> None:
        """Let go of the shared files."""
        for file in self.files:
            file.close()

    def _spots(self, rows: Rows) -> Spots:
        at: Rows = self._spot[rows] - 1
        return Spots(at)

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
        first, self.length = self.length, self.length + len(rows)
        for start, stop in self._chunks(0, len(rows)):
            chunk = rows[start:stop]
            for file, source in zip(self.files, self._sources, strict=True):
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


class FileRows:
    """Rows of a file that the learner's process maps itself; only the labels are shared."""

    def __init__(self, pool: ArrayPool, source: MappedFile, folder: str | None = None) -> None:
        codes = pool.y.codes
        self.layout = Layout(pool.X.shape[1], pool.X.dtype, codes.dtype, pool.y.classes, source)
        self.files = (SharedFile(folder), SharedFile(folder))
        self.files[1].view(codes.shape, codes.dtype)[:] = codes

    def lesson(self, rows: Rows) -> Place:
        """Where these rows are in the file."""
        return Spots(rows)

    exam = lesson

    def close(self) -> None:
        """Let go of the shared labels."""
        for file in self.files:
            file.close()


class RowReader:
    """The learner's side: rows by their place.

    Parameters
    ----------
    layout : Layout
        What the rows look like.
    features, labels : int
        Descriptors of the shared files.
    """

    def __init__(self, layout: Layout, features: int, labels: int) -> None:
        self._layout = layout
        self._features = features
        self._labels = labels
        self._file = layout.source.open() if layout.source is not None else None

    def read(self, place: Place) -> tuple[Array, Array]:
        """Features and labels of the rows at a place."""
        if isinstance(place, Span):
            return self._all_features(place.stop)[place.start :], self._all_labels(place.stop)[place.start :]
        stop = int(place.at.max(initial=-1)) + 1
        return self._all_features(stop)[place.at], self._all_labels(stop)[place.at]

    def read_in_pieces(self, place: Place) -> Iterator[tuple[Array, Array]]:
        """The same, but never more than a piece of those rows at a time that must be gathered."""
        if isinstance(place, Span):
            yield self.read(place)
            return
        size = max(1, _PIECE_BYTES // max(1, self._layout.width * self._layout.dtype.itemsize))
        for start in range(0, len(place.at), size):
            yield self.read(Spots(place.at[start : start + size]))

    def _all_features(self, stop: int) -> Array:
        if self._file is not None:
            return self._file
        return private_view(self._features, (stop, self._layout.width), self._layout.dtype)

    def _all_labels(self, stop: int) -> Array:
        return self._layout.classes[private_view(self._labels, (stop,), self._layout.codes)]


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
