"""How a command ends that can't go on: one sentence on standard error, and a code."""

from __future__ import annotations

from typing import NoReturn

import typer

USAGE = 2
"""The exit code for a command that was given something it can't work with."""


def fail(sentence: str, *, code: int) -> NoReturn:
    """Say why, and end the command."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)
