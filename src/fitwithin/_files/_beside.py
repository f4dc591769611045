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
    if path.exists() and not force:
        raise Unusable(f"{path} exists already.", "Choose another name, or replace it with --force.")
    if not path.parent.is_dir():
        raise Unusable(f"There is no folder {path.parent} to write {path.name} to.", f"Make it: mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise Unusable(f"The folder {path.parent.resolve()} can't be written to.", "Choose another one.")


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
    # In the same folder, so that renaming it is one step; hidden, and unlike any other of this machine.
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield beside
        _synced(beside)
        refuse_existing(path, force=force)
        os.replace(beside, path)
    except OSError as error:
        raise Unusable(f"{path} can't be written: {error.strerror or error}.", "Choose another place.") from error
    finally:
        beside.unlink(missing_ok=True)


def _synced(file: Path) -> None:
    """A rename that outlives a crash of the machine must not come before the bytes."""
    with file.open("rb+") as written:
        os.fsync(written.fileno())
