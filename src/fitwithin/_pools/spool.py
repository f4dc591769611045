"""The spool: temporary files that rows of a data set on disk are copied to, for every process to map."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._core.temporary_file import write_at
from fitwithin._pools.reading_order import BlockIndex
from fitwithin._pools.sources.read_errors import translate_spool_errors

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[[memoryview, int], object]
"""Writes bytes to the spool, beginning at an offset."""

_CHUNK_BYTES = 1 << 20
"""Bytes of rows that are written at a time: they stay in the processor's cache."""

_TURNED_ROWS = 4096
"""Rows that are turned from columns to rows at a time, for the same reason."""

_ALIGNMENT_BYTES = 64
"""Blocks begin at multiples of this, as Arrow wants its values to."""


class Spool:
    """Rows in files without a name, so that even a kill leaves nothing behind.

    `columns` are mapped, and complete as far as rows have been added. `files` are the descriptors of the file of each
    column, and of the one of the "features". `bounds` tells where the features of the blocks that were added lie, in
    bytes: the end of each, after 0. A folder that cannot be written to is a `UserInputError`.
    """

    def __init__(
        self, layout: SpoolFormat, n_rows: int, dtypes: Mapping[str, np.dtype[Any]], folder: str | None = None
    ) -> None:
        self._layout = layout
        self._folder = folder or tempfile.gettempdir()
        self.files: dict[str, int] = {}
        self.columns: dict[str, Array] = {}
        for name, dtype in dtypes.items():
            file, size = self._create_file(name), n_rows * dtype.itemsize
            os.ftruncate(file, size)
            mapped = mmap.mmap(file, size, access=mmap.ACCESS_READ)
            self.columns[name] = np.ndarray(n_rows, dtype, mapped)
        # Rows are added at its end, which takes a fifth of the time of filling a file that has its size.
        self._create_file("features")
        self.bounds = [0]

    def add(self, features: pa.Table, order: Rows, columns: Mapping[str, Array], first: int) -> None:
        """Write the rows of a block in this order, from row number `first` on; the columns have it already."""
        with translate_spool_errors(self._folder):
            for name, values in columns.items():
                body = np.ascontiguousarray(values.astype(self.columns[name].dtype, copy=False)).view(np.uint8).data
                write_at(self.files[name], body, first * self.columns[name].itemsize)
            write = partial(write_at, self.files["features"])
            self.bounds.append(self.bounds[-1] + self._layout.write(features, order, self.bounds[-1], write))

    def close(self) -> None:
        """Close the files; with many bytes in them this may take a second."""
        while self.files:
            os.close(self.files.popitem()[1])

    __del__ = close

    def _create_file(self, name: str) -> int:
        with (
            translate_spool_errors(self._folder),
            tempfile.TemporaryFile(dir=self._folder, prefix="fitwithin-") as file,
        ):
            self.files[name] = os.dup(file.fileno())
        return self.files[name]


@dataclass(frozen=True)
class ArrayFormat:
    """Rows of numbers of one type, one after the other, that reach the learner as a pandas frame, or as an array."""

    names: tuple[str, ...]
    dtype: np.dtype[Any]
    as_array: bool = False

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return len(self.names) * self.dtype.itemsize

    def write(self, table: pa.Table, order: Rows, offset: int, write: Write) -> int:
        """Write the rows of a block in this order, beginning at an offset; return their bytes."""
        rows, size = self._copy_rows(table), max(1, _CHUNK_BYTES // self.row_bytes)
        chunk = np.empty((size, rows.shape[1]), rows.dtype)
        for start in range(0, len(order), size):
            places = order[start : start + size]
            # Without a mode NumPy copies the output once more.
            rows.take(places, axis=0, out=chunk[: len(places)], mode="clip")
            write(chunk[: len(places)].reshape(-1).view(np.uint8).data, offset + start * self.row_bytes)
        return len(order) * self.row_bytes

    def _copy_rows(self, table: pa.Table) -> Array:
        """Return the rows of a table one after the other; its own values lie column by column."""
        columns = [table.column(name).to_numpy() for name in self.names]
        rows = np.empty((table.num_rows, len(columns)), self.dtype)
        for start in range(0, len(rows), _TURNED_ROWS):
            turned = rows[start : start + _TURNED_ROWS]
            for number, column in enumerate(columns):
                turned[:, number] = column[start : start + _TURNED_ROWS]
        return rows

    def open(self, fd: int) -> ArrayReader:
        """Return a reader of the spool with this descriptor."""
        return ArrayReader(self, fd)


class ArrayReader:
    """Reads rows of numbers from the spool, which is mapped anew when it has grown."""

    def __init__(self, layout: ArrayFormat, fd: int) -> None:
        self._layout = layout
        self._fd = fd
        self._rows: Array = np.empty((0, len(layout.names)), layout.dtype)

    def read(self, rows: Rows, index: BlockIndex, bounds: Sequence[int]) -> Any:
        """Return these rows as a pandas frame, or as an array."""
        if int(rows.max(initial=-1)) >= len(self._rows):
            n_rows = bounds[-1] // self._layout.row_bytes
            mapped = mmap.mmap(self._fd, bounds[-1], access=mmap.ACCESS_READ)
            self._rows = np.ndarray((n_rows, len(self._layout.names)), self._layout.dtype, mapped)
        found = self._rows[rows]
        if self._layout.as_array:
            return found
        import pandas as pd

        return pd.DataFrame(found, columns=list(self._layout.names), copy=False)


@dataclass(frozen=True, eq=False)
class ArrowFormat:
    """Rows of any types: each block is a stream of Arrow's format, and `to_frame` makes the learner's frame of it."""

    row_bytes: ClassVar[int] = 0  # Rows differ in size.
    names: tuple[str, ...]
    to_frame: Callable[[Any], Any]

    def write(self, table: pa.Table, order: Rows, offset: int, write: Write) -> int:
        """Write the rows of a block in this order, beginning at an offset; return their bytes and those of a gap."""
        import pyarrow as pa

        rows = table.select(self.names).combine_chunks().take(order).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        content = sink.getvalue()
        write(memoryview(content), offset)
        return int(content.size) + -int(content.size) % _ALIGNMENT_BYTES

    def open(self, fd: int) -> ArrowReader:
        """Return a reader of the spool with this descriptor."""
        return ArrowReader(self, fd)


class ArrowReader:
    """Reads rows from blocks of Arrow's format, which stay in the mapped file until they are taken."""

    def __init__(self, layout: ArrowFormat, fd: int) -> None:
        self._to_frame = layout.to_frame
        self._fd = fd
        self._mapped = memoryview(b"")
        self._tables: dict[int, Any] = {}

    def read(self, rows: Rows, index: BlockIndex, bounds: Sequence[int]) -> Any:
        """Return these rows as a frame."""
        import pyarrow as pa

        places = index.find_places(rows)
        by_place = np.argsort(places, kind="stable")
        starts = np.flatnonzero(np.diff(places[by_place], prepend=-1))
        groups = np.split(rows[by_place], starts[1:])
        found = [
            (self._open(bounds[place], bounds[place + 1]), pa.array(group - index.row_starts[place]))
            for place, group in zip(places[by_place[starts]].tolist(), groups, strict=True)
        ]
        order = np.argsort(by_place)
        # Column by column, so that there is never a second copy of more than one.
        columns = [
            _join([table.column(number).take(indices) for table, indices in found], order)
            for number in range(found[0][0].num_columns)
        ]
        frame = self._to_frame(pa.Table.from_arrays(columns, schema=found[0][0].schema))
        # Arrow would keep the memory of the copies: of a mixed frame, more than the frame itself takes.
        del columns
        pa.default_memory_pool().release_unused()
        return frame

    def _open(self, start: int, end: int) -> Any:
        import pyarrow as pa

        if start not in self._tables:
            if len(self._mapped) < end:
                # All of the file: the system allows some ten thousand mappings, and there may be more blocks.
                self._mapped = memoryview(mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ))
            self._tables[start] = pa.ipc.open_stream(pa.py_buffer(self._mapped[start:end])).read_all()
        return self._tables[start]


SpoolFormat = ArrayFormat | ArrowFormat
"""How features are written to the spool, and read from it by any process."""

SpoolReader = ArrayReader | ArrowReader
"""Reads features from the spool: a copy of some rows, as the learner gets them."""


def _join(columns: list[pa.ChunkedArray], order: Rows) -> pa.ChunkedArray:
    """Return the values of one column in all blocks, in this order of them."""
    import pyarrow as pa

    if len(columns) == 1:
        return columns[0]
    joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=columns[0].type)
    return joined.take(pa.array(order))
