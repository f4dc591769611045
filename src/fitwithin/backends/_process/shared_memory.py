"""Files that two processes share, the arrays and pickles in them, and arrays that are a part of another file."""

from __future__ import annotations

import contextlib
import ctypes
import io
import mmap
import os
import pickle
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._core.temporary_file import write_at

_ALIGNMENT_BYTES = 64
"""Arrays begin at multiples of this, a cache line."""

_MAX_WRITE_BYTES = 32 << 20
"""Bytes written between two checks of the time: about 25 ms at 0.8 s per GB, measured on a 2-core machine."""

_MIN_MAPPED_BYTES = 32 << 20
"""Models up to this size are copied when loaded: a mapped one holds a descriptor for as long as it lives."""

_MFD_CLOEXEC = 1  # from linux/memfd.h


def _create_anonymous_file() -> int:
    """Return the descriptor of a new file without a name, in memory if possible, or else in the temporary folder."""
    # Builds of Python for old systems lack `os.memfd_create` even where the C library has it.
    with contextlib.suppress(AttributeError):
        descriptor: int = ctypes.CDLL(None).memfd_create(b"fitwithin", _MFD_CLOEXEC)
        if descriptor >= 0:
            return descriptor
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


class SharedFile:
    """A file that this process writes and a learner maps: a new one, gone with its last owner, or an open one."""

    fd = -1

    def __init__(self, fd: int | None = None) -> None:
        self.fd = _create_anonymous_file() if fd is None else fd

    @property
    def n_bytes(self) -> int:
        return os.fstat(self.fd).st_size

    def map_array(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Resize the file to this array and map it, writable; only pages that are written take memory."""
        size = max(1, int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize)
        os.ftruncate(self.fd, size)
        return np.ndarray(shape, dtype, buffer=mmap.mmap(self.fd, size))

    def write_rows(self, rows: Array, first: int) -> None:
        """Write rows, beginning at row number `first`; faster than through a mapped array where pages are new."""
        body = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        write_at(self.fd, body, first * rows.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64)))

    def __del__(self) -> None:
        # An interrupt may come before an owner knows it.
        self.close()

    def close(self) -> None:
        descriptor, self.fd = self.fd, -1
        if descriptor >= 0:
            os.close(descriptor)


@dataclass(frozen=True)
class SharedColumn:
    """Type and shape of one row in a shared file."""

    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]

    @classmethod
    def from_array(cls, source: Array) -> SharedColumn:
        return cls(source.dtype, source.shape[1:])

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.row_shape, dtype=np.int64)) * self.dtype.itemsize

    def open(self, fd: int, stop: int) -> Array:
        """Map the rows before position `stop`; what this process writes there stays its own."""
        shape = (stop, *self.row_shape)
        if not stop * self.row_bytes:
            return np.empty(shape, self.dtype)
        return np.ndarray(shape, self.dtype, buffer=mmap.mmap(fd, stop * self.row_bytes, access=mmap.ACCESS_COPY))


class PickledObject:
    """An object, pickled by cloudpickle; its arrays are not copied before they are written."""

    def __init__(self, value: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        body = io.BytesIO()
        pickler = _KindPickler(body, protocol=5, buffer_callback=buffers.append)
        # Names of the types, classes and functions that it takes to unpickle it.
        self.kinds = pickler.kinds = set[str]()
        pickler.dump(value)
        self._parts = [body.getbuffer(), *(buffer.raw() for buffer in buffers)]
        self.n_bytes = sum(part.nbytes for part in self._parts)
        self.body_bytes = self._parts[0].nbytes  # without the arrays

    def write(self, fd: int, offset: int = 0, before_write: Callable[[], None] = lambda: None) -> int:
        """Write it to a file, and return where it ends; `before_write` may raise before each write of at most 32 MB."""
        n_parts = len(self._parts)
        header = struct.pack(f"!{1 + n_parts}Q", n_parts, *(part.nbytes for part in self._parts))
        for part in (memoryview(header), *self._parts):
            for start in range(0, part.nbytes, _MAX_WRITE_BYTES):
                before_write()
                write_at(fd, part[start : start + _MAX_WRITE_BYTES], offset + start)
            offset += _align(part.nbytes)
        os.ftruncate(fd, max(offset, os.fstat(fd).st_size))
        return offset


class _KindPickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle ships no types
    """Note what is pickled, except for what is built in."""

    kinds: set[str]

    def reducer_override(self, obj: Any) -> Any:
        kind = obj if isinstance(obj, (type, FunctionType, BuiltinFunctionType)) else type(obj)
        self.kinds.add(f"{kind.__module__}.{kind.__qualname__}")
        return super().reducer_override(obj)


def load_pickle(fd: int, offset: int = 0) -> Any:
    """Read a pickle from a file. Arrays of a large one stay in the file's memory, private to this process."""
    mapped = mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_COPY)
    content = memoryview(mapped)[offset:]
    if len(mapped) <= _MIN_MAPPED_BYTES:
        content = memoryview(bytearray(content))
    (n_parts,) = struct.unpack_from("!Q", content)
    header = struct.Struct(f"!{1 + n_parts}Q")
    _, *sizes = header.unpack_from(content)
    start, parts = _align(header.size), []
    for size in sizes:
        parts.append(content[start : start + size])
        start += _align(size)
    return pickle.loads(parts[0], buffers=parts[1:])


def _align(size: int) -> int:
    return size + -size % _ALIGNMENT_BYTES


@dataclass(frozen=True)
class MappedFile:
    """An array that is a part of a file, and where it lies there."""

    path: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def find(cls, X: Array) -> tuple[MappedFile, SharedFile] | None:
        """Return the file that an array is a part of; None if another process would not see the same rows in it.

        Raises UserInputError if the file was cut short, so that reading the array would kill any process.
        """
        root: Any = X
        while isinstance(getattr(root, "base", None), np.ndarray):
            root = root.base
        if not isinstance(root, np.memmap) or not isinstance(root.base, mmap.mmap):
            return None
        offset = root.offset + X.ctypes.data - root.ctypes.data
        found = cls(str(root.filename), offset, X.shape, X.strides, X.dtype)
        found._refuse_if_cut_short(root.base.size())
        if root.mode == "c" or root.filename is None or min(X.strides) < 0:
            return None
        try:
            file = SharedFile(os.open(root.filename, os.O_RDONLY))
            inode = _find_mapped_inode(root.ctypes.data)
        except OSError:
            return None
        # The name may lead to another file by now. The device does not tell: layered file systems and volumes show one
        # to those who map a file and another to those who open it.
        status = os.fstat(file.fd)
        return (found, file) if (status.st_ino, status.st_size) == (inode, root.base.size()) else None

    def open(self, fd: int) -> Array:
        self._refuse_if_cut_short(os.fstat(fd).st_size)
        return np.ndarray(self.shape, self.dtype, mmap.mmap(fd, 0, access=mmap.ACCESS_READ), self.offset, self.strides)

    def _refuse_if_cut_short(self, n_bytes: int) -> None:
        """Raise UserInputError if the file of this size ends before the array does."""
        steps = ((n - 1) * max(stride, 0) for n, stride in zip(self.shape, self.strides, strict=True))
        n_needed = self.offset + self.dtype.itemsize + sum(steps)
        if n_bytes < n_needed:
            raise UserInputError(
                f"The file {self.path}, which X is mapped from, has {n_bytes:,} bytes; X ends at byte {n_needed:,}. "
                "It was cut short after X was opened.",
                "Write the file anew and open X again.",
            )


def _find_mapped_inode(address: int) -> int | None:
    """Return the inode of the file that is mapped at an address; raise OSError where the system does not tell."""
    with open("/proc/self/maps", "rb") as mappings:
        for line in mappings:
            span, _, _, _, inode = line.split(maxsplit=5)[:5]
            low, high = (int(end, 16) for end in span.split(b"-"))
            if low <= address < high:
                return int(inode)
    return None
