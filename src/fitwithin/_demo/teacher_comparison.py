"""Comparison of Auto, Double and a random sample on a simulated pump, under one time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Column, Table
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.records import Estimate
from fitwithin._demo.pump_data import CONDITIONS, READINGS, WRONG_LABEL_SHARE, PumpData, simulate_pump
from fitwithin.backends._metrics import accuracy_interval
from fitwithin.teachers import Auto, Double

# Share of the training rows in the random sample: a guess, as a user without this package has to make.
_SAMPLE_SHARE = 0.05


@dataclass(frozen=True)
class DemoResult:
    """Result of one way to train.

    Parameters
    ----------
    name : str
        Name of the teacher, or of the random sample.
    accuracy : Estimate
        Share of test rows whose prediction equals the label, with its interval.
    recall : dict
        For each condition, the share of its test rows that are recognised.
    seconds : float
        Time used.
    n_rows : int
        Rows that the model was trained on.
    estimate : tuple of float or None
        The model's own (estimate, low, high), made without the test rows.
    """

    name: str
    accuracy: Estimate
    recall: dict[str, float]
    seconds: float
    n_rows: int
    estimate: tuple[float, float, float] | None = None


def run_demo(
    seconds: float = 20.0, *, rows: int = 300_000, seed: int = 0, console: Console | None = None
) -> list[DemoResult]:
    """Train on the simulated pump with Auto, with Double and on a random sample; print the comparison in users' words.

    Parameters
    ----------
    seconds : float, default=20.0
        Time limit for each way to choose rows.
    rows : int, default=300_000
        Rows to simulate; a fifth of them are test rows.
    seed : int, default=0
        Seed of the data, the teachers and the learner.
    console : rich.console.Console, optional
        Console for the output; standard output by default.

    Returns
    -------
    list of DemoResult
        The printed results.

    Raises
    ------
    NoModelInTime
        If the limit is too short for the first fit.
    ValueError
        If `rows` is so small that there are no test rows.
    """
    console = Console() if console is None else console
    train, test = simulate_pump(rows, seed).split(rows * 4 // 5)
    learner = RandomForestClassifier(n_estimators=40, random_state=seed)
    console.print(
        f"A simulated pump: {len(train.y):,} training rows and {len(test.y):,} test rows.\n"
        f"{len(READINGS)} readings, {len(CONDITIONS)} conditions, {WRONG_LABEL_SHARE:.0%} of the labels are wrong.\n"
        f"Learner: {learner}"
    )
    results = []
    ways = (("fitwithin", "fitwithin", Auto()), ("doubling", "Random rows, twice as many each time", Double()))
    for name, action, teacher in ways:
        console.print(f"\n{action}, at most {seconds:g} s ...")
        clf = TimeConstrainedClassifier(learner, time_limit=seconds, teacher=teacher, random_state=seed)
        clf.fit(train.X, train.y)
        score = _score_model(clf, test)
        results.append(DemoResult(name, *score, clf.time_used_, clf.n_rows_trained_, clf.score_estimate_))
    console.print(f"\nA random sample of a guessed size, {_SAMPLE_SHARE:.0%} ...\n")
    results.append(_fit_on_sample(clone(learner), train, test))
    console.print(_make_score_table(results, seconds))
    console.print(_make_recall_table(results, test))
    console.print(_format_estimate(results[0]))
    return results


def _fit_on_sample(model: Any, train: PumpData, test: PumpData) -> DemoResult:
    # The simulated rows are independent, so the first ones are a random sample.
    n_rows = round(_SAMPLE_SHARE * len(train.y))
    start = time.monotonic()
    model.fit(train.X[:n_rows], train.y[:n_rows])
    seconds = time.monotonic() - start
    return DemoResult(f"random {_SAMPLE_SHARE:.0%}", *_score_model(model, test), seconds, n_rows)


def _score_model(model: Any, test: PumpData) -> tuple[Estimate, dict[str, float]]:
    """Return the accuracy on the labels, as a user would measure it, and the recall of the true conditions."""
    predicted = model.predict(test.X)
    accuracy = accuracy_interval(int(np.count_nonzero(predicted == test.y)), len(predicted))
    if accuracy is None:
        raise ValueError("Got no test rows; the comparison needs at least one. Simulate more rows.")
    present = (name for name in CONDITIONS if name in test.truth)
    return accuracy, {name: float(np.mean(predicted[test.truth == name] == name)) for name in present}


def _make_table(title: str, *headings: str) -> Table:
    columns = (Column(heading, justify="right") for heading in headings)
    return Table("", *columns, title=title, title_justify="left")


def _make_score_table(results: list[DemoResult], seconds: float) -> Table:
    table = _make_table("Accuracy and time", "test accuracy", f"seconds, limit {seconds:g}", "training rows")
    for result in results:
        table.add_row(result.name, f"{result.accuracy.value:.4f}", f"{result.seconds:.1f}", f"{result.n_rows:,}")
    return table


def _make_recall_table(results: list[DemoResult], test: PumpData) -> Table:
    title = "Share of each condition's test rows that is recognised"
    table = _make_table(title, "share of rows", *(result.name for result in results))
    for name in results[0].recall:
        share = np.mean(test.truth == name)
        table.add_row(name, f"{share:.1%}", *(f"{result.recall[name]:.2f}" for result in results))
    return table


def _format_estimate(result: DemoResult) -> str:
    """Return the model's own estimate of its accuracy, next to the accuracy on the test rows."""
    accuracy = result.accuracy
    measured = f"{accuracy.value:.4f} [{accuracy.low:.4f}, {accuracy.high:.4f}] on the test rows"
    if result.estimate is None:
        return f"{result.name} has no estimate of its own, because its model was not checked on fresh rows: {measured}."
    value, low, high = result.estimate
    return (
        f"{result.name}'s own estimate, made without the test rows, with its 95 % interval:\n"
        f"{value:.4f} [{low:.4f}, {high:.4f}]; {measured}."
    )
