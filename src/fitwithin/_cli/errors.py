"""How a command ends that can't go on: one sentence on standard error, a hint, and a code."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import typer

from fitwithin._cli.console import one_line
from fitwithin._core.exceptions import NoModelInTime, UserInputError

FAILED = 1
"""The exit code for a command that did what it could, and has nothing to show."""


USAGE = 2
"""The exit code for a command that was given something it can't work with."""


NO_MODEL = 3
"""The exit code for a command that had too little time for a model."""


STOPPED = 130
"""The exit code for a command that was stopped from the keyboard, as shells have it."""


_EXTRAS = {"pandas": "files", "pyarrow": "files", "skops": "models", "matplotlib": "plots"}


def fail(sentence: str, *, code: int, hint: str = "") -> NoReturn:
    """Say why, and end the command."""
    typer.echo(one_line(sentence), err=True)
    if hint:
        typer.echo(f"Hint: {one_line(hint)}", err=True)
    raise typer.Exit(code)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """End the command with a sentence if a folder can't be written to."""
    try:
        yield
    except OSError as error:
        where = folder if error.filename is None else error.filename
        fail(f"can't write to {where}: {error.strerror or error}", code=USAGE)


@contextmanager
def explained(*, debug: bool) -> Iterator[None]:
    """End the command with a sentence and a code for whatever goes wrong; with the whole story only if it is wanted."""
    try:
        yield
    except typer.Exit:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        _fail_for(error, hint="" if debug else "--debug shows where it comes from.")


def _fail_for(error: BaseException, hint: str) -> NoReturn:
    match error:
        case KeyboardInterrupt():
            fail("Interrupted; nothing was written.", code=STOPPED)
        case NoModelInTime():
            fail(error.sentence, code=NO_MODEL)
        case UserInputError():
            fail(error.sentence, code=USAGE, hint=error.hint)
        case MemoryError():
            fail("There is not enough memory.", code=FAILED, hint="Use fewer rows or columns, or a larger machine.")
        case _:
            said = " ".join(str(error).split())
            fail(f"{type(error).__name__}{': ' if said else ''}{said[:500]}", code=FAILED, hint=hint)


def require(*libraries: str) -> None:
    """Refuse to begin what can't be ended without a library.

    Raises
    ------
    UserInputError
        If one is not installed; names the command that installs it.
    """
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        extras = ",".join(sorted({_EXTRAS[library] for library in missing}))
        are = "is" if len(missing) == 1 else "are"
        raise UserInputError(
            f"This command needs {' and '.join(missing)}, which {are} not installed.",
            f"pip install 'fitwithin[{extras}]'",
        )
