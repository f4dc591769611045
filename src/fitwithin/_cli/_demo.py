"""The command line."""

from __future__ import annotations

import contextlib
from typing import NoReturn

import typer

from ._demo import run_demo
from ._exceptions import FitwithinError
from ._time_limit import seconds_of

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def main() -> None:
    """The best model that your learner can build by a deadline.

    Example: fitwithin demo
    """


@app.command()
def demo(
    time_limit: str = typer.Option("20s", help="For each teacher: seconds, or text such as 90s or 1m30s."),
    rows: int = typer.Option(300_000, min=1_000, help="Rows to simulate; a fifth of them is held out."),
    seed: int = typer.Option(0, min=0, help="Of the data, the teachers and the learner."),
) -> None:
    """Train on a made-up data set, and compare TCT with Double and with a sample of a guessed size.

    Example: fitwithin demo --time-limit 10s --seed 1
    """
    seconds = _seconds(time_limit)
    try:
        run_demo(seconds, rows=rows, seed=seed)
    except FitwithinError as error:
        _fail(str(error), code=1)


def _seconds(text: str) -> float:
    """A time limit off the command line, where a plain number is text too."""
    number: str | float = text
    with contextlib.suppress(ValueError):
        number = float(text)
    try:
        return seconds_of(number)
    except ValueError:
        _fail(f"--time-limit must be positive, such as 20, 2.5, 90s, 15m or 1h30m; got {text!r}.", code=2)


def _fail(sentence: str, *, code: int) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(code)
