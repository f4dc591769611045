"""Compare fitwithin at a time limit with random rows at the same limit and with a plain fit: LightGBM on covtype."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from lightgbm import LGBMClassifier

from _options import add_data_option, require_data
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from covtype import CovtypeSplit, read_covtype
from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin_paper.study.evaluation_backend import EvaluationBackend, PausableClock

# Seconds that a fit may be late.
_LATE_SECONDS = 0.1
# Teacher of each way that has a limit.
_TEACHERS = {"fitwithin": "auto", "random rows, doubling": "double"}
_PLAIN = "plain fit, every row, no limit"


@dataclass(frozen=True)
class Step:
    """A model that became the best one: when, from how many rows, and its test accuracy."""

    seconds: float
    rows: int
    accuracy: float


@dataclass(frozen=True)
class BaselineResult:
    """Result of one way to fit.

    Parameters
    ----------
    way : str
        Name of the way.
    seconds : float
        Time used.
    rows : int
        Training rows of the model.
    accuracy : float
        Accuracy on the test rows.
    steps : tuple of Step
        The models that became the best, in the order of time.
    """

    way: str
    seconds: float
    rows: int
    accuracy: float
    steps: tuple[Step, ...]


def fit_within_limit(way: str, learner: Any, split: CovtypeSplit, limit: float, seed: int) -> BaselineResult:
    """Fit under the limit; every model predicts the test rows while the clock is paused."""
    clock = PausableClock()
    backend = EvaluationBackend(Process(clock=clock), clock, split.X_test, split.y_test)
    model = TimeConstrainedClassifier(
        learner, time_limit=limit, teacher=_TEACHERS[way], backend=backend, progress=False, random_state=seed
    ).fit(split.X, split.y)
    rounds = zip(model.history_, backend.accuracies, strict=False)
    steps = tuple(
        Step(finished.elapsed, finished.rows, accuracy)
        for finished, accuracy in rounds
        if finished.best and accuracy is not None
    )
    return BaselineResult(way, model.time_used_, model.n_rows_trained_, _compute_accuracy(model, split), steps)


def fit_plainly(learner: Any, split: CovtypeSplit) -> BaselineResult:
    """Fit on every row, without fitwithin."""
    start = time.perf_counter()
    model = learner.fit(split.X, split.y)
    seconds = time.perf_counter() - start
    accuracy = _compute_accuracy(model, split)
    return BaselineResult(_PLAIN, seconds, len(split.y), accuracy, (Step(seconds, len(split.y), accuracy),))


def _compute_accuracy(model: Any, split: CovtypeSplit) -> float:
    predicted: npt.NDArray[Any] = model.predict(split.X_test)
    return float(np.mean(predicted == split.y_test))


def make_table(results: Sequence[BaselineResult], limit: float) -> MarkdownTable:
    """Return one line for each way, with medians and every seed."""
    rows = []
    for way, runs in _group_by_way(results).items():
        accuracies = [run.accuracy for run in runs]
        rows.append(
            [
                way,
                "none" if way == _PLAIN else f"{limit:g}",
                f"{median(run.seconds for run in runs):.1f}",
                f"{median(run.rows for run in runs):,.0f}",
                f"{median(accuracies):.4f}",
                ", ".join(f"{accuracy:.4f}" for accuracy in accuracies),
            ]
        )
    columns = ("", "limit (s)", "seconds, median", "training rows, median", "test accuracy, median", "each seed")
    return MarkdownTable("covtype, LightGBM", columns, rows)


def _group_by_way(results: Sequence[BaselineResult]) -> dict[str, list[BaselineResult]]:
    ways = dict.fromkeys(run.way for run in results)
    return {way: [run for run in results if run.way == way] for way in ways}


def make_goals(results: Sequence[BaselineResult], limit: float) -> list[Goal]:
    """Return the goals: more accurate than random rows, and in time."""
    by_way = _group_by_way(results)
    ours, random_rows = (median(run.accuracy for run in by_way[way]) for way in _TEACHERS)
    latest = max(run.seconds - limit for run in results if run.way in _TEACHERS)
    return [
        Goal(
            f"more accurate than random rows, in the median: {ours:.4f} against {random_rows:.4f}", ours > random_rows
        ),
        Goal(f"no fit uses more than the limit + {_LATE_SECONDS} s; {latest:+.3f} s", latest <= _LATE_SECONDS),
    ]


def main() -> int:
    """Measure, print and write."""
    arguments = _parse_arguments()
    environment = Environment.current()
    frame, results = read_covtype(arguments.data, arguments.rows), []
    for seed in range(arguments.seeds):
        split = CovtypeSplit.make(frame, seed).keep_test_rows(arguments.test_rows)
        learner = LGBMClassifier(n_estimators=arguments.trees, verbosity=-1, random_state=seed)
        # Start the learner's process: the first fit of a program takes a second or more for it.
        TimeConstrainedClassifier(learner, time_limit=60, progress=False).fit(split.X[:500], split.y[:500])
        results += [fit_within_limit(way, learner, split, arguments.limit, seed) for way in _TEACHERS]
        results.append(fit_plainly(learner, split))
        print(*results[-3:], sep="\n", flush=True)
    figures = {"limit": arguments.limit, "trees": arguments.trees, "results": [asdict(one) for one in results]}
    table, goals = make_table(results, arguments.limit), make_goals(results, arguments.limit)
    return write_report("baseline", environment, [table], goals, figures, arguments.results)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser, "covtype.parquet or its folder")
    parser.add_argument("--trees", type=int, default=500, help="trees of the learner")
    parser.add_argument("--limit", type=float, default=20.0, help="time limit in seconds")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds: of the split and every choice of rows")
    parser.add_argument("--test-rows", type=int, default=50_000, help="test rows at most")
    parser.add_argument("--rows", type=int, help="number of random rows to use, for a quick try; default: all")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    require_data(parser, arguments)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
