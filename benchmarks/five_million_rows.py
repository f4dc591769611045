"""Fit LightGBM on five million rows of a file within fifteen minutes."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier

from _peak_memory import measure_peak_memory
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from _synthetic_data import Features, Target, make_pool
from fitwithin import TimeConstrainedClassifier

# Share of the rows that are test rows, and their largest number.
_TEST_SHARE = 0.1
_MAX_TEST_ROWS = 200_000
# Seconds that a fit may be late.
_LATE_SECONDS = 0.1


@dataclass(frozen=True)
class FinishedRound:
    """One of the fits of a call of `fit`: when it was over, in seconds, its training rows and its validation score."""

    elapsed: float
    rows: int
    score: float | None


@dataclass(frozen=True)
class LargeFit:
    """One call of `fit`, with its seconds, training rows, test accuracy, peak memory in bytes, and its rounds."""

    way: str
    limit: float | None
    seconds: float
    rows: int
    accuracy: float
    peak_memory: int
    estimate: tuple[float, float, float] | None = None
    rounds: tuple[FinishedRound, ...] = ()


def make_learner(trees: int, leaves: int) -> LGBMClassifier:
    """Return a booster that is too slow for all rows, with all cores."""
    return LGBMClassifier(n_estimators=trees, num_leaves=leaves, verbosity=-1)


def fit_within_limit(
    learner: Any, X: Features, y: Target, n_train: int, limit: float, memory_limit: str | None
) -> LargeFit:
    """Fit under the limit, and write a line for each round."""
    clf = TimeConstrainedClassifier(
        learner, time_limit=limit, memory_limit=memory_limit, on_round=_print_round, progress=False, random_state=0
    )
    with measure_peak_memory(period=0.2) as peak:
        clf.fit(X[:n_train], y[:n_train])
    accuracy = float(np.mean(clf.predict(X[n_train:]) == y[n_train:]))
    rounds = tuple(FinishedRound(one.elapsed, one.rows, one.estimate) for one in clf.history_)
    return LargeFit(
        "fitwithin", limit, clf.time_used_, clf.n_rows_trained_, accuracy, peak.own, clf.score_estimate_, rounds
    )


def fit_plainly(learner: Any, X: Features, y: Target, n_train: int) -> LargeFit:
    """Fit on every row, without a limit."""
    start = time.perf_counter()
    with measure_peak_memory(period=0.2) as peak:
        learner.fit(X[:n_train], y[:n_train])
    seconds = time.perf_counter() - start
    accuracy = float(np.mean(learner.predict(X[n_train:]) == y[n_train:]))
    return LargeFit("plain fit, every row", None, seconds, n_train, accuracy, peak.own)


def make_table(fits: list[LargeFit]) -> MarkdownTable:
    """Return one line for each fit."""
    rows = [
        [
            fit.way,
            "none" if fit.limit is None else f"{fit.limit:g}",
            f"{fit.seconds:.1f}",
            f"{fit.rows:,}",
            f"{fit.accuracy:.4f}",
            "" if fit.estimate is None else "{:.4f} [{:.4f}, {:.4f}]".format(*fit.estimate),
            f"{fit.peak_memory / 1e9:.1f}",
        ]
        for fit in fits
    ]
    columns = ("", "limit (s)", "seconds", "training rows", "test accuracy", "estimate", "memory beyond the file (GB)")
    return MarkdownTable("LightGBM on a memory-mapped file", columns, rows)


def make_rounds_table(rounds: tuple[FinishedRound, ...]) -> MarkdownTable:
    """Return one line for each round."""
    rows = [[f"{one.elapsed:.0f}", f"{one.rows:,}", "" if one.score is None else f"{one.score:.4f}"] for one in rounds]
    return MarkdownTable("Each fit of fitwithin", ("over after (s)", "training rows", "score on validation rows"), rows)


def _print_round(finished: Any) -> None:
    score = "" if finished.estimate is None else f", accuracy {finished.estimate:.4f}"
    print(f"{finished.elapsed:7.1f} s  {finished.rows:9,} rows{score}", flush=True)


def main() -> int:
    """Make the rows, fit, and write the result."""
    arguments, environment = _parse_arguments(), Environment.current()
    n_test = min(_MAX_TEST_ROWS, round(_TEST_SHARE * arguments.rows))
    n_train = arguments.rows - n_test
    learner = make_learner(arguments.trees, arguments.leaves)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        X, y = make_pool(arguments.rows, arguments.columns, file=Path(folder) / "rows.npy")
        fits = [fit_within_limit(learner, X, y, n_train, arguments.limit, arguments.memory_limit)]
        if arguments.plain:
            fits.append(fit_plainly(learner, X, y, n_train))
    late = fits[0].seconds - arguments.limit
    goals = [Goal(f"at most {_LATE_SECONDS} s late; {late:+.3f} s", late <= _LATE_SECONDS)]
    figures = {"columns": arguments.columns, "fits": [asdict(fit) for fit in fits]}
    tables = [make_table(fits), make_rounds_table(fits[0].rounds)]
    return write_report("five_million_rows", environment, tables, goals, figures, arguments.results)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_200_000, help="rows to make; 200,000 of them are test rows")
    parser.add_argument("--columns", type=int, default=30, help="columns to make")
    parser.add_argument("--limit", type=float, default=900.0, help="time limit in seconds")
    parser.add_argument("--memory-limit", help='memory limit of the learner, such as "8GB"; default: none')
    parser.add_argument("--trees", type=int, default=2000, help="trees of the learner")
    parser.add_argument("--leaves", type=int, default=255, help="leaves of a tree")
    parser.add_argument("--plain", action="store_true", help="also fit every row without a limit; may take hours")
    parser.add_argument("--folder", type=Path, help="where the file of rows is made; default: the temporary folder")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
