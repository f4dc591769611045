"""Bytes at a place of a temporary file."""

import os

_MAX_WRITE_BYTES = 32 << 20
"""Bytes that one call writes: a thread that is in the middle of one cannot be stopped."""


def write_at(descriptor: int, body: memoryview, offset: int) -> None:
    """Write all bytes; unlike writing to a mapped file, this raises an OSError where there is no room."""
    body = body.cast("B")
    while len(body):
        part = body[:_MAX_WRITE_BYTES]
        if hasattr(os, "pwrite"):
            done = os.pwrite(descriptor, part, offset)
        else:
            os.lseek(descriptor, offset, os.SEEK_SET)
            done = os.write(descriptor, part)
        body, offset = body[done:], offset + done
