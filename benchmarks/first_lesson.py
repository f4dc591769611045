"""Measure seconds from integer labels to the first lesson out of a large pool, and the memory kept for each row."""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from _peak_memory import read_memory
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from fitwithin import TimeConstrainedClassifier
from fitwithin._core.target import Labels
from fitwithin.teachers import Auto, Deck, Double

# Longest time until the first lesson of the largest pool, in seconds.
SECONDS_GOAL = 0.3

# Most memory for each row of the largest pool, in bytes beside the codes of the labels, which take one.
BYTES_GOAL = 1.0

# Rows of the lesson after which memory is measured. Nearly every page of an array with a byte for each row of the pool
# holds one of them, so that memory that is zeroed lazily counts.
LESSON_ROWS = 50_000

# Bytes that each of these rows may take: itself, its number, its position, its answer.
BYTES_PER_USED_ROW = 50


class ClockedLearner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Note when the fit begins, and learn nothing."""

    def fit(self, X: Any, y: Any) -> Self:
        # This clock is the same in all processes.
        self.began_ = time.monotonic()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


@dataclass(frozen=True)
class FirstLesson:
    """One measurement of a pool.

    Parameters
    ----------
    rows : int
        Rows of the pool.
    encode, choose : float
        Seconds to encode the labels, and for a deck to deal the first lesson, validation rows and holdout rows.
    begin : float
        Seconds from the call of `fit` until the learner's own fit begins.
    kept : int
        Anonymous and shared memory of the program after a lesson of `LESSON_ROWS`, beyond that before `fit`, in bytes.
    """

    rows: int
    encode: float
    choose: float
    begin: float
    kept: int

    @property
    def bytes_per_row(self) -> float:
        """Bytes kept for each row of the pool, beside a byte for its code and what the used rows may take."""
        # A small pool may find all it needs in memory that an earlier fit let go of.
        return max(0.0, (self.kept - BYTES_PER_USED_ROW * LESSON_ROWS) / self.rows - 1)


def measure(X: np.ndarray, y: np.ndarray) -> FirstLesson:
    """Time the first lesson, and measure what is kept after it."""
    start = time.perf_counter()
    labels = Labels.encode(y)
    encode = time.perf_counter() - start
    deck = Deck(len(y), np.random.default_rng(0), labels.codes, class_counts=labels.counts)
    next(Auto().teach(deck))
    choose = time.perf_counter() - start - encode
    del labels, deck
    start = time.monotonic()
    classifier = TimeConstrainedClassifier(
        ClockedLearner(), time_limit=60, on_round=lambda finished: True, progress=False
    ).fit(X, y)
    began = classifier.best_estimator_.began_ - start
    return FirstLesson(len(y), encode, choose, began, measure_kept_memory(X, y))


def measure_kept_memory(X: np.ndarray, y: np.ndarray) -> int:
    """Return the memory of this process after a lesson of `LESSON_ROWS`, beyond that before the fit."""
    gc.collect()
    before, kept = read_memory(os.getpid()).own, []

    def stop(_: object) -> bool:
        kept.append(read_memory(os.getpid()).own - before)
        return True

    TimeConstrainedClassifier(
        ClockedLearner(), time_limit=60, teacher=Double(first=LESSON_ROWS), on_round=stop, progress=False
    ).fit(X, y)
    return kept[0]


def format_row(runs: list[FirstLesson]) -> list[str]:
    """Return the medians of some runs, and the longest time."""
    return [
        f"{runs[0].rows:,}",
        *(f"{statistics.median(getattr(run, name) for run in runs):.3f}" for name in ("encode", "choose", "begin")),
        f"{max(run.begin for run in runs):.3f}",
        f"{statistics.median(run.kept for run in runs) / 1e6:.0f}",
        f"{statistics.median(run.bytes_per_row for run in runs):.2f}",
    ]


def main() -> int:
    """Measure pools of several sizes; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 5 * 10**7], help="rows of the pools")
    parser.add_argument("--runs", type=int, default=5, help="number of runs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(), Environment.current()
    rng = np.random.default_rng(0)
    y = rng.integers(7, size=max(arguments.rows))
    X = np.ones((len(y), 2), dtype=np.float32)
    measure(X[:400_000], y[:400_000])  # starts the learner's process
    runs = {rows: [measure(X[:rows], y[:rows]) for _ in range(arguments.runs)] for rows in arguments.rows}
    columns = (
        "rows",
        "encode (s)",
        "choose rows (s)",
        "first fit begins (s)",
        "the slowest (s)",
        "kept (MB)",
        "bytes a row beside its code and used rows",
    )
    table = MarkdownTable("Seven classes, int64; medians", columns, [format_row(some) for some in runs.values()])
    largest = runs[max(arguments.rows)]
    seconds = statistics.median(run.begin for run in largest)
    kept = statistics.median(run.bytes_per_row for run in largest)
    goals = [
        Goal(f"first fit within {SECONDS_GOAL} s; the median is {seconds:.3f} s", seconds <= SECONDS_GOAL),
        Goal(f"at most {BYTES_GOAL} byte a row beside the codes; the median is {kept:.2f}", kept <= BYTES_GOAL),
    ]
    figures = {"runs": [asdict(run) for some in runs.values() for run in some]}
    return write_report("first_lesson", environment, [table], goals, figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
