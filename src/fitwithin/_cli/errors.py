"""Errors of the commands: one sentence on standard error, a hint, and an exit code."""

from __future__ import annotations

import errno
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from fitwithin._cli.console import sanitize_line
from fitwithin._core.exceptions import NoModelInMemory, NoModelInTime, UserInputError

EXIT_FAILED = 1
"""Exit code for any other failure."""


EXIT_USAGE = 2
"""Exit code for wrong options or unusable input."""


EXIT_NO_MODEL = 3
"""Exit code for a time or memory limit that was too small for a model."""


EXIT_STOPPED = 130
"""Exit code after Ctrl-C, as in shells."""


_MAX_MESSAGE_LENGTH = 500
"""Characters of an unexpected error that are shown."""


def fail(sentence: str, *, code: int, hint: str = "") -> NoReturn:
    """Print an error, and end the command."""
    typer.echo(sanitize_line(sentence), err=True)
    if hint:
        typer.echo(f"Hint: {sanitize_line(hint)}", err=True)
    raise typer.Exit(code)


@contextmanager
def report_errors(*, debug: bool) -> Iterator[None]:
    """End the command with one sentence and an exit code for any error; print the traceback only for --debug."""
    try:
        yield
    except typer.Exit:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        _fail_with(error, hint="" if debug else "Add --debug to see the traceback.")


def _fail_with(error: BaseException, hint: str) -> NoReturn:
    match error:
        case KeyboardInterrupt():
            fail("Interrupted; nothing was written.", code=EXIT_STOPPED)
        case NoModelInTime() | NoModelInMemory():
            fail(error.sentence, code=EXIT_NO_MODEL)
        case UserInputError():
            fail(error.sentence, code=EXIT_USAGE, hint=error.hint)
        case ImportError():
            fail(str(error), code=EXIT_USAGE)
        case OSError(errno=errno.ENAMETOOLONG):
            fail(f"{error.filename} is too long for a file name.", code=EXIT_USAGE, hint="Use a shorter name.")
        case _:
            message = " ".join(str(error).split())
            text = f"{type(error).__name__}{': ' if message else ''}{message[:_MAX_MESSAGE_LENGTH]}"
            fail(text, code=EXIT_FAILED, hint=hint)


@contextmanager
def handle_signal(number: signal.Signals, handler: Callable[..., Any]) -> Iterator[None]:
    """Call the handler for a signal in this block."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
