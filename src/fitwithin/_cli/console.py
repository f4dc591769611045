"""What is said to people; whatever a file of a stranger holds, it is text and nothing else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.text import Text

from fitwithin.viz._html import replace_unprintable

# Ends of lines, and signs that turn the direction of writing: with them a text could pretend to be another one.
_MISLEADING = re.compile("[\\t\\n\\r\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]")


def one_line(text: object) -> str:
    """A text without the signs by which it could take over a terminal, or look like another one.

    Examples
    --------
    >>> one_line("a" + chr(27) + "[2Jb")
    'a�[2Jb'
    """
    return _MISLEADING.sub("\N{REPLACEMENT CHARACTER}", replace_unprintable(str(text)))


def say(console: Console, text: str) -> None:
    """A line as it is: nothing in it is markup, and it is not cut."""
    console.print(Text(one_line(text)), soft_wrap=True)


@contextmanager
def on_standard_error() -> Iterator[None]:
    """What is printed meanwhile, by any library and by processes that are started, goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def note(text: str) -> None:
    """Something that does not stop the command, on standard error."""
    typer.echo(f"Note: {one_line(' '.join(text.split()))}", err=True)
