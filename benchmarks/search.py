"""Compare a search of hyperparameters under a limit with the default, FLAML, AutoGluon and scikit-learn's searches.

The race takes two hours and a half for two seeds, alone on the machine; `--flaml-python` and `--autogluon-python` name
interpreters of environments that have these tools. AutoGluon: ``pip install 'autogluon.tabular[lightgbm,catboost]'``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

from _accuracy_flaml import AutogluonRival, FlamlRival, find_version
from _accuracy_rivals import Rival
from _options import add_data_option, require_data, use_one_thread
from _report import RESULTS, Environment, MarkdownTable, write_report
from _search_covtype import CovtypePart
from _search_deadline import DeadlinePart
from _search_jobs import JobsPart, make_job_methods
from _search_list import ListPart
from _search_log import RunLog, SearchRun, read_runs
from _search_memory import MemoryPart
from _search_methods import AUTOGLUON, FLAML, FLAML_BUDGET, SEARCH, make_full_method, make_race_methods
from _search_pairs import SearchData, read_search_pairs, select_search_pairs
from _search_part import JOBS, RACE, Bench, Part
from _search_race import RacePart
from _search_recorder import DryRecorder, LogRecorder, Recorder
from _search_sklearn import HALVING, RANDOMIZED, SklearnMethod, SklearnPart, make_same_space_search
from fitwithin_paper.study.dataset_sources import load_dataset

LISTS = ("tuning", "final")
"""Lists of pairs. Settings may be chosen by the tuning list; the final list is run once, at the end."""

PARTS = (RACE, "sklearn", "covtype", "list", "deadline", "memory", JOBS)
"""Parts of the benchmark."""

MINED_DATASETS = ("adult", "covtype", "poker_hand")
"""Data sets that FLAML's portfolio was mined on, by the `configsource` of its files."""

# Seconds to read and encode a data set; only predicts how long the benchmark takes.
_DATA_SECONDS = 4.0


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--list", choices=(*LISTS, "both"), default="tuning", help="list of pairs; 'both' only with --summary")
    add("--part", action="append", choices=PARTS, help="only this part; may be repeated; default: all")
    add("--only", default="", help="only pairs whose name, such as 'covtype, lightgbm', contains this text")
    add("--methods", help="only these methods of the race, separated by semicolons")
    add("--seeds", type=int, default=2, help="number of seeds")
    add("--sklearn-seeds", type=int, default=1, help="number of seeds against scikit-learn's searches")
    add("--limit-factor", type=_parse_factors, default=(1.0, 3.0), help="limits of the race, times 20 s: 1,3")
    add("--flaml-python", default=sys.executable, help="interpreter that has FLAML; default: this one")
    add("--autogluon-python", default=sys.executable, help="interpreter that has AutoGluon; default: this one")
    add("--retry", action="store_true", help="run again what failed for another reason than time")
    add("--dry-run", action="store_true", help="print each pair, T and the expected seconds, and exit")
    add("--summary", action="store_true", help="only summarise the existing results")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    if not arguments.summary and not arguments.dry_run:
        require_data(parser, arguments)
    if arguments.list == "both" and not arguments.summary:
        parser.error("got --list both; expected one list, or --summary")
    return arguments


def _parse_factors(text: str) -> tuple[float, ...]:
    factors = tuple(float(factor) for factor in text.split(","))
    if not all(factor > 0 for factor in factors):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected positive multiples of 20 s")
    return factors


def make_parts(race: Mapping[str, Rival], covtype_rivals: Sequence[str] = ()) -> dict[str, Part]:
    """Return all parts, given the methods of the race, and those of them that covtype is run with too."""
    own = make_race_methods()
    parts: tuple[Part, ...] = (
        RacePart(race),
        SklearnPart(make_same_space_search(), {name: SklearnMethod(name) for name in (HALVING, RANDOMIZED)}),
        CovtypePart({SEARCH: own[SEARCH], **{name: race[name] for name in covtype_rivals if name in race}}),
        ListPart(own[SEARCH]),
        DeadlinePart(),
        MemoryPart(),
        JobsPart(make_full_method(), make_job_methods()),
    )
    return {part.name: part for part in parts}


def _find_race_methods(arguments: argparse.Namespace) -> dict[str, Rival]:
    """Return the methods of the race, without the tools that are not installed."""
    others: dict[str, FlamlRival] = {
        FLAML: FlamlRival(arguments.flaml_python),
        FLAML_BUDGET: FlamlRival(arguments.flaml_python, retrain_full="budget"),
        AUTOGLUON: AutogluonRival(arguments.autogluon_python),
    }
    methods: dict[str, Rival] = {**make_race_methods(), **others}
    if arguments.methods is not None:
        chosen = set(arguments.methods.split(";"))
        if unknown := chosen - set(methods):
            raise SystemExit(f"unknown methods {', '.join(sorted(unknown))}; known are {', '.join(methods)}")
        methods = {name: method for name, method in methods.items() if name in chosen}
    if not (arguments.dry_run or arguments.summary):
        for name in methods.keys() & others.keys():
            version = find_version(others[name].python, others[name].module)
            print(f"{name} {version or 'is left out: ' + others[name].python + ' lacks it'}", flush=True)
            if version is None:
                del methods[name]
    return methods


def run_parts(arguments: argparse.Namespace, recorder: Recorder, parts: Mapping[str, Part]) -> None:
    """Carry out the chosen parts."""
    data = SearchData(partial(load_dataset, folder=arguments.data, online=False))
    bench = Bench(recorder, data, tuple(range(arguments.seeds)), arguments.limit_factor)
    pairs = read_search_pairs()
    for name in arguments.part or PARTS:
        seeds = tuple(range(arguments.sklearn_seeds)) if name == "sklearn" else bench.seeds
        chosen = select_search_pairs(pairs, name, arguments.list, arguments.only)
        parts[name].run(replace(bench, seeds=seeds), chosen)


def print_plan(recorder: DryRecorder) -> None:
    """Print every pair with its expected seconds, the sum of each part, and that of all."""
    known = {(each.part, each.pair.dataset, each.pair.learner): each.pair for each in read_search_pairs()}
    totals: dict[str, float] = {}
    for (part, dataset, learner), seconds in recorder.seconds.items():
        pair = known.get((part, dataset, learner))
        sizes = f"{pair.rows:8,d} rows, T {pair.seconds:5.1f} s; " if pair else ""
        runs = recorder.runs[part, dataset, learner]
        print(f"{part:9s}{dataset}, {learner}: {sizes}{runs} runs, {seconds:.0f} s")
        totals[part] = totals.get(part, 0.0) + seconds
    read = {(part, dataset) for part, dataset, _ in recorder.seconds if not dataset.startswith("made-up")}
    totals["reading data"] = _DATA_SECONDS * len(read)
    for part, seconds in totals.items():
        print(f"{part}: {seconds:.0f} s")
    print(f"all: {sum(totals.values()):.0f} s = {sum(totals.values()) / 60:.0f} minutes")


def write_summary(runs: Sequence[SearchRun], parts: Mapping[str, Part], folder: Path, name: str) -> int:
    """Write tables and goals; return 1 if a goal is missed."""
    tables = [table for part in parts.values() for table in part.make_tables(runs) if table.rows]
    goals = [goal for part in parts.values() for goal in part.make_goals(runs)]
    tables = [*map(mark_mined, [*tables, _make_failure_table(runs)]), _make_conditions_table(runs)]
    return write_report(name, Environment.current(), tables, goals, {"runs": len(runs)}, folder)


def mark_mined(table: MarkdownTable) -> MarkdownTable:
    """Return a table in which data sets of FLAML's portfolio have a star."""
    name = re.compile(rf"\b({'|'.join(MINED_DATASETS)})\b")
    rows = [[name.sub(r"\1*", cell) for cell in row] for row in table.rows]
    if rows == [list(row) for row in table.rows]:
        return table
    return replace(table, title=f"{table.title}; *: FLAML's portfolio was mined on it", rows=rows)


def _make_failure_table(runs: Sequence[SearchRun]) -> MarkdownTable:
    rows = [[run.key.name, run.error or ""] for run in runs if run.accuracy is None]
    return MarkdownTable("Runs without a model", ("run", "why"), rows)


def _make_conditions_table(runs: Sequence[SearchRun]) -> MarkdownTable:
    rows = []
    for conditions in dict.fromkeys((run.command, run.machine, run.code) for run in runs):
        mine = [run for run in runs if (run.command, run.machine, run.code) == conditions]
        loads = [run.load for run in mine if run.load is not None]
        spread = f"{fmean(loads):.1f}, at most {max(loads):.1f}" if loads else ""
        rows.append([*conditions, mine[0].date, mine[-1].date, str(len(mine)), spread])
    columns = ("command", "machine", "code", "first run", "last run", "runs", "load average before a run")
    return MarkdownTable("Conditions", columns, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run what has no line yet, and summarise; return 1 if a goal is missed."""
    arguments = _parse_arguments(argv)
    # FLAML takes minutes there, so only if that part is asked for.
    covtype_rivals = [FLAML] if "covtype" in (arguments.part or ()) else []
    parts = make_parts(_find_race_methods(arguments), covtype_rivals)
    if arguments.dry_run:
        recorder = DryRecorder()
        run_parts(arguments, recorder, parts)
        print_plan(recorder)
        return 0
    if not arguments.summary:
        use_one_thread()
        log = RunLog(arguments.results / f"search-{arguments.list}.csv")
        run_parts(arguments, LogRecorder(log, arguments.list, retry=arguments.retry), parts)
    lists = LISTS if arguments.list == "both" else (arguments.list,)
    runs = [run for name in lists for run in read_runs(arguments.results / f"search-{name}.csv")]
    return write_summary(runs, parts, arguments.results, f"search-{arguments.list}")


if __name__ == "__main__":
    sys.exit(main())
