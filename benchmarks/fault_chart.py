"""A learner that hangs, is slow, crashes, takes memory or is too large, under tools that take a time limit."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier

from _fault_booster import JOBS
from _fault_chart_environment import CACHE, find_python
from _fault_chart_run import HARD_STOP_FACTOR, FaultRun, run_job
from _fault_chart_ways import WAYS
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from _resource_leaks import adopt_orphans, use_private_temporary_folder
from _synthetic_data import make_pool

# Rows and columns of the jobs, and rows for the test. Up to half of the rows nothing goes wrong.
_ROWS, _COLUMNS, _TEST_ROWS = 100_000, 20, 20_000
_ABOVE_SHARE = 0.5

# A sound fit on every row takes this share of the limit, and that of the last job this multiple of it.
_SOUND_SHARE = 0.6
_LARGE_FACTOR = 3.0

_LATE_SECONDS = 0.1
# Trees of the two fits that measure what one takes.
_TIMED_TREES = (20, 80)
_GB = 1e9


def write_rows(folder: Path, n_rows: int) -> None:
    """Write training and test rows as files that every environment can read."""
    X, y = make_pool(n_rows + _TEST_ROWS, _COLUMNS)
    parts = {"X": X[:n_rows], "y": y[:n_rows], "X_test": X[n_rows:], "y_test": y[n_rows:]}
    for name, values in parts.items():
        np.save(folder / f"{name}.npy", values)


def measure_seconds_a_tree(folder: Path) -> float:
    """Return the seconds of one tree on every row."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    times = []
    for trees in _TIMED_TREES:
        start = time.perf_counter()
        LGBMClassifier(n_estimators=trees, n_jobs=1, verbosity=-1).fit(X, y)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / (_TIMED_TREES[1] - _TIMED_TREES[0])


def run_all(tools: dict[str, str], arguments: argparse.Namespace, folder: Path) -> list[FaultRun]:
    """Run every job under every tool, one after another."""
    write_rows(folder, arguments.rows)
    a_tree, runs = measure_seconds_a_tree(folder), []
    for job in arguments.jobs:
        is_large = job == JOBS[-1]
        share = _LARGE_FACTOR if is_large else _SOUND_SHARE
        settings = {
            "job": job,
            "limit": arguments.limit,
            "trees": max(20, round(share * arguments.limit / a_tree)),
            "above": arguments.rows if is_large else round(_ABOVE_SHARE * arguments.rows),
            "max_bytes": int(arguments.memory * _GB),
            "folder": str(folder),
        }
        for tool, python in tools.items():
            runs.append(run_job(python, tool, settings))
            print(describe_run(runs[-1], with_job=True), flush=True)
    return runs


def describe_run(run: FaultRun, *, with_job: bool = False) -> str:
    """Return the cell of a run: when it ended, with which model, and what it left."""
    name = f"{run.tool}, {run.job}: " if with_job else ""
    if run.ended == "hard stop":
        return f"{name}**over {HARD_STOP_FACTOR:g} x**, no model"
    over = run.seconds - run.limit
    when = f"{over:+.2f} s" if abs(over) < 10 else f"{over:+.0f} s"
    if run.ended == "died":
        found = "program ended, no model" if run.tool == "timeout(1)" else "**program died**, no model"
    elif run.accuracy is None:
        found = f"no model ({run.error})" if run.error else "no model"
    else:
        found = f"model, {100 * run.accuracy:.1f} %"
    left = count_left(run)
    return f"{name}{when}, {found}" + (f"; left: {left}" if left else "")


def count_left(run: FaultRun) -> str:
    """Return what was left after the return or after the end of the program, by kind; empty if nothing was."""
    kinds: dict[str, int] = {}
    for one in max(run.left, run.left_after_exit, key=len):
        kind = one.split(":")[0].removeprefix("the ")
        kinds[kind] = kinds.get(kind, 0) + 1
    words = {"process": ("process", "processes"), "temporary": ("temporary file", "temporary files")}
    return ", ".join(f"{n} {words.get(kind, (kind, kind))[n > 1]}" for kind, n in kinds.items())


def make_tables(runs: Sequence[FaultRun]) -> list[MarkdownTable]:
    """Return a table of outcomes by tool and job, and one of memory."""
    tools, jobs = (list(dict.fromkeys(getattr(run, name) for run in runs)) for name in ("tool", "job"))
    cells = {(run.tool, run.job): run for run in runs}
    outcomes = [[tool, *(describe_run(cells[tool, job]) for job in jobs)] for tool in tools]
    memory = [[tool, *(_describe_memory(cells[tool, job]) for job in jobs)] for tool in tools]
    limit = runs[0].limit
    return [
        MarkdownTable(f"Seconds after a limit of {limit:g} s, model, and what was left", ("tool", *jobs), outcomes),
        MarkdownTable("Memory beyond that before the fit (GB): peak, and after the return", ("tool", *jobs), memory),
    ]


def _describe_memory(run: FaultRun) -> str:
    killed = ", **killed for memory**" if run.killed_for_memory else ""
    return f"{run.peak_memory / _GB:.1f}, {run.memory_left / _GB:.1f}{killed}"


def make_goals(runs: Sequence[FaultRun]) -> list[Goal]:
    """Return the goals of fitwithin: in time, with a model, and nothing left."""
    ours = [run for run in runs if run.tool == "fitwithin"]
    if not ours:
        return []
    latest = max(run.seconds - run.limit for run in ours)
    missing, leaving = sum(run.accuracy is None for run in ours), sum(bool(count_left(run)) for run in ours)
    return [
        Goal(f"no job more than {_LATE_SECONDS} s late; at most {latest:+.3f} s", latest <= _LATE_SECONDS),
        Goal(f"a model of every job; {missing} of {len(ours)} have none", not missing),
        Goal(f"nothing left behind; {leaving} of {len(ours)} left something", not leaving),
    ]


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--limit", type=float, default=20.0, help="time limit of each job in seconds")
    add("--tools", nargs="+", choices=list(WAYS), default=list(WAYS), help="tools to run")
    add("--jobs", nargs="+", choices=JOBS, default=JOBS, help="jobs to run")
    add("--rows", type=int, default=_ROWS, help="training rows")
    add("--memory", type=float, default=4.0, help="GB at which the largest process is killed, as the system would")
    add("--autogluon", action="store_true", help="install AutoGluon in an environment of its own, about 1 GB")
    add("--optuna", action="store_true", help="install Optuna in an environment of its own")
    add("--cache", type=Path, default=CACHE, help="folder of these environments")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run every job under every tool that is installed; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(argv), Environment.current()
    wanted = {"AutoGluon": arguments.autogluon, "Optuna, timeout": arguments.optuna}
    found = {tool: find_python(tool, arguments.cache, make=wanted.get(tool, False)) for tool in arguments.tools}
    tools = {tool: python for tool, python in found.items() if python is not None}
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder, use_private_temporary_folder():
        runs = run_all(tools, arguments, Path(folder))
    figures = {"limit": arguments.limit, "memory_gb": arguments.memory, "runs": [asdict(run) for run in runs]}
    return write_report("fault_chart", environment, make_tables(runs), make_goals(runs), figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
