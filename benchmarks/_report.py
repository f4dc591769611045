"""Report of a benchmark: tables and goals, as Markdown and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from _git import current_commit
from fitwithin._core.environment import Environment

__all__ = ["RESULTS", "Environment", "Goal", "MarkdownTable", "Quantiles", "format_command", "write_report"]

# Default folder for results.
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class MarkdownTable:
    """Table of text cells with a title."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join([f"## {self.title}", "", *("| " + " | ".join(line) + " |" for line in lines)])


@dataclass(frozen=True)
class Goal:
    """Goal of a benchmark, and whether it was met."""

    text: str
    met: bool

    def __str__(self) -> str:
        return f"- {'met' if self.met else '**MISSED**'}: {self.text}"


@dataclass(frozen=True)
class Quantiles:
    """Median, 99th percentile and maximum of some values, without interpolation."""

    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles:
        """Compute the quantiles of these values."""
        p50, p99 = np.percentile(values, [50, 99], method="higher")
        return cls(float(p50), float(p99), max(values))


def write_report(
    name: str,
    environment: Environment,
    tables: Sequence[MarkdownTable],
    goals: Sequence[Goal],
    figures: Mapping[str, Any],
    folder: Path = RESULTS,
    commit: str | None = None,
) -> int:
    """Print a result, write it as JSON and Markdown, and return the exit code: 1 if a goal is missed.

    Parameters
    ----------
    name : str
        Name of the benchmark, and of both files.
    environment : Environment
        The machine before the run.
    tables, goals : sequence
        The result.
    figures : mapping
        Every single figure, for the JSON.
    folder : Path
        Folder of the files.
    commit : str, optional
        The measured commit, if it is not that of the checkout.
    """
    text = "\n\n".join(
        [
            f"# {name}",
            f"`{format_command()}`",
            describe_environment(environment),
            *map(str, tables),
            "## Goals",
            "\n".join(map(str, goals)),
        ]
    )
    record = {
        "command": format_command(),
        "commit": commit or current_commit(),
        "machine": asdict(environment),
        "tables": [asdict(table) for table in tables],
        "goals": [asdict(goal) for goal in goals],
        **figures,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text + "\n")
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(text)
    return int(not all(goal.met for goal in goals))


def describe_environment(environment: Environment) -> str:
    """Return the machine, the versions and the load before the run in one line."""
    libraries = ", ".join(f"{name} {found}" for name, found in environment.libraries.items())
    load = " ".join(f"{value:.2f}" for value in environment.load)
    return (
        f"{environment.date}; {environment.cores} cores ({environment.processor}), {environment.memory_gb:g} GB, "
        f"{environment.kernel}, Python {environment.python}; {libraries}; load average before {load}"
    )


def format_command() -> str:
    """Return the command line of this process, with paths reduced to their last part."""
    arguments = [Path(argument).name if os.sep in argument else argument for argument in sys.argv[1:]]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *arguments])
