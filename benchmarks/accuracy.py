"""Compare the accuracy of "auto" with the paper's teachers, a fit on all rows, and other tools under the same limit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from _accuracy_difference_plots import draw_differences
from _accuracy_flaml import FlamlRival, find_version
from _accuracy_goals import make_goals
from _accuracy_plan import (
    FEW_RIVALS,
    LIMITS,
    LISTS,
    RIVALS,
    Pair,
    Plan,
    make_short_plan,
    predict_seconds,
    read_pairs,
    select_pairs,
)
from _accuracy_rivals import VARIANTS, Rival, make_local_rivals
from _accuracy_runs import AccuracyBenchmark
from _accuracy_summary import AUTO, Findings
from _accuracy_tables import (
    make_conditions_table,
    make_contest_table,
    make_learner_table,
    make_loss_table,
    make_pair_table,
    make_problem_table,
    make_run_table,
    make_variant_table,
)
from _options import add_data_option, require_data, use_one_thread
from _report import RESULTS, Environment, write_report
from fitwithin_paper.study.dataset_sources import load_dataset
from fitwithin_paper.study.result_log import ResultLog


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--cache", type=Path, help="folder of generated data sets; default: FITWITHIN_CACHE, or the user's cache")
    add("--list", choices=LISTS, default="tuning", help="list of pairs; run the final list only once, at the end")
    add("--only", default="", help="only pairs whose name, such as 'covtype, lightgbm', contains this text")
    add("--part", type=_parse_part, default=(1, 1), help="1/2 and 2/2: halves of the list, to run side by side")
    add("--rivals", help="names of the rivals, separated by commas; default: all, or the few of the final list")
    add("--shares", type=_parse_shares, help="limits of auto as shares of T, such as 1,0.25,4; default: the list's")
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
    if not arguments.summary and not arguments.dry_run:
        require_data(parser, arguments)
    return arguments


def _parse_part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a part such as 1/2")
    return int(number), int(parts)


def _parse_shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(share) for share in text.split(","))
    if not all(share > 0 for share in shares):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected positive shares of T")
    return shares


def _make_plan(arguments: argparse.Namespace) -> Plan:
    if arguments.short:
        return make_short_plan(read_pairs(), arguments.variant)
    default = RIVALS if arguments.list == "tuning" else FEW_RIVALS
    names = list(default) if arguments.rivals is None else [name.strip() for name in arguments.rivals.split(",")]
    names += arguments.variant
    unknown = set(names) - {*RIVALS, *VARIANTS}
    if unknown:
        raise SystemExit(f"unknown rivals {', '.join(sorted(unknown))}; known are {', '.join(RIVALS)}")
    pairs = select_pairs(read_pairs(), arguments.list, arguments.only, arguments.part)
    limits = LIMITS[arguments.list]
    if arguments.shares is not None:
        limits = replace(limits, auto=arguments.shares)
    rivals = tuple(dict.fromkeys(["full", *names]))
    return Plan(pairs, rivals, seeds=tuple(range(arguments.seeds)), limits=limits)


def _find_rivals(plan: Plan, flaml_python: str) -> dict[str, Rival]:
    """Return the available rivals, and print which are missing."""
    every = {**make_local_rivals(), "flaml": FlamlRival(flaml_python)}
    if "flaml" in plan.rivals:
        version = find_version(flaml_python)
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
    limits = ", ".join(f"{share * pair.seconds:.1f}" for share in plan.limits.select_shares(pair.seconds))
    sizes = f"{pair.rows:7,d} rows, limits about {limits} s"
    return f"{pair.list_name:6s} {pair.name:48s} {sizes}; {seconds / 60:4.1f} minutes"


def read_lines(folder: Path, name: str) -> list[Mapping[str, Any]]:
    """Read the results of a list, and of its parts that were run side by side; their starts are numbered on."""
    lines: list[Mapping[str, Any]] = []
    starts = 0
    for file in [folder / f"{name}.jsonl", *sorted(folder.glob(f"{name}-*of*.jsonl"))]:
        found = ResultLog(file).lines
        lines += [{**line, "session": line["session"] + starts} if "session" in line else line for line in found]
        starts += sum(line["kind"] == "start" for line in found)
    return lines


def write_summary(
    lines: Sequence[Mapping[str, Any]], environment: Environment, folder: Path, name: str, commit: str | None = None
) -> int:
    """Write tables, goals and pictures; return 1 if a goal is missed."""
    findings = Findings(lines)
    tables = [
        make_contest_table(findings),
        make_learner_table(findings),
        make_loss_table(findings),
        make_variant_table(findings, list(VARIANTS)),
        make_pair_table(findings),
        make_run_table(findings),
        make_problem_table(findings),
        make_conditions_table(findings),
    ]
    contests = [
        {"list": findings.list_name, **asdict(findings.contest(AUTO, rival, share))}
        for share in findings.shares
        for rival in findings.rivals
        if rival != AUTO
    ]
    missed = write_report(name, environment, tables, make_goals(findings), {"contests": contests}, folder, commit)
    _add_pictures(findings, folder, name)
    return missed


def _add_pictures(findings: Findings, folder: Path, name: str) -> None:
    links = []
    for share in findings.shares:
        files = draw_differences(findings, folder, f"{name}-{100 * share:.0f}", share)
        links += [
            f"![{AUTO} against each rival, {findings.list_name} list, {share:g} T]({file.name})" for file in files[:1]
        ]
    page = folder / f"{name}.md"
    page.write_text("\n\n".join([page.read_text().rstrip("\n"), "## Pictures", *links]) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the unfinished part of the plan, and summarise; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(argv), Environment.current()
    plan = _make_plan(arguments)
    if arguments.dry_run:
        print_plan(plan)
        return 0
    name = "accuracy-short" if arguments.short else f"accuracy-{arguments.list}"
    number, parts = arguments.part
    file = arguments.results / (f"{name}.jsonl" if parts == 1 else f"{name}-{number}of{parts}.jsonl")
    if not arguments.summary:
        if arguments.short:
            file.unlink(missing_ok=True)
        use_one_thread()
        source = partial(load_dataset, folder=arguments.data, cache=arguments.cache, online=False)
        AccuracyBenchmark(plan, _find_rivals(plan, arguments.flaml_python), source, ResultLog(file)).run()
    lines = read_lines(arguments.results, name) if parts == 1 else ResultLog(file).lines
    # A summary of earlier runs has their date, machine, load and commit.
    starts = [line for line in lines if line["kind"] == "start"]
    measured = Environment(**starts[-1]["machine"]) if starts else environment
    return write_summary(lines, measured, arguments.results, file.stem, starts[-1].get("commit") if starts else None)


if __name__ == "__main__":
    sys.exit(main())
