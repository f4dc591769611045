"""fitwithin demo."""

from __future__ import annotations

from typing import Annotated

import typer

from fitwithin._cli.errors import report_errors
from fitwithin._cli.options import DebugOption, parse_time_limit_option


def demo(
    time_limit: Annotated[
        str, typer.Option(help="Time limit of fitwithin and of doubling random rows: seconds, or text such as 90s.")
    ] = "20s",
    rows: Annotated[int, typer.Option(min=1_000, help="Rows to simulate; a fifth of them are test rows.")] = 300_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of every random choice.")] = 0,
    debug: DebugOption = False,
) -> None:
    """Train on simulated data, and compare fitwithin with random rows that double and with one random sample.

    Example: fitwithin demo --time-limit 10s --seed 1
    """
    with report_errors(debug=debug):
        seconds = parse_time_limit_option(time_limit)
        from fitwithin._demo import run_demo

        run_demo(seconds, rows=rows, seed=seed)
