"""fitwithin theory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitwithin._cli.errors import USAGE, fail, report_write_errors


def theory(
    parts: Annotated[list[str] | None, typer.Argument(help="Which simulations to run; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="The folder for tables and pictures.")] = Path("theory"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
) -> None:
    """Check the paper's theorems by simulation: tables, and pictures with what the theorems say drawn in.

    Example: fitwithin theory --out theory --seed 1
    """
    from fitwithin._research.theory import PARTS, run_theory

    try:
        with report_write_errors(out):
            run_theory(out, seed=seed, parts=tuple(parts or PARTS))
    except (ImportError, ValueError) as error:
        fail(str(error), code=USAGE)
