"""The demonstration: a simulated pump, three ways to learn from it, one limit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.records import Estimate
from fitwithin._core.scoring import accuracy_interval
from fitwithin._research.demo.pump import CONDITIONS, READINGS, WRONG_LABELS, Dataset, make_dataset
from fitwithin.teachers import Auto, Double

_GUESS = 0.05


@dataclass(frozen=True)
class Result:
    """One way to learn, and what came of it.

    Parameters
    ----------
    name : str
        The way.
    accuracy : Estimate
        The share of held-out rows that are classified as they are labelled, with its interval.
    found : dict
        For each condition the share of its held-out rows that are recognised.
    seconds : float
        Time used.
    rows : int
        Rows behind the model.
    estimate : tuple of float or None
        The model's own (estimate, low, high), made without the held-out rows.
    """

    name: str
    accuracy: Estimate
    found: dict[str, float]
    seconds: float
    rows: int
    estimate: tuple[float, float, float] | None = None


def run_demo(
    seconds: float = 20.0, *, rows: int = 300_000, seed: int = 0, console: Console | None = None
) -> list[Result]:
    """Train on the simulated pump by Auto, by Double and on a sample of a guessed size, and print the difference.

    Parameters
    ----------
    seconds : float, default=20.0
        The limit for each teacher.
    rows : int, default=300_000
        Rows to simulate; a fifth of them is held out.
    seed : int, default=0
        Of the data, the teachers and the learner.
    console : rich.console.Console, optional
        Where to print; standard output by default.

    Returns
    -------
    list of Result
        What was printed.

    Raises
    ------
    NoModelInTime
        If the limit is too short for even the first lesson.
    """
    console = Console() if console is None else console
    pool, held_out = make_dataset(rows, seed).split(rows * 4 // 5)
    learner = RandomForestClassifier(n_estimators=40, random_state=seed)
    console.print(_introduction(learner, pool, held_out))
    results = []
    for name, teacher in (("Auto", Auto()), ("Double", Double())):
        console.print(f"\n{name}, at most {seconds:g} s ...")
        clf = TimeConstrainedClassifier(learner, time_limit=seconds, teacher=teacher, random_state=seed)
        results.append(_teach(name, clf, pool, held_out))
    console.print(f"\nA random sample of a guessed size, {_GUESS:.0%} ...\n")
    results.append(_guess(clone(learner), pool, held_out))
    for part in (_scores(results, seconds), _found(results, held_out), _own_estimate(results[0])):
        console.print(part)
    return results


def _introduction(learner: Any, pool: Dataset, held_out: Dataset) -> str:
    return (
        f"A simulated pump: {len(pool.y):,} rows to learn from, {len(held_out.y):,} held out.\n"
        f"{len(READINGS)} readings, {len(CONDITIONS)} conditions, {WRONG_LABELS:.0%} of the labels are wrong.\n"
        f"Learner: {learner}"
    )


def _teach(name: str, clf: TimeConstrainedClassifier, pool: Dataset, held_out: Dataset) -> Result:
    clf.fit(pool.X, pool.y)
    return Result(name, *_judge(clf, held_out), clf.time_used_, clf.n_rows_taught_, clf.score_estimate_)


def _guess(model: Any, pool: Dataset, held_out: Dataset) -> Result:
    # The rows were simulated one by one, so the first of them are a random sample.
    rows = round(_GUESS * len(pool.y))
    start = time.monotonic()
    model.fit(pool.X[:rows], pool.y[:rows])
    seconds = time.monotonic() - start
    return Result(f"random {_GUESS:.0%}", *_judge(model, held_out), seconds, rows)


def _judge(model: Any, held_out: Dataset) -> tuple[Estimate, dict[str, float]]:
    """The accuracy by the labels, as a user would see it, and by the truth what is found of each condition."""
    predicted = model.predict(held_out.X)
    accuracy = accuracy_interval(int(np.count_nonzero(predicted == held_out.y)), len(predicted))
    assert accuracy is not None
    present = (name for name in CONDITIONS if name in held_out.truth)
    return accuracy, {name: float(np.mean(predicted[held_out.truth == name] == name)) for name in present}


def _scores(results: list[Result], seconds: float) -> Table:
    table = Table(title="What each of them reached", title_justify="left")
    table.add_column("")
    for heading in ("held-out accuracy", f"seconds, limit {seconds:g}", "rows taught"):
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(result.name, f"{result.accuracy.value:.4f}", f"{result.seconds:.1f}", f"{result.rows:,}")
    return table


def _found(results: list[Result], held_out: Dataset) -> Table:
    table = Table(title="Where they differ: share of each condition that is found", title_justify="left")
    table.add_column("")
    for heading in ("share of rows", *(result.name for result in results)):
        table.add_column(heading, justify="right")
    for name in results[0].found:
        share = np.mean(held_out.truth == name)
        table.add_row(name, f"{share:.1%}", *(f"{result.found[name]:.2f}" for result in results))
    return table


def _own_estimate(result: Result) -> str:
    """What the model knew of its own accuracy, beside the truth."""
    held_out = result.accuracy
    truth = f"{held_out.value:.4f} [{held_out.low:.4f}, {held_out.high:.4f}] on the held-out rows"
    if result.estimate is None:
        return f"{result.name}'s model sat no exam on fresh rows, so it has no estimate of its own: {truth}."
    value, low, high = result.estimate
    return (
        f"{result.name}'s own estimate, made without the held-out rows, with its 95 % interval:\n"
        f"{value:.4f} [{low:.4f}, {high:.4f}]; {truth}."
    )
