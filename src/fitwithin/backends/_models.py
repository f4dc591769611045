"""A fitted learner in a shared file, its arrays beside the pickle instead of inside it."""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import time
from dataclasses import dataclass
from typing import Any
from warnings import WarningMessage

import cloudpickle

from ._files import SharedFile
from ._pupil import repeat

_LENGTH = struct.Struct("!Q")
_ALIGN = 64
# A mapped model holds a descriptor for as long as it lives, which is a pity for many small ones.
_LARGE = 32 << 20


def store(model: Any, fd: int) -> float:
    """Write a model to a file; the seconds that pickling took, without the writing."""
    buffers: list[pickle.PickleBuffer] = []
    start = time.monotonic()
    body = cloudpickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    seconds = time.monotonic() - start
    with os.fdopen(os.dup(fd), "wb") as file:
        for part in (body, *(buffer.raw() for buffer in buffers)):
            size = memoryview(part).nbytes
            file.write(_LENGTH.pack(size).ljust(_ALIGN, b"\0"))
            file.write(part)
            file.write(b"\0" * (-size % _ALIGN))
    return seconds


def load(fd: int) -> Any:
    """Read a model from a file; the arrays of a large one stay in the file's memory, private to this process."""
    whole = memoryview(_mapped(fd) if os.fstat(fd).st_size > _LARGE else bytearray(_mapped(fd)))
    parts = []
    start = 0
    while start < len(whole):
        size = _LENGTH.unpack_from(whole, start)[0]
        start += _ALIGN
        parts.append(whole[start : start + size])
        start += size + -size % _ALIGN
    return pickle.loads(parts[0], buffers=parts[1:])


def _mapped(fd: int) -> mmap.mmap:
    return mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_COPY)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model that a learner's process left in a shared file."""

    file: SharedFile
    store: float
    load: float
    warnings: list[WarningMessage]

    def bring(self) -> Any:
        """The fitted learner, in this process."""
        model = load(self.file.fd)
        repeat(self.warnings)
        return model

    def discard(self) -> None:
        """Let go of the file."""
        self.file.close()


def expected_load(pickling: float, size: int) -> float:
    """Seconds that reading a model of so many bytes back will take, from what pickling it took."""
    return 0.01 + 1.5 * pickling + size / 1e9
