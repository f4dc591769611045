"""Bytes at a place of a temporary file."""

from __future__ import annotations

import os

_MAX_WRITE_BYTES = 32 << 20
"""Bytes that one call writes: a thread that is in the middle of one cannot be stopped."""


def write_at(descriptor: int, body: memoryview, offset: int) -> None:
    """Write all bytes; unlike writing to a mapped file, this raises an OSError where there is no room.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     write_at(file.fileno(), memoryview(b"abc"), 2)
    ...     file.seek(2), file.read()
    (2, b'abc')
    """
    body = body.cast("B")
    while len(body):
        done = _write_some(descriptor, body[:_MAX_WRITE_BYTES], offset)
        body, offset = body[done:], offset + done


def _write_some(descriptor: int, body: memoryview, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, body, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.write(descriptor, body)
