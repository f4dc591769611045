"""The command line."""

from __future__ import annotations

import typer

from ._demo import run_demo

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The best model by a deadline.")


@app.callback()
def main() -> None:
    """The best model that your learner can build by a deadline."""


@app.command()
def demo(seconds: float = typer.Option(20.0, "--time-limit", help="Seconds for each teacher.")) -> None:
    """Train on a made-up data set and compare with what people do today.

    Example: fitwithin demo --time-limit 10
    """
    run_demo(seconds)
