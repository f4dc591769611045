"""Files that are there whole or not at all: written beside, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._exceptions import Unusable


def refuse_existing(path: Path, *, force: bool) -> None:
    """Find out before any work is done that its result could not be written.

    Raises
    ------
    Unusable
        If the file exists and may not be replaced, or its folder can't be written to.
    """
    if path.is_dir():
        raise Unusable(f"{path} is a folder.", f"Name a file, such as {path / 'model.skops'}.")
    if not force:
        _refuse_file(path)
    if path.parent.exists() and not path.parent.is_dir():
        raise Unusable(f"{path.parent} is no folder.", "Choose another place.")
    if not path.parent.exists():
        raise Unusable(f"There is no folder {path.parent} to write {path.name} to.", f"Make it: mkdir -p {path.parent}")
    try:
        # Permissions alone do not tell: a disk may be read-only, and the superuser may write almost anywhere.
        _beside(path).touch()
        _beside(path).unlink()
    except OSError as error:
        raise Unusable(
            f"Nothing can be written to the folder {path.parent.resolve()}: {error.strerror or error}.",
            "Choose another place.",
        ) from error


def _refuse_file(path: Path) -> None:
    if path.exists():
        raise Unusable(f"{path} exists already.", "Choose another name, or replace it with --force.")


def _beside(path: Path) -> Path:
    """In the same folder, so that renaming it is one step; hidden, and unlike any other of this machine."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def written_beside(path: Path, *, force: bool) -> Iterator[Path]:
    """A path to write to, which becomes the wanted one if all goes well and vanishes if not.

    Parameters
    ----------
    path : Path
        The wanted one.
    force : bool
        Whether it may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with written_beside(Path(folder.name) / "a.txt", force=False) as beside:
    ...     _ = beside.write_text("whole")
    >>> os.listdir(folder.name)
    ['a.txt']
    >>> folder.cleanup()
    """
    beside = _beside(path)
    try:
        yield beside
        _synced(beside)
        if not force:
            _refuse_file(path)
        os.replace(beside, path)
    except OSError as error:
        raise Unusable(f"{path} can't be written: {error.strerror or error}.", "Choose another place.") from error
    finally:
        beside.unlink(missing_ok=True)


def _synced(file: Path) -> None:
    """A rename that outlives a crash of the machine must not come before the bytes."""
    with file.open("rb+") as written:
        os.fsync(written.fileno())
