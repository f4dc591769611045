"""All commands together."""

from __future__ import annotations

import typer

from ._demo import demo
from ._study import study
from ._theory import theory

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.command()(demo)
app.command()(theory)
app.add_typer(study, name="study")


@app.callback()
def main() -> None:
    """The best model that your learner can build by a deadline.

    Example: fitwithin demo
    """
