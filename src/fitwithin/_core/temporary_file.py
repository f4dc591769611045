"""Files that are gone once they are closed."""

from __future__ import annotations

import contextlib
import os


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
