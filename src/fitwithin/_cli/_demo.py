"""fitwithin demo."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from .._demo import run_demo
from .._exceptions import FitwithinError
from .._time_limit import seconds_of
from ._failing import USAGE, fail


def demo(
    time_limit: Annotated[str, typer.Option(help="For each teacher: seconds, or text such as 90s or 1m30s.")] = "20s",
    rows: Annotated[int, typer.Option(min=1_000, help="Rows to simulate; a fifth of them is held out.")] = 300_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the data, the teachers and the learner.")] = 0,
) -> None:
    """Train on a made-up data set, and compare TCT with Double and with a sample of a guessed size.

    Example: fitwithin demo --time-limit 10s --seed 1
    """
    seconds = _seconds(time_limit)
    try:
        run_demo(seconds, rows=rows, seed=seed)
    except FitwithinError as error:
        fail(str(error), code=1)


def _seconds(text: str) -> float:
    """A time limit off the command line, where a plain number is text too."""
    number: str | float = text
    with contextlib.suppress(ValueError):
        number = float(text)
    try:
        return seconds_of(number)
    except ValueError:
        fail(f"--time-limit must be positive, such as 20, 2.5, 90s, 15m or 1h30m; got {text!r}.", code=USAGE)
