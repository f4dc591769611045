"""Console output. Text from files of any origin is printed without control characters or markup."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.text import Text

from fitwithin._core.printable_text import replace_unprintable

# Line ends and bidirectional controls: with them a text could pretend to be another one.
_MISLEADING = re.compile("[\\t\\n\\r\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]")


def sanitize_line(text: object) -> str:
    """Replace the characters by which a text could control a terminal or look like another text.

    Examples
    --------
    >>> sanitize_line("a" + chr(27) + "[2Jb")
    'a�[2Jb'
    """
    return _MISLEADING.sub("\N{REPLACEMENT CHARACTER}", replace_unprintable(str(text)))


def print_line(console: Console, text: str) -> None:
    """Print a line without markup, wrapping or truncation."""
    console.print(Text(sanitize_line(text)), soft_wrap=True)


def print_note(text: str) -> None:
    """Print a remark that does not stop the command, on standard error."""
    typer.echo(f"Note: {sanitize_line(' '.join(text.split()))}", err=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print the first line of each warning of this block once, on standard error; none if the block fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for line in dict.fromkeys(str(warning.message).partition("\n")[0] for warning in caught):
        print_note(line)


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect the output of this process, its libraries and its children from standard output to standard error."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)
