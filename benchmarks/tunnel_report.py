"""Write benchmarks/results/tunnel.json and .md from replayed fits: FILES that tunnel/replay.py wrote with --out."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

sys.path.append(str(Path(__file__).parent / "tunnel"))
from table import RIVALS, list_figures

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_TEACHERS = {"auto": "default", "double": "Double", "tct": "TCT", "sized": "sized"}


@dataclass(frozen=True)
class FigureGoal:
    """A goal of the default: the name of a figure, and bounds of the first numbers in its text.

    Parameters
    ----------
    figure : str
        Its name in `tunnel/table.py`.
    bounds : tuple of float
        One for each number, in the same unit.
    at_most : bool, default=False
        Whether the bounds are upper ones.
    design : bool or None, default=False
        The set: False for the unseen recordings, None for the adversaries.
    """

    figure: str
    bounds: tuple[float, ...]
    at_most: bool = False
    design: bool | None = False

    def check(self, text: str) -> Goal:
        """Return the goal, met or missed by a figure's text."""
        found = [float(number) for number in _NUMBER.findall(text)][: len(self.bounds)]
        pairs = list(zip(found, self.bounds, strict=False))
        met = len(pairs) == len(self.bounds) and all(
            value <= bound if self.at_most else value >= bound for value, bound in pairs
        )
        place = "adversaries: " if self.design is None else ""
        bounds = " / ".join(f"{bound:g}" for bound in self.bounds)
        return Goal(f"{place}{self.figure}: at {'most' if self.at_most else 'least'} {bounds}; {text}", met)


GOALS = (
    FigureGoal("T <= t_full, can stop: rows / oracle's, median / p10", (0.8, 0.5)),
    FigureGoal("T <= t_full, cannot stop: rows / oracle's", (0.7, 0.45)),
    FigureGoal("(score - double) / (oracle - double), mean", (0.65,)),
    FigureGoal("losses to double by > 0.25 points", (3.0,), at_most=True),
    FigureGoal("(score - sized) / (oracle - sized), mean", (0.5,)),
    FigureGoal("losses to sized by > 0.25 points", (8.0,), at_most=True),
    FigureGoal("T >= 1.5 t_full: every row, or a higher score", (97.0,)),
    FigureGoal("T >= 2 t_full, no oversampling: time / t_full, median / p90", (1.15, 1.35), at_most=True),
    FigureGoal("more time is not worse", (95.0,)),
    FigureGoal("last finished fit >= 1/6 of affordable rows", (95.0,), design=None),
)
"""Goals that were set before the default was designed."""

Figures = Mapping[str, Mapping[str, str]]


def compute_figures(results: Sequence[Mapping[str, Any]], design: bool | None) -> Figures:
    """Return the figures of each teacher on a set, as text by teacher and name."""
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        if result["design"] is design:
            groups[result["teacher"]].append(result)
    keys = ("name", "full_seconds", "ratio", "seed")
    rivals = {name: {tuple(one[key] for key in keys): one for one in groups[name]} for name in RIVALS if groups[name]}
    return {
        teacher: list_figures(runs, {name: found for name, found in rivals.items() if name != teacher})
        for teacher, runs in groups.items()
        if runs
    }


def make_table(title: str, figures: Figures) -> MarkdownTable:
    """Return one line for each figure, and one column for each teacher."""
    names = dict.fromkeys(name for of_teacher in figures.values() for name in of_teacher)
    rows = [[name, *(of_teacher.get(name, "-") for of_teacher in figures.values())] for name in names]
    return MarkdownTable(title, ("", *(_TEACHERS.get(teacher, teacher) for teacher in figures)), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the report; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="results of tunnel/replay.py")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    results = [json.loads(line) for file in arguments.files for line in file.read_text().splitlines()]
    sets = {False: "Recordings that the default was not designed on", None: "Adversaries"}
    figures = {design: compute_figures(results, design) for design in sets}
    tables = [make_table(title, figures[design]) for design, title in sets.items() if figures[design]]
    goals = [goal.check(figures[goal.design]["auto"][goal.figure]) for goal in GOALS if "auto" in figures[goal.design]]
    return write_report("tunnel", Environment.current(), tables, goals, {"replays": len(results)}, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
