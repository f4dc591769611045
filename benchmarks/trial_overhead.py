"""Measure what a trial of a search takes beyond fit and predict, and the share of the time limit that is used."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from _report import RESULTS, Environment, Goal, MarkdownTable, Quantiles, write_report
from fitwithin import TimeConstrainedSearch

# Milliseconds of a trial beyond fit and predict, on the rows of a first subset.
OVERHEAD_GOAL = 30.0
N_ROWS = 10_000

_POOL_ROWS = 60_000
_SPACE = {"max_depth": np.arange(1, 30), "min_samples_leaf": np.arange(1, 200)}


def measure_search(seconds: float, seed: int) -> tuple[list[float], float]:
    """Return the overhead of each trial on `N_ROWS`, in milliseconds, and the share of the time limit used."""
    X, y = make_classification(_POOL_ROWS, 20, n_informative=10, n_classes=3, random_state=0)
    search = TimeConstrainedSearch(
        DecisionTreeClassifier(), _SPACE, time_limit=seconds, progress=False, random_state=seed
    ).fit(X, y)
    overheads = [
        1000 * (trial.elapsed - before.elapsed - trial.seconds_fit - trial.seconds_exam)
        for before, trial in pairwise(search.history_)
        if trial.rows == N_ROWS
    ]
    return overheads, search.time_used_ / search.time_limit_


def main(argv: Sequence[str] | None = None) -> int:
    """Run searches with several seeds, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of a search")
    parser.add_argument("--seeds", type=int, default=3, help="number of searches")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(argv), Environment.current()
    runs = [measure_search(arguments.seconds, seed) for seed in range(arguments.seeds)]
    overheads = [overhead for trials, _ in runs for overhead in trials]
    if not overheads:
        raise SystemExit(f"No trial on {N_ROWS:,} rows; allow more seconds.")
    quantiles = Quantiles.of(overheads)
    cells = [f"{value:.1f}" for value in (quantiles.p50, quantiles.p99, quantiles.max)]
    shares = [share for _, share in runs]
    table = MarkdownTable(
        f"Milliseconds beyond fit and predict, {N_ROWS:,} x 20 rows, {arguments.seconds:g} s",
        ("trials", "median", "p99", "maximum", "share of T used"),
        [[str(len(overheads)), *cells, f"{min(shares):.0%} to {max(shares):.0%}"]],
    )
    goal = Goal(f"at most {OVERHEAD_GOAL:g} ms in the median; it is {cells[0]}", quantiles.p50 <= OVERHEAD_GOAL)
    figures = {"overheads": overheads, "shares": shares}
    return write_report("trial_overhead", environment, [table], [goal], figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
