"""On what a benchmark ran, and how its result is written down: the one place for both."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

RESULTS = Path(__file__).parent / "results"
_LIBRARIES = ("fitwithin", "numpy", "scipy", "scikit-learn", "lightgbm", "joblib", "pandas", "psutil")


@dataclass(frozen=True)
class Machine:
    """What a figure depends on besides the code.

    Parameters
    ----------
    date : str
        When the benchmark began, in UTC.
    processor, cores, memory_gb : str, int, float
        What it ran on.
    kernel, python : str
        Of the system and of the interpreter.
    libraries : dict
        Versions of the packages that matter.
    load : tuple of float
        Load average over 1, 5 and 15 minutes when the benchmark began.
    """

    date: str
    processor: str
    cores: int
    memory_gb: float
    kernel: str
    python: str
    libraries: dict[str, str]
    load: tuple[float, float, float]

    @classmethod
    def here(cls) -> Machine:
        """The machine that this runs on, now."""
        return cls(
            date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            processor=_processor(),
            cores=os.cpu_count() or 0,
            memory_gb=round(psutil.virtual_memory().total / 2**30, 1),
            kernel=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            libraries={name: found for name in _LIBRARIES if (found := _version(name))},
            load=os.getloadavg(),
        )

    def __str__(self) -> str:
        libraries = ", ".join(f"{name} {found}" for name, found in self.libraries.items())
        load = " ".join(f"{value:.2f}" for value in self.load)
        return (
            f"{self.date}; {self.cores} cores ({self.processor}), {self.memory_gb:g} GB, {self.kernel}, "
            f"Python {self.python}; {libraries}; load average before {load}"
        )


@dataclass(frozen=True)
class Table:
    """A titled table of text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join([f"## {self.title}", "", *("| " + " | ".join(line) + " |" for line in lines)])


@dataclass(frozen=True)
class Goal:
    """Something that a benchmark is to show, and whether it did."""

    text: str
    met: bool

    def __str__(self) -> str:
        return f"- {'met' if self.met else '**MISSED**'}: {self.text}"


@dataclass(frozen=True)
class Spread:
    """The middle and the bad end of some figures; the 99th percentile is one of them, never an interpolation."""

    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of these values."""
        p50, p99 = np.percentile(values, [50, 99], method="higher")
        return cls(float(p50), float(p99), max(values))


def report(
    name: str,
    machine: Machine,
    tables: Sequence[Table],
    goals: Sequence[Goal],
    figures: Mapping[str, Any],
    folder: Path = RESULTS,
) -> int:
    """Print a result and write it as JSON and Markdown; the exit code, 1 if a goal is missed."""
    text = "\n\n".join(
        [f"# {name}", f"`{command()}`", str(machine), *map(str, tables), "## Goals", "\n".join(map(str, goals))]
    )
    record = {"command": command(), "machine": asdict(machine), "goals": [asdict(goal) for goal in goals], **figures}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text + "\n")
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(text)
    return int(not all(goal.met for goal in goals))


def command() -> str:
    """The command line of this process; of paths only their last part."""
    arguments = [Path(argument).name if os.sep in argument else argument for argument in sys.argv[1:]]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *arguments])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
