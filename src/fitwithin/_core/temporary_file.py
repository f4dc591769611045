"""Temporary files: bytes at a place of one, and its end."""

from __future__ import annotations

import contextlib
import os

_MAX_WRITE_BYTES = 32 << 20
"""Bytes that one call writes: a thread that is in the middle of one cannot be stopped."""


def close_and_remove(descriptor: int, path: str | None) -> None:
    """Close a file, and remove it if it has a name; a negative descriptor is one that was closed before.

    Examples
    --------
    >>> import tempfile
    >>> descriptor, path = tempfile.mkstemp()
    >>> close_and_remove(descriptor, path)
    >>> os.path.exists(path)
    False
    """
    if descriptor < 0:
        return
    os.close(descriptor)
    if path is not None:
        # Windows does not remove a file that another process has open; it goes with its folder.
        with contextlib.suppress(OSError):
            os.unlink(path)


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
