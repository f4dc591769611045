"""A lock that keeps two fits from writing one file; the system releases it when its process ends, however it ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
"""Errors of a lock that another process holds. Any other error means that the disk has no locks."""


class FileLock:
    """Hold a lock on a hidden file beside `path`.

    Parameters
    ----------
    path : Path
        The file to guard.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> first, second = (FileLock(Path(folder.name) / "a") for _ in range(2))
    >>> first.acquire(), second.acquire()
    (True, False)
    >>> first.release()
    >>> second.acquire()
    True
    >>> second.release()
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f".{path.name}.lock")
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False if it is taken.

        Raises
        ------
        OSError
            If the folder cannot be written to.
        """
        while True:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _lock(descriptor)
                # The holder before may have deleted the file between the two calls above.
                is_current = os.path.samestat(os.fstat(descriptor), os.stat(self._path))
            except FileNotFoundError:
                is_current = False
            except OSError as error:
                if error.errno in _TAKEN:
                    os.close(descriptor)
                    return False
                is_current = True
            if is_current:
                self._descriptor = descriptor
                return True
            os.close(descriptor)

    def release(self) -> None:
        """Give the lock back, and delete its file."""
        if self._descriptor is None:
            return
        if sys.platform != "win32":
            self._delete()
        os.close(self._descriptor)
        self._descriptor = None
        if sys.platform == "win32":
            # An open file cannot be deleted there.
            self._delete()

    def _delete(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            # The folder is gone, or read-only by now. An empty file that is left is harmless.
            return


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
