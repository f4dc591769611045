"""One writer at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fitwithin._core.exceptions import FitwithinError

try:
    import fcntl
except ImportError:  # a system without such locks: there, nobody is kept out
    fcntl = None  # type: ignore[assignment]


class AnotherWriter(FitwithinError, RuntimeError):
    """Another process has the results open for writing."""


@contextmanager
def only_writer(file: Path) -> Iterator[None]:
    """Keep every other writer of these results out until the end of the block.

    Parameters
    ----------
    file : Path
        Of the results. What is locked is a file beside it: the results themselves may be replaced by a repaired copy.
        The system takes the lock back from a process that is killed.

    Raises
    ------
    AnotherWriter
        If another process is there already.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AnotherWriter(f"Another study is writing to {file}.") from None
        yield
    finally:
        os.close(descriptor)
