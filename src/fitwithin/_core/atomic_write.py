"""Atomic file writes: to a temporary file in the same folder, then renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


def temporary_sibling(path: Path) -> Path:
    """Return a unique hidden path in the same folder, where a rename is atomic."""
    return path.with_name(f".{path.name}.{token_hex(4)}.part")


def flush_to_disk(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` on success and is removed on failure.

    Parameters
    ----------
    path : Path
        The file to write. A symbolic link is followed.

    Raises
    ------
    FileExistsError
        If `path` is a pipe, a device or a folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with atomic_write(Path(folder.name) / "a.txt") as temporary_path:
    ...     _ = temporary_path.write_text("whole")
    >>> os.listdir(folder.name)
    ['a.txt']
    >>> folder.cleanup()
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "The path is not a regular file; it would be replaced", str(path))
    temporary_path = temporary_sibling(target)
    try:
        yield temporary_path
        # After a power failure the rename must not be on disk without the content.
        flush_to_disk(temporary_path)
        os.replace(temporary_path, target)
    finally:
        temporary_path.unlink(missing_ok=True)
