"""Files that two processes share: anonymous memory where there is such a thing, temporary files elsewhere."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import numpy.typing as npt

from fitwithin._core.target import Array


class SharedFile:
    """A file that this process writes and a learner's process maps.

    In anonymous memory (`memfd_create`) it is gone with its last owner, so that even a kill leaves
    nothing behind.

    Parameters
    ----------
    folder : str, optional
        Make a named file there instead, for a process that cannot be handed a descriptor.
    """

    def __init__(self, folder: str | None = None) -> None:
        if folder is None:
            self.fd = os.memfd_create("fitwithin", os.MFD_CLOEXEC)
            self.path: str | None = None
        else:
            self.fd, self.path = tempfile.mkstemp(dir=folder)

    def view(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """The file as an array to write to, made as long as the array; only pages that are written take memory."""
        size = max(1, int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize)
        os.ftruncate(self.fd, size)
        return np.ndarray(shape, dtype, buffer=mmap.mmap(self.fd, size))

    def put(self, rows: Array, at: int) -> None:
        """Write rows, as row number `at` and following; quicker than through a view where pages are new."""
        body = np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data
        offset = at * rows.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
        while len(body):
            done = os.pwrite(self.fd, body, offset) if hasattr(os, "pwrite") else self._seek_and_write(body, offset)
            body, offset = body[done:], offset + done

    def _seek_and_write(self, body: memoryview, offset: int) -> int:
        os.lseek(self.fd, offset, os.SEEK_SET)
        return os.write(self.fd, body)

    def twin(self) -> SharedFile:
        """The same file once more, that is there until both are closed."""
        twin = SharedFile.__new__(SharedFile)
        twin.fd, twin.path = os.dup(self.fd), None
        return twin

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.fd)
        if self.path is not None:
            # Where a file that somebody has open can't be removed, it goes with its folder.
            with contextlib.suppress(PermissionError):
                Path(self.path).unlink(missing_ok=True)


def private_view(fd: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """The beginning of a shared file as an array; what a learner writes there stays its own."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size == 0:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, buffer=mmap.mmap(fd, size, access=mmap.ACCESS_COPY))


_NUMBER = struct.Struct("!Q")


_ALIGN = 64


_PIECE = 32 << 20


# What is mapped holds a descriptor for as long as it lives, which is a pity for many small models.
_LARGE = 32 << 20


def store(thing: Any, fd: int, offset: int = 0, check: Callable[[], None] = lambda: None) -> tuple[int, float]:
    """Write a pickle to a file.

    Parameters
    ----------
    thing : object
        Anything that cloudpickle takes.
    fd, offset : int
        The file, and where to begin.
    check : callable, optional
        Called between pieces of at most 32 MB; may raise.

    Returns
    -------
    tuple
        Where the pickle ends, and the seconds that pickling took, without the writing.
    """
    buffers: list[pickle.PickleBuffer] = []
    start = time.monotonic()
    body = cloudpickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    seconds = time.monotonic() - start
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    with os.fdopen(os.dup(fd), "r+b", buffering=0) as file:
        file.seek(offset)
        header = b"".join(map(_NUMBER.pack, (len(parts), *(part.nbytes for part in parts))))
        for part in (memoryview(header), *parts):
            _write(file, part, check)
            file.seek(-part.nbytes % _ALIGN, os.SEEK_CUR)
        end = file.tell()
        file.truncate(max(end, os.fstat(fd).st_size))
    return end, seconds


def load(fd: int, offset: int = 0) -> Any:
    """Read a pickle from a file; the arrays of a large one stay in the file's memory, private to this process."""
    mapped = mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_COPY)
    whole = memoryview(mapped)[offset:]
    if len(mapped) <= _LARGE:
        whole = memoryview(bytearray(whole))
    count = _NUMBER.unpack_from(whole)[0]
    sizes = [_NUMBER.unpack_from(whole, _NUMBER.size * (1 + part))[0] for part in range(count)]
    start = _aligned(_NUMBER.size * (1 + count))
    parts = []
    for size in sizes:
        parts.append(whole[start : start + size])
        start += _aligned(size)
    return pickle.loads(parts[0], buffers=parts[1:])


def _write(file: Any, part: memoryview, check: Callable[[], None]) -> None:
    done = 0
    while done < part.nbytes:
        check()
        done += file.write(part[done : done + _PIECE])


def _aligned(size: int) -> int:
    return size + -size % _ALIGN
