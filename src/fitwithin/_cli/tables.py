"""What the commands show to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fitwithin._cli.console import one_line, say
from fitwithin._core.exceptions import join_names
from fitwithin._tabular import KINDS, SAYS, About, Encoding, Understood

_NAMES = {"number": "numbers", "truth": "truth values", "time": "dates and times", "word": "words"}


_MOST_NAMES = 6


_MOST_CLASSES = 8


def show_understood(console: Console, name: str, understood: Understood, encoding: Encoding, seconds: float) -> None:
    """What was understood of a file, before anything is done with it."""
    part = understood.part
    width = len(understood.columns) if part.matrix is None else part.matrix.shape[1]
    columns = "1 column" if width == 1 else f"{width:,} columns"
    say(console, f"{name}: {understood.rows:,} rows, {columns} to learn from; read and encoded in {seconds:.1f} s")
    if part.matrix is None:
        console.print(_columns(understood, encoding))
    else:
        form = "sparse" if hasattr(part.matrix, "tocsr") else "dense"
        say(console, f"A {form} matrix of numbers ({part.matrix.dtype}): {SAYS[encoding]['number']}.")
    for column, why in understood.left_out.items():
        say(console, f"Left out: {column} ({why})")
    if understood.without_label:
        say(console, f"Left out: {understood.without_label:,} rows without a value of {understood.goal.name}")
    say(console, _goal(understood))


def _columns(understood: Understood, encoding: Encoding) -> Table:
    table = Table()
    for heading, justify in (
        ("columns", "left"),
        ("count", "right"),
        ("missing", "right"),
        ("how they are used", "left"),
    ):
        table.add_column(heading, justify="right" if justify == "right" else "left")
    for kind in KINDS:
        names = [column.name for column in understood.columns if column.kind == kind]
        if names:
            missing = understood.missing[kind] / (len(names) * understood.rows)
            shown = f"{_NAMES[kind]}: {join_names(names, _MOST_NAMES)}"
            cells = shown, str(len(names)), f"{missing:.1%}", SAYS[encoding][kind]
            table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def _goal(understood: Understood) -> str:
    goal = understood.goal
    if goal.is_regression:
        return (
            f"To learn: {goal.name}, values from {goal.y.min():g} to {goal.y.max():g} "
            "(--task classification takes them for classes)"
        )
    classes, counts = np.unique(goal.y, return_counts=True)
    order = np.argsort(-counts)
    shares = [f"{classes[i]} ({counts[i] / len(goal.y):.1%})" for i in order]
    hint = " (--task regression takes them for values)" if goal.y.dtype.kind in "iuf" else ""
    return f"To learn: {goal.name}, {len(classes):,} classes: {join_names(shares, _MOST_CLASSES)}{hint}"


def show_result(console: Console, about: About) -> None:
    """The end of a training: how many rows, how good, how long."""
    training = about.training
    lines = {
        "learner": f"{about.learner}, taught by {about.teacher}",
        "rows taught": f"{training['rows_taught']:,} of {training['rows']:,}",
        "rounds": str(len(training["rounds"])),
        f"{about.scoring}, estimated": estimate_of(training),
    }
    if training.get("test"):
        lines[f"{about.scoring}, test"] = f"{training['test']['score']:.4f} on {training['test']['rows']:,} rows"
    lines["time used"] = f"{training['time_used']:.1f} of {training['time_limit']:g} s"
    lines["stopped by"] = training["stop_reason"]
    console.print(facts(lines))


def estimate_of(training: Mapping[str, Any]) -> str:
    """A score with its interval."""
    estimate = training["estimate"]
    if estimate is None:
        if training["rows_taught"] == training["rows"]:
            return "none: every row was taught; test it on others with --test FILE"
        return "none: no exam on rows that were new to it"
    return f"{estimate['value']:.4f} [{estimate['low']:.4f}, {estimate['high']:.4f}] (95 %)"


def facts(lines: Mapping[str, object]) -> Table:
    """A table of names and what is behind them."""
    table = Table(show_header=False)
    for name, value in lines.items():
        table.add_row(Text(one_line(name)), Text(one_line(value)))
    return table


def show_model(console: Console, name: str, about: About) -> None:
    """What a model file says about itself."""
    training = about.training
    known = [f"{column.name} ({column.type})" for column in about.columns]
    columns = f"{len(known)} columns: {join_names(known, _MOST_NAMES)}"
    say(console, f"{name}: a model for {about.task}, trained {training.get('date', 'at an unknown time')}")
    lines = {
        "predicts": f"{about.target} ({about.target_type})",
        "classes": join_names(about.classes, _MOST_CLASSES) if about.classes else "none: it predicts values",
        "needs": columns if about.columns else f"a matrix of {about.features} columns",
        "encoding": about.encoding,
        "to be trusted": ", ".join(about.trust) or "nothing beside what fitwithin knows",
        "versions": ", ".join(f"{library} {version}" for library, version in about.versions.items()),
    }
    console.print(facts(lines))
    show_result(console, about)
