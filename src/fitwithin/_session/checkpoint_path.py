"""The path of a checkpoint: what may lie there, and the lock that keeps a second fit away."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fitwithin._core.exceptions import UserInputError
from fitwithin._session.checkpoint_folder import STATE_FILE

_LOCK_FILE = "fitwithin.lock"
"""The lock of the fit under way; it stays there, and marks the folder as a checkpoint."""


@dataclass(frozen=True, eq=False)
class CheckpointPath(os.PathLike[str]):
    """A path for the parameter `checkpoint`, and further files for the folder.

    Parameters
    ----------
    path : Path
        The folder.
    attachments : dict of bytes
        Files by name, such as an encoder of the features.
    """

    path: Path
    attachments: Mapping[str, bytes] = field(default_factory=dict)

    def __fspath__(self) -> str:
        return os.fspath(self.path)


@contextmanager
def lock_folder(path: Path) -> Iterator[None]:
    """Keep other fits away from a folder, which is created if it is not there.

    Raises
    ------
    UserInputError
        If another fit uses it, or it can't be written to.
    """
    from filelock import FileLock, Timeout

    try:
        validate_checkpoint_path(path)
        path.mkdir(exist_ok=True)
        lock = FileLock(path / _LOCK_FILE)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UserInputError(
            f"Another fit is using the checkpoint {path}.", "Wait until it has ended, or name another folder."
        ) from error
    except OSError as error:
        raise UserInputError(
            f"The checkpoint {path} can't be written to: {error.strerror or error}.", "Choose another folder."
        ) from error
    try:
        yield
    finally:
        lock.release()


def validate_checkpoint_path(path: Path) -> None:
    """Check that a path is free for a checkpoint, or is one.

    Raises
    ------
    UserInputError
        If it is a file or a folder with other content, or lies in no folder.
    """
    if path.exists() and not path.is_dir():
        raise UserInputError(f"The checkpoint {path} is a file; expected a folder.", "Name another path, or delete it.")
    if not path.parent.is_dir():
        raise UserInputError(f"There is no folder {path.parent} for the checkpoint {path.name}.", "Create it.")
    names = set(os.listdir(path)) if path.exists() else set()
    if names and not names & {_LOCK_FILE, STATE_FILE}:
        raise UserInputError(f"The folder {path} holds other files and no checkpoint.", "Name another folder.")
