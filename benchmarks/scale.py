"""Measure fits on data sets that do not fit into memory: files, sorted ones, mapped arrays, mixed frames."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from _scale_data import COLUMNS, write_files, write_mapped, write_mixed_files, write_sorted_files
from _scale_fit import ScaleFit

# Seconds until the first fit of the learner begins.
FIRST_LESSON_GOAL = 3.0

# Largest anonymous and shared memory of all processes, in GiB: of numbers, and of a mixed frame.
MEMORY_GOAL = 4.0
MIXED_MEMORY_GOAL = 6.0

# Largest relative difference of the training rows, from files and from a mapped array, and by rows of a mapped array.
ROWS_GOAL = 0.10

# Largest loss of accuracy by files that are sorted by class.
ACCURACY_GOAL = 0.005

# Least throughput of a shuffle, relative to a plain copy of the files.
SHUFFLE_GOAL = 1 / 3

# Rows of the first subset where pools of different sizes are compared, and seconds to reach about 500,000 rows.
_FIRST_ROWS = 4_000
_POOL_SECONDS = 30.0

Figures = dict[str, Any]


@dataclass(frozen=True)
class ScaleSettings:
    """Sizes and limits of the measurements.

    Parameters
    ----------
    rows, mixed_rows : int
        Rows of numbers, and of mixed types.
    seconds, pool_seconds : float
        Time limit, and the one for pools of different sizes.
    folder : Path
        Where the data sets are made up; each is deleted when it has been measured.
    """

    rows: int
    mixed_rows: int
    seconds: float
    pool_seconds: float
    folder: Path


@contextmanager
def made_up(settings: ScaleSettings, write: Callable[[Path, int], Path], n_rows: int) -> Iterator[Path]:
    """Make a data set up, and delete it at the end."""
    folder = settings.folder / write.__name__
    shutil.rmtree(folder, ignore_errors=True)
    start = time.monotonic()
    try:
        write(folder, n_rows)
        print(f"{write.__name__}: {n_rows:,} rows in {time.monotonic() - start:.0f} s", flush=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_files(settings: ScaleSettings) -> dict[str, Figures]:
    """Measure a fit on files, and the throughput of a shuffle of them."""
    with made_up(settings, write_files, settings.rows) as folder:
        fit = ScaleFit(str(folder), "files", settings.seconds, spool=str(settings.folder)).measure()
        return {"files": fit, "shuffle": _measure_shuffle(folder, settings.folder)}


def _measure_shuffle(source: Path, folder: Path) -> Figures:
    copy, shuffled = folder / "copy", folder / "shuffled"
    for target in (copy, shuffled):
        shutil.rmtree(target, ignore_errors=True)
    n_bytes = sum(file.stat().st_size for file in source.iterdir())
    try:
        start = time.monotonic()
        shutil.copytree(source, copy)
        copy_seconds = time.monotonic() - start
        shutil.rmtree(copy)
        start = time.monotonic()
        program = "from fitwithin._cli import app; app()"
        subprocess.run([sys.executable, "-c", program, "shuffle", str(source), "--out", str(shuffled)], check=True)
        return {"bytes": n_bytes, "copy": copy_seconds, "shuffle": time.monotonic() - start}
    finally:
        for target in (copy, shuffled):
            shutil.rmtree(target, ignore_errors=True)


def measure_mapped(settings: ScaleSettings) -> dict[str, Figures]:
    """Measure fits on a mapped array, and on smaller parts of it."""
    results = {}
    with made_up(settings, write_mapped, settings.rows) as folder:
        results["mapped"] = ScaleFit(str(folder), "mapped", settings.seconds).measure()
        for times in (100, 10, 1):
            rows = settings.rows // times
            results[f"first {rows} rows"] = ScaleFit(
                str(folder), "mapped", settings.pool_seconds, rows=rows, first=_FIRST_ROWS
            ).measure()
    return results


def measure_sorted(settings: ScaleSettings) -> dict[str, Figures]:
    """Measure a fit on files that are sorted by class."""
    with made_up(settings, write_sorted_files, settings.rows) as folder:
        return {"sorted": ScaleFit(str(folder), "files", settings.seconds, spool=str(settings.folder)).measure()}


def measure_mixed(settings: ScaleSettings) -> dict[str, Figures]:
    """Measure a fit on files with columns of every type."""
    with made_up(settings, write_mixed_files, settings.mixed_rows) as folder:
        return {"mixed": ScaleFit(str(folder), "mixed", settings.seconds, spool=str(settings.folder)).measure()}


PARTS = {"files": measure_files, "mapped": measure_mapped, "sorted": measure_sorted, "mixed": measure_mixed}


def make_tables(results: dict[str, Figures], settings: ScaleSettings) -> list[MarkdownTable]:
    """Return the tables of the parts that were measured."""
    fits = [name for name in ("files", "sorted", "mapped", "mixed") if name in results]
    columns = ("rows", "first fit begins (s)", "memory (GiB)", "training rows", "accuracy", "estimate", "returned (s)")
    tables = [
        MarkdownTable(
            f"LightGBM, {COLUMNS} columns, T = {settings.seconds:g} s",
            ("data set", *columns),
            [[name, *_fit_cells(results[name])] for name in fits],
        )
    ]
    parts = [name for name in results if name.startswith("first ")]
    if parts:
        rows = [[name, *_fit_cells(results[name]), _last_round(results[name])] for name in parts]
        title = f"Pools of different sizes, T = {settings.pool_seconds:g} s, a first subset of {_FIRST_ROWS:,} rows"
        tables.append(MarkdownTable(title, ("mapped array", *columns, "last round over after (s)"), rows))
    if "shuffle" in results:
        shuffle = results["shuffle"]
        cells = [f"{shuffle['bytes'] / 1e9:.1f}", f"{shuffle['copy']:.0f}", f"{shuffle['shuffle']:.0f}"]
        tables.append(MarkdownTable("Shuffle", ("files (GB)", "plain copy (s)", "shuffle (s)"), [cells]))
    return tables


def _fit_cells(fit: Figures) -> list[str]:
    estimate = fit["estimate"]
    return [
        f"{fit['rows']:,}",
        f"{fit['first_lesson']:.2f}",
        f"{fit['memory'] / 2**30:.2f}",
        f"{fit['rows_taught']:,}",
        f"{fit['accuracy']:.4f}",
        "none" if estimate is None else f"{estimate[0]:.4f} [{estimate[1]:.4f}, {estimate[2]:.4f}]",
        f"{fit['elapsed']:.2f}",
    ]


def _last_round(fit: Figures) -> str:
    return f"{fit['history'][-1]['elapsed']:.2f}"


def make_goals(results: dict[str, Figures]) -> list[Goal]:
    """Return the goals of the parts that were measured."""
    goals = []
    files, mapped, ordered = (results.get(name) for name in ("files", "mapped", "sorted"))
    if files is not None:
        first, memory = files["first_lesson"], files["memory"] / 2**30
        goals += [
            Goal(
                f"the first fit begins within {FIRST_LESSON_GOAL:g} s; after {first:.2f} s", first <= FIRST_LESSON_GOAL
            ),
            Goal(f"anonymous and shared memory of at most {MEMORY_GOAL:g} GiB; {memory:.2f}", memory <= MEMORY_GOAL),
        ]
    if files is not None and mapped is not None:
        ratio = files["rows_taught"] / mapped["rows_taught"]
        goals.append(
            Goal(f"as many training rows as from a mapped array, within 10 %; {ratio:.2f}", ratio >= 1 - ROWS_GOAL)
        )
    if files is not None and ordered is not None:
        loss = files["accuracy"] - ordered["accuracy"]
        goals.append(Goal(f"sorted files cost at most 0.5 points of accuracy; {100 * loss:.2f}", loss <= ACCURACY_GOAL))
    if "mixed" in results:
        memory = results["mixed"]["memory"] / 2**30
        goals.append(Goal(f"a mixed frame within {MIXED_MEMORY_GOAL:g} GiB; {memory:.2f}", memory <= MIXED_MEMORY_GOAL))
    taught = [results[name]["rows_taught"] for name in results if name.startswith("first ")]
    if taught:
        spread = 1 - min(taught) / max(taught)
        goals.append(Goal(f"training rows from pools of other sizes within 10 %; {spread:.0%}", spread <= ROWS_GOAL))
    if "shuffle" in results:
        ratio = results["shuffle"]["copy"] / results["shuffle"]["shuffle"]
        goals.append(Goal(f"a shuffle at a third of the speed of a copy; {ratio:.2f}", ratio >= SHUFFLE_GOAL))
    return goals


def main() -> int:
    """Measure the chosen parts; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where to make the data sets up; needs 35 GB")
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of numbers; a fifth for the mixed frame")
    parser.add_argument("--seconds", type=float, default=120, help="time limit of each fit")
    parser.add_argument(
        "--pool-seconds", type=float, default=_POOL_SECONDS, help="the one for pools of different sizes"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part only; may be repeated")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(), Environment.current()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    settings = ScaleSettings(
        arguments.rows, arguments.rows // 5, arguments.seconds, arguments.pool_seconds, arguments.folder
    )
    results: dict[str, Figures] = {}
    for part in arguments.only or PARTS:
        results |= PARTS[part](settings)
    return write_report(
        "scale", environment, make_tables(results, settings), make_goals(results), results, arguments.results
    )


if __name__ == "__main__":
    sys.exit(main())
