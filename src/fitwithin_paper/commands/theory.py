"""fitwithin theory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitwithin_paper.commands.errors import report_usage_errors, report_write_errors


def theory(
    simulations: Annotated[
        list[str] | None,
        typer.Argument(help="Simulations to run: bad-example, theorem-1, agnostic, thresholds. Default: all."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the tables and figures.")] = Path("theory"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of all randomness.")] = 0,
) -> None:
    """Check the paper's theorems by simulation: write tables, and figures that show the theorems' bounds.

    Example: fitwithin theory --out theory --seed 1
    """
    from fitwithin_paper.theory import SIMULATIONS, run_simulations

    with report_usage_errors(), report_write_errors(out):
        run_simulations(out, seed=seed, names=tuple(simulations or SIMULATIONS))
