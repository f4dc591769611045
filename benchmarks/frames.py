"""Measure time and memory to hand a mixed data frame over to the learner's process."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from _peak_memory import measure_peak_memory
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from fitwithin import TimeConstrainedClassifier
from fitwithin.teachers import Full

# Longest hand-over, in seconds.
SECONDS_GOAL = 1.5

# Largest memory, as a multiple of the frame's size.
MEMORY_GOAL = 1.3


class ColumnCounter(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Read every column once, and store only the counts."""

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        self.columns_ = {name: X[name].notna().sum() for name in X.columns}
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return np.zeros(len(X), dtype=int)


def make_frame(rows: int) -> pd.DataFrame:
    """Make 30 columns: 14 floats, one with missing values, 6 integers, 2 booleans, 3 categories, 3 texts, 2 dates."""
    rng = np.random.default_rng(0)
    words = np.array([f"word {number}" for number in range(1000)])
    columns: dict[str, Any] = {f"float {number}": rng.random(rows) for number in range(14)}
    columns["float 0"][rng.random(rows) < 0.1] = np.nan
    columns |= {f"int {number}": rng.integers(1000, size=rows) for number in range(6)}
    columns |= {f"flag {number}": rng.random(rows) < 0.5 for number in range(2)}
    columns |= {
        f"kind {number}": pd.Categorical.from_codes(rng.integers(9, size=rows), list("abcdefghi"))
        for number in range(3)
    }
    columns |= {f"text {number}": pd.array(words[rng.integers(1000, size=rows)], dtype="str") for number in range(3)}
    start = pd.Timestamp("2026-01-01")
    columns |= {
        f"date {number}": start + pd.to_timedelta(rng.integers(10**6, size=rows), unit="s") for number in range(2)
    }
    return pd.DataFrame(columns)


def measure_handover(X: pd.DataFrame, y: np.ndarray) -> dict[str, float]:
    """Fit on every row at once, with a running helper."""
    classifier = TimeConstrainedClassifier(ColumnCounter(), time_limit=120, teacher=Full())
    classifier.fit(X[:1000], y[:1000])
    with measure_peak_memory() as beyond:
        start = time.perf_counter()
        classifier.fit(X, y)
        elapsed = time.perf_counter() - start
    handover = classifier.history_[0].seconds_handover
    return {
        "handover": handover,
        "elapsed": elapsed,
        "beyond": beyond.own,
        "size": int(X.memory_usage(deep=True).sum()),
    }


def main() -> int:
    """Measure a few times; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the frame")
    parser.add_argument("--runs", type=int, default=3, help="number of runs")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(), Environment.current()
    X = make_frame(arguments.rows)
    y = np.arange(arguments.rows) % 2
    runs = [measure_handover(X, y) for _ in range(arguments.runs)]
    rows = [
        [
            f"{run['handover']:.2f}",
            f"{run['elapsed']:.2f}",
            f"{run['size'] / 1e6:.0f}",
            f"{run['beyond'] / run['size']:.2f}",
        ]
        for run in runs
    ]
    columns = ("hand-over (s)", "whole fit (s)", "size of the frame (MB)", "memory beyond it, per byte")
    table = MarkdownTable(f"A mixed frame of {arguments.rows:,} rows and {X.shape[1]} columns", columns, rows)
    slowest = max(run["handover"] for run in runs)
    most = max(run["beyond"] / run["size"] for run in runs)
    goals = [
        Goal(f"hand-over under {SECONDS_GOAL} s; the longest is {slowest:.2f} s", slowest < SECONDS_GOAL),
        Goal(f"memory under {MEMORY_GOAL} x its size; the most is {most:.2f}", most < MEMORY_GOAL),
    ]
    return write_report("frames", environment, [table], goals, {"runs": runs}, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
