"""Compare the accuracy of "auto" with the paper's teachers, a fit on all rows, and other tools under the same limit."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from _accuracy_flaml import FlamlRival, find_flaml_version
from _accuracy_plan import HALVES, RIVALS, Pair, Plan, make_short_plan, predict_seconds, read_pairs, select_pairs
from _accuracy_rivals import VARIANTS, Rival, make_local_rivals
from _accuracy_runs import AccuracyBenchmark
from _accuracy_scatter_plots import draw_scatter
from _accuracy_summary import AUTO, Findings
from _accuracy_tables import (
    make_conditions_table,
    make_contest_table,
    make_goals,
    make_learner_table,
    make_loss_table,
    make_pair_table,
    make_problem_table,
    make_variant_table,
    split_by_half,
)
from _report import RESULTS, Environment, write_report
from fitwithin._research.study.dataset_sources import load_dataset
from fitwithin._research.study.result_log import ResultLog

# Variables that set the number of threads of each learner.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    data = os.environ.get("FITWITHIN_DATA")
    add("--data", type=Path, default=data, help="folder of parquet files; default: FITWITHIN_DATA")
    add("--cache", type=Path, help="folder of generated data sets; default: FITWITHIN_CACHE, or the user's cache")
    add(
        "--half",
        choices=(*HALVES, "both"),
        default="tune",
        help="half of the data sets; run the final half only once, at the end",
    )
    add("--only", default="", help="only pairs whose name, such as 'covtype, lightgbm', contains this text")
    add("--rivals", default=",".join(RIVALS), help="names of the rivals, separated by commas")
    add(
        "--variant",
        action="append",
        default=[],
        choices=VARIANTS,
        help="also run this variant of auto; may be repeated",
    )
    add("--seeds", type=int, default=2, help="number of seeds")
    add("--flaml-python", default=sys.executable, help="interpreter that has FLAML; default: this one")
    add("--short", action="store_true", help="run few pairs and rivals with one seed from scratch, in ten minutes")
    add("--dry-run", action="store_true", help="list the pairs with their expected time, and exit")
    add("--summary", action="store_true", help="only summarise the existing results")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    if arguments.data is None and not arguments.summary and not arguments.dry_run:
        parser.error("got no folder of data sets; pass --data FOLDER or set the environment variable FITWITHIN_DATA")
    return arguments


def _make_plan(arguments: argparse.Namespace) -> Plan:
    if arguments.short:
        return make_short_plan(read_pairs(), arguments.variant)
    names = [name.strip() for name in arguments.rivals.split(",")] + arguments.variant
    unknown = set(names) - {*RIVALS, *VARIANTS}
    if unknown:
        raise SystemExit(f"unknown rivals {', '.join(sorted(unknown))}; known are {', '.join(RIVALS)}")
    pairs = select_pairs(read_pairs(), arguments.half, arguments.only)
    return Plan(pairs, tuple(dict.fromkeys(["full", *names])), seeds=tuple(range(arguments.seeds)))


def _find_rivals(plan: Plan, flaml_python: str) -> dict[str, Rival]:
    """Return the available rivals, and print which are missing."""
    every = {**make_local_rivals(), "flaml": FlamlRival(flaml_python)}
    if "flaml" in plan.rivals:
        version = find_flaml_version(flaml_python)
        print(f"FLAML {version}" if version else f"{flaml_python} has no FLAML, which is left out", flush=True)
        if version is None:
            del every["flaml"]
    return {name: rival for name, rival in every.items() if name in plan.rivals}


def print_plan(plan: Plan) -> None:
    """Print the pairs with their expected time."""
    every: Mapping[str, Rival] = {**make_local_rivals(), "flaml": FlamlRival("")}
    learners = {pair.learner for pair in plan.pairs}
    applies = {(rival, learner): every[rival].applies(learner) for rival in plan.rivals for learner in learners}
    expected = predict_seconds(plan, applies)
    for pair, seconds in expected.items():
        print(_format_pair(plan, pair, seconds))
    print(f"{len(plan.pairs)} pairs, {len(plan.seeds)} seeds; about {sum(expected.values()) / 60:.0f} minutes in all")


def _format_pair(plan: Plan, pair: Pair, seconds: float) -> str:
    limits = ", ".join(f"{share * pair.seconds:.1f}" for share in plan.find_shares(pair.seconds))
    return f"{pair.half:5s} {pair.name:46s} {pair.rows:7,d} rows, limits about {limits} s; {seconds / 60:4.1f} minutes"


def write_summary(lines: Sequence[Mapping[str, Any]], environment: Environment, folder: Path, name: str) -> int:
    """Write tables, goals and figures; return 1 if a goal is missed."""
    every = Findings(lines)
    parts = split_by_half(every)
    tables = [
        *map(make_contest_table, parts),
        *map(make_learner_table, parts),
        make_loss_table(every),
        *(make_variant_table(part, list(VARIANTS)) for part in parts),
        make_pair_table(every),
        make_problem_table(every),
        make_conditions_table(every),
    ]
    contests = [
        {"half": part.half, **asdict(part.contest(AUTO, rival, share))}
        for part in parts
        for share in part.shares
        for rival in part.rivals
        if rival != AUTO
    ]
    every_goal = [goal for part in parts for goal in make_goals(part)]
    missed = write_report(name, environment, tables, every_goal, {"contests": contests}, folder)
    _add_figures([(part, share) for part in parts for share in part.shares], folder, name)
    return missed


def _add_figures(wanted: Sequence[tuple[Findings, float]], folder: Path, name: str) -> None:
    links = []
    for part, share in wanted:
        files = draw_scatter(part, folder, f"{name}-{part.half}-{100 * share:.0f}", share)
        links += [f"![{AUTO} against each rival, {part.half}, {share:g} T]({file.name})" for file in files[:1]]
    page = folder / f"{name}.md"
    page.write_text("\n\n".join([page.read_text().rstrip("\n"), "## Pictures", *links]) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the unfinished part of the plan, and summarise; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(argv), Environment.current()
    plan = _make_plan(arguments)
    if arguments.dry_run:
        print_plan(plan)
        return 0
    name = "accuracy-short" if arguments.short else "accuracy"
    file = arguments.results / f"{name}.jsonl"
    if not arguments.summary:
        if arguments.short:
            file.unlink(missing_ok=True)
        # The learners' processes read these variables: one thread each, whatever the learner asks for.
        os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
        source = partial(load_dataset, folder=arguments.data, cache=arguments.cache, online=False)
        AccuracyBenchmark(plan, _find_rivals(plan, arguments.flaml_python), source, ResultLog(file)).run()
    return write_summary(ResultLog(file).lines, environment, arguments.results, name)


if __name__ == "__main__":
    sys.exit(main())
