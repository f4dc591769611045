"""Files that two processes share, and the arrays and pickles in them.

On Linux the files are anonymous memory if possible, elsewhere temporary files.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import pickle
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import cloudpickle
import numpy as np
import numpy.typing as npt

from fitwithin._core.target import Array
from fitwithin._core.temporary_file import write_at

_UINT64 = struct.Struct("!Q")

_ALIGNMENT_BYTES = 64
"""Arrays begin at multiples of this, a cache line."""

_MAX_WRITE_BYTES = 32 << 20
"""Bytes written between two checks of the time: about 25 ms at 0.8 s per GB, measured on a 2-core machine."""

_MIN_MAPPED_BYTES = 32 << 20
"""Models up to this size are copied when loaded: a mapped one holds a descriptor for as long as it lives."""

_MFD_CLOEXEC = 1  # from linux/memfd.h


def _create_anonymous_file() -> int:
    """Return the descriptor of a new file without a name, in memory if possible.

    Builds of Python for old systems lack `os.memfd_create` even where the C library has it. Without both, the file
    lies in the temporary folder, and is removed from it at once.
    """
    for create in (_create_memory_file, _create_memory_file_in_c):
        with contextlib.suppress(AttributeError, OSError):
            return create()
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def _create_memory_file() -> int:
    return os.memfd_create("fitwithin", os.MFD_CLOEXEC)


def _create_memory_file_in_c() -> int:
    descriptor: int = ctypes.CDLL(None, use_errno=True).memfd_create(b"fitwithin", _MFD_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "memfd_create")
    return descriptor


class SharedFile:
    """A file without a name that this process writes and a learner's process maps.

    It is gone with its last owner: even a kill leaves nothing behind.

    Parameters
    ----------
    fd : int
        Its descriptor, which this object owns.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def create(cls) -> Self:
        """Create an empty file."""
        return cls(_create_anonymous_file())

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
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
        """Close the descriptor."""
        descriptor, self.fd = self.fd, -1
        if descriptor >= 0:
            os.close(descriptor)


def create_files(count: int) -> tuple[SharedFile, ...]:
    """Create empty files; those of a failed call close themselves."""
    return tuple(SharedFile.create() for _ in range(count))


def unmap_pages(mapped: Array) -> None:
    """Let go of the pages of an array from `SharedFile.map_array`, where the system can; the file keeps them."""
    if isinstance(mapped.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.base.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class SharedColumn:
    """Type and shape of one row in a shared file."""

    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]

    @classmethod
    def from_array(cls, source: Array) -> SharedColumn:
        """Return the column that holds rows of this array."""
        return cls(source.dtype, source.shape[1:])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.row_shape, dtype=np.int64)) * self.dtype.itemsize

    def open(self, fd: int, stop: int) -> Array:
        """Map the rows before position `stop`; what this process writes there stays its own."""
        shape = (stop, *self.row_shape)
        if not stop * self.row_bytes:
            return np.empty(shape, self.dtype)
        return np.ndarray(shape, self.dtype, buffer=mmap.mmap(fd, stop * self.row_bytes, access=mmap.ACCESS_COPY))


def dump_pickle(value: Any, fd: int, offset: int = 0, before_write: Callable[[], None] = lambda: None) -> int:
    """Write a pickle to a file, arrays out of band; return where it ends.

    Parameters
    ----------
    value : object
        Anything that cloudpickle takes.
    fd, offset : int
        The file, and where to begin.
    before_write : callable, optional
        Called before each write of at most 32 MB; may raise.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    with os.fdopen(os.dup(fd), "r+b", buffering=0) as file:
        file.seek(offset)
        header = b"".join(map(_UINT64.pack, (len(parts), *(part.nbytes for part in parts))))
        for part in (memoryview(header), *parts):
            _write_all(file, part, before_write)
            file.seek(-part.nbytes % _ALIGNMENT_BYTES, os.SEEK_CUR)
        end = file.tell()
        file.truncate(max(end, os.fstat(fd).st_size))
    return end


def load_pickle(fd: int, offset: int = 0) -> Any:
    """Read a pickle from a file. Arrays of a large one stay in the file's memory, private to this process."""
    mapped = mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_COPY)
    content = memoryview(mapped)[offset:]
    if len(mapped) <= _MIN_MAPPED_BYTES:
        content = memoryview(bytearray(content))
    n_parts = _UINT64.unpack_from(content)[0]
    sizes = [_UINT64.unpack_from(content, _UINT64.size * (1 + part))[0] for part in range(n_parts)]
    start = _align(_UINT64.size * (1 + n_parts))
    parts = []
    for size in sizes:
        parts.append(content[start : start + size])
        start += _align(size)
    return pickle.loads(parts[0], buffers=parts[1:])


def _write_all(file: Any, part: memoryview, before_write: Callable[[], None]) -> None:
    done = 0
    while done < part.nbytes:
        before_write()
        done += file.write(part[done : done + _MAX_WRITE_BYTES])


def _align(size: int) -> int:
    return size + -size % _ALIGNMENT_BYTES
