"""Limits of minutes: fitwithin against what a user has without it, where a plain fit takes 5 to 8 minutes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _git import current_commit
from _minutes_pairs import PAIRS, MinutesPair
from _minutes_summary import MinutesRun, make_comparison, make_goals, make_pair_table
from _minutes_ways import CALLBACK, DOUBLING, FITWITHIN, PLAIN, SIZED, FitTask, run_way
from _options import add_data_option, require_data
from _report import RESULTS, Environment, write_report
from fitwithin_paper.study.result_log import ResultLog, lock_results

RATIOS = (0.1, 0.25, 0.5, 1.2)
"""Limits, as shares of the time of a plain fit."""

# Seconds to start an interpreter, read the rows and score the model: a guess for the plan.
_READ_SECONDS = 25.0

# A run is given up after this multiple of the plain fit and of its limit, and ten minutes: something is wrong.
_STOP_FACTOR = 3.0
_STOP_SECONDS = 600.0


@dataclass(frozen=True)
class PlannedRun:
    """A run that is to be made; the plain fit of a pair comes first and has no ratio."""

    pair: MinutesPair
    way: str
    ratio: float | None
    seed: int
    scale: float

    @property
    def key(self) -> dict[str, Any]:
        """The fields of a result that tell it from every other one."""
        fields = {"pair": self.pair.name, "way": self.way, "ratio": self.ratio}
        return {**fields, "seed": self.seed, "scale": self.scale}

    def planned_seconds(self) -> float:
        """Return the seconds that the run is expected to take."""
        return _READ_SECONDS + self.pair.seconds * self.scale * min(self.ratio or 1.0, 1.0)


def plan_runs(pairs: Sequence[str], ratios: Sequence[float], seed: int, scale: float) -> Iterator[PlannedRun]:
    """Yield the runs in their order: pair by pair, the plain fit first, then limit by limit."""
    for pair in (pair for pair in PAIRS if pair.name in pairs):
        yield PlannedRun(pair, PLAIN, None, seed, scale)
        for ratio in ratios:
            for way in (FITWITHIN, SIZED, DOUBLING, *([CALLBACK] if pair.callback else [])):
                yield PlannedRun(pair, way, ratio, seed, scale)


def run_in_fresh_process(run: PlannedRun, data: Path, full_seconds: float | None) -> dict[str, Any]:
    """Run in a new interpreter; return values for JSON. A run that fails has no accuracy, and says why in `stop`."""
    limit = None if run.ratio is None or full_seconds is None else run.ratio * full_seconds
    command = [sys.executable, __file__, "--data", str(data), "--run", json.dumps({**run.key, "limit": limit})]
    expected = max(run.pair.seconds * run.scale, full_seconds or 0.0)
    stop_after = _STOP_SECONDS + _STOP_FACTOR * (expected + (limit or 0.0))
    load = os.getloadavg()[0]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=stop_after)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing on standard error"])[-1]
        raise SystemExit(f"{run.key} failed with exit code {done.returncode}: {last}")
    return {**run.key, "limit": limit, "load": load, **json.loads(done.stdout.splitlines()[-1])}


def _run_here(fields: dict[str, Any], data: Path) -> None:
    (pair,) = (pair for pair in PAIRS if pair.name == fields["pair"])
    rows = pair.read_rows(data, fields["scale"])
    task = FitTask(pair.make_learner(), rows, fields["limit"], fields["seed"])
    print(json.dumps(run_way(fields["way"], task)), flush=True)


def run_missing(planned: Sequence[PlannedRun], log: ResultLog, data: Path) -> None:
    """Make every planned run that the log lacks, and append each as it ends."""
    log.append([{"kind": "start", "machine": asdict(Environment.current()), "commit": current_commit()}])
    for run in planned:
        if log.find_lines("fit", **run.key):
            continue
        plain = log.find_lines("fit", **{**run.key, "way": PLAIN, "ratio": None})
        found = run_in_fresh_process(run, data, plain[-1]["seconds"] if plain else None)
        log.append([{"kind": "fit", **found}])
        print(json.dumps(found), flush=True)


def write_summary(log: ResultLog, scale: float, folder: Path) -> int:
    """Write tables and goals of the runs that are there; return 1 if a goal is missed."""
    lines = [line for line in log.find_lines("fit") if line["scale"] == scale]
    runs = [MinutesRun(**{key: value for key, value in line.items() if key not in ("v", "kind")}) for line in lines]
    if not any(run.way == FITWITHIN for run in runs):
        raise SystemExit(f"no fit of fitwithin at scale {scale:g} in {log.file}")
    descriptions = {pair.name: f"{pair.dataset}, {pair.name}: {pair.description}" for pair in PAIRS}
    tables = [make_pair_table(runs, descriptions), make_comparison(runs)]
    start = log.find_lines("start")[-1]
    figures = {"scale": scale, "runs": [asdict(run) for run in runs]}
    environment = Environment(**start["machine"])
    return write_report("minutes", environment, tables, make_goals(runs), figures, folder, start.get("commit"))


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [pair.name for pair in PAIRS]
    add_data_option(parser)
    parser.add_argument("--pairs", nargs="+", choices=names, default=names, help="pairs to run")
    parser.add_argument("--ratios", type=float, nargs="+", default=RATIOS, help="limits / time of a plain fit")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of rows and of the learner")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the time of a plain fit, by fewer rows")
    parser.add_argument("--plan", action="store_true", help="print the missing runs and their seconds, and stop")
    parser.add_argument("--summary", action="store_true", help="write the tables of the runs that are there, and stop")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--run", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if not (arguments.plan or arguments.summary):
        require_data(parser, arguments)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing, and write the summary; return 1 if a goal is missed."""
    arguments = _parse_arguments(argv)
    if arguments.run:
        _run_here(arguments.run, arguments.data)
        return 0
    file = arguments.results / "minutes.jsonl"
    with lock_results(file):
        log = ResultLog(file)
        planned = list(plan_runs(arguments.pairs, arguments.ratios, arguments.seed, arguments.scale))
        missing = [run for run in planned if not log.find_lines("fit", **run.key)]
        if arguments.plan:
            for run in missing:
                ratio = "" if run.ratio is None else f" at {run.ratio:g} t_full"
                print(f"{run.planned_seconds():6.0f} s  {run.pair.name}: {run.way}{ratio}")
            print(f"{sum(run.planned_seconds() for run in missing):6.0f} s in all, {len(missing)} runs")
            return 0
        if not arguments.summary and missing:
            run_missing(missing, log, arguments.data)
        return write_summary(log, arguments.scale, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
