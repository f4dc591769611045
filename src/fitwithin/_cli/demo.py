"""fitwithin demo."""

from __future__ import annotations

import typer

from fitwithin._cli.errors import report_errors
from fitwithin._cli.options import DebugOption, parse_limit
from fitwithin._core.budget import parse_time_limit


def demo(
    time_limit: str = typer.Option(
        "20s", help="Time limit of fitwithin and of doubling random rows: seconds, or text such as 90s."
    ),
    rows: int = typer.Option(300_000, min=1_000, help="Rows to simulate; a fifth of them are test rows."),
    seed: int = typer.Option(0, min=0, help="Seed of the data and of every random choice."),
    debug: DebugOption = False,
) -> None:
    """Train on simulated data, and compare fitwithin with random rows that double and with one random sample.

    Example: fitwithin demo --time-limit 10s --seed 1
    """
    with report_errors(debug=debug):
        seconds = parse_limit("--time-limit", parse_time_limit, time_limit)
        from fitwithin._demo import run_demo

        run_demo(seconds, rows=rows, seed=seed)
