"""Files that two processes share: anonymous memory where there is such a thing, temporary files elsewhere."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._target import Array


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
