"""Files of results: none is replaced unasked, and whether one can be written is known before the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fitwithin._core.atomic_write import atomic_write, temporary_sibling
from fitwithin._core.exceptions import UserInputError


def refuse_existing(path: Path, *, force: bool) -> None:
    """Find out before any work is done that its result could not be written.

    Raises
    ------
    UserInputError
        If the file exists and may not be replaced, or its folder can't be written to.
    """
    if path.is_dir():
        raise UserInputError(f"{path} is a folder.", f"Name a file, such as {path / 'model.skops'}.")
    if path.exists() and not path.is_file():
        raise UserInputError(f"{path} is no ordinary file.", "Choose another name.")
    if not force:
        _refuse_file(path)
    if path.parent.exists() and not path.parent.is_dir():
        raise UserInputError(f"{path.parent} is no folder.", "Choose another place.")
    if not path.parent.exists():
        raise UserInputError(
            f"There is no folder {path.parent} to write {path.name} to.", f"Make it: mkdir -p {path.parent}"
        )
    try:
        # Permissions alone do not tell: a disk may be read-only, and the superuser may write almost anywhere.
        trial = temporary_sibling(path)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise UserInputError(
            f"Nothing can be written to the folder {path.parent.resolve()}: {error.strerror or error}.",
            "Choose another place.",
        ) from error


def _refuse_file(path: Path) -> None:
    if path.exists():
        raise UserInputError(f"{path} exists already.", "Choose another name, or replace it with --force.")


@contextmanager
def written_beside(path: Path, *, force: bool) -> Iterator[Path]:
    """A path to write to, which becomes the wanted one if all goes well and vanishes if not.

    Parameters
    ----------
    path : Path
        The wanted one.
    force : bool
        Whether it may be replaced.

    Raises
    ------
    UserInputError
        If it can't be written, or is there by now.
    """
    written = path
    try:
        with atomic_write(path) as written:
            yield written
            if not force:
                _refuse_file(path)
    except OSError as error:
        if error.filename not in (None, str(written), str(path)):
            # Of another file, which is not to be written.
            raise
        raise UserInputError(f"{path} can't be written: {error.strerror or error}.", "Choose another place.") from error
