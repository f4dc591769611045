"""Files of the spool: without a name where the system can do that, so that nothing is left of them."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Self

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.temporary_file import close_and_remove, write_at


class SpoolFile:
    """A file that one thread writes and other processes map.

    On Linux it has no name, so that even a kill leaves nothing behind. Elsewhere it has one until it is closed.

    Parameters
    ----------
    fd : int
        Its descriptor, which this object owns.
    name : str or None
        Its name, if it has one.
    """

    def __init__(self, fd: int, name: str | None = None) -> None:
        self.fd = fd
        self._name = name

    @classmethod
    def create(cls, folder: str | None, size: int = 0) -> Self:
        """Create a file of this size, which takes no room yet.

        Raises
        ------
        UserInputError
            If the folder does not exist or cannot be written to.
        """
        folder = tempfile.gettempdir() if folder is None else folder
        try:
            if sys.platform == "linux":
                with tempfile.TemporaryFile(dir=folder, prefix="fitwithin-", buffering=0) as unnamed:
                    file = cls(os.dup(unnamed.fileno()))
            else:
                file = cls(*tempfile.mkstemp(dir=folder, prefix="fitwithin-"))
            os.ftruncate(file.fd, size)
        except OSError as error:
            raise spool_error(folder, error) from error
        return file

    @property
    def path(self) -> str:
        """A path by which other processes of this user can open it, while this one has it open."""
        return f"/proc/{os.getpid()}/fd/{self.fd}" if self._name is None else self._name

    def write(self, body: memoryview, offset: int) -> None:
        """Write bytes; unlike writing to a mapped file, this raises an OSError where there is no room."""
        write_at(self.fd, body, offset)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove it if it has a name; with many bytes in it this may take a second."""
        descriptor, self.fd = self.fd, -1
        close_and_remove(descriptor, self._name)


def spool_error(folder: str | None, error: OSError) -> UserInputError:
    """Return an error about the folder of the spool, which says what to do."""
    return UserInputError(
        f"The spool folder {folder or tempfile.gettempdir()} cannot be used: {error.strerror or error}.",
        "Make room in it, or pass another folder: backend=fitwithin.backends.Process(spool=FOLDER).",
    )
