"""Files that are there whole or not at all: written beside, then renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


def temporary_sibling(path: Path) -> Path:
    """A new name in the same folder, so that renaming it is one step; hidden, and unlike any other."""
    return path.with_name(f".{path.name}.{token_hex(4)}.part")


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes the wanted one if all goes well and vanishes if not.

    Parameters
    ----------
    path : Path
        The wanted one; a link is followed.

    Raises
    ------
    FileExistsError
        If it is a pipe, a device or a folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with atomic_write(Path(folder.name) / "a.txt") as written:
    ...     _ = written.write_text("whole")
    >>> os.listdir(folder.name)
    ['a.txt']
    >>> folder.cleanup()
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "It is no ordinary file, and would be replaced by one", str(path))
    written = temporary_sibling(target)
    try:
        yield written
        with written.open("rb+") as file:
            # A rename that outlives a crash of the machine must not come before the bytes.
            os.fsync(file.fileno())
        os.replace(written, target)
    finally:
        written.unlink(missing_ok=True)
