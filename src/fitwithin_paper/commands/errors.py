"""Errors of the commands: one sentence on standard error, a hint, and an exit code as of `fitwithin train`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

EXIT_FAILED = 1

EXIT_USAGE = 2
"""Exit code for wrong options or unusable input."""

EXIT_STOPPED = 130
"""Exit code after Ctrl-C, as in shells."""


def fail(sentence: str, *, code: int = EXIT_USAGE, hint: str = "") -> NoReturn:
    """Print an error, and end the command."""
    typer.echo(sentence, err=True)
    if hint:
        typer.echo(f"Hint: {hint}", err=True)
    raise typer.Exit(code)


@contextmanager
def report_usage_errors() -> Iterator[None]:
    """End the command with one sentence if its options are wrong or a library is missing."""
    try:
        yield
    except (ImportError, ValueError) as error:
        fail(str(error))


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """End the command with one sentence if a folder can't be written to."""
    try:
        yield
    except OSError as error:
        path = folder if error.filename is None else error.filename
        fail(f"Can't write to {path}: {error.strerror or error}")
