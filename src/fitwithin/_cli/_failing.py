"""How a command ends that can't go on: one sentence on standard error, and a code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

FAILED = 1
"""The exit code for a command that did what it could, and has nothing to show."""

USAGE = 2
"""The exit code for a command that was given something it can't work with."""

STOPPED = 130
"""The exit code for a command that was stopped from the keyboard, as shells have it."""


def fail(sentence: str, *, code: int) -> NoReturn:
    """Say why, and end the command."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """End the command with a sentence if a folder can't be written to."""
    try:
        yield
    except OSError as error:
        where = folder if error.filename is None else error.filename
        fail(f"can't write to {where}: {error.strerror or error}", code=USAGE)
