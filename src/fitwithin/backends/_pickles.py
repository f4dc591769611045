"""Pickles in a shared file, their arrays beside them instead of inside."""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import time
from collections.abc import Callable
from typing import Any

import cloudpickle

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
