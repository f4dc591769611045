"""Compare TCT with Double, random samples and all rows: LightGBM on covtype, T is the time of a fit on all rows."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from _options import add_data_option, require_data
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from fitwithin import TimeConstrainedClassifier

# Accuracies in the paper, in percent.
PAPER_ACCURACIES = {"TCT": "86.6", "Double": "85.3", "Full, no limit": "85.3"}
_FULL = "Full, no limit"

# Seconds that a fit may be late.
_LATE_SECONDS = 0.1


@dataclass(frozen=True, eq=False)
class CovtypeSplit:
    """Standardised training and test rows."""

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    X_test: npt.NDArray[Any]
    y_test: npt.NDArray[Any]

    @classmethod
    def make(cls, frame: pd.DataFrame, seed: int) -> CovtypeSplit:
        """Split 70/30, stratified by class."""
        y = frame["target"].to_numpy()
        X = frame.drop(columns="target").to_numpy(np.float64)
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        scaler = StandardScaler().fit(X)
        return cls(scaler.transform(X), y, scaler.transform(X_test), y_test)

    def keep_test_rows(self, count: int) -> CovtypeSplit:
        """Return the same training rows with fewer test rows; they are in random order."""
        return replace(self, X_test=self.X_test[:count], y_test=self.y_test[:count])


@dataclass(frozen=True)
class CovtypeResult:
    """Result of one way to choose training rows.

    Parameters
    ----------
    way : str
        Name of the way.
    seed : int
        Seed of the split, the choice of rows and the learner.
    limit : float
        T, the mean time of two fits on all rows of this split.
    seconds : float
        Time used.
    rows : int
        Training rows of the model.
    accuracy : float
        Accuracy on the test rows.
    """

    way: str
    seed: int
    limit: float
    seconds: float
    rows: int
    accuracy: float


Way = Callable[[CovtypeSplit, int, float], CovtypeResult]


def _make_learner(seed: int | None = None) -> LGBMClassifier:
    return LGBMClassifier(n_jobs=1, verbosity=-1, random_state=seed)


def fit_on_sample(way: str, share: float, split: CovtypeSplit, seed: int, limit: float) -> CovtypeResult:
    """Fit on a random sample of a guessed size, without a teacher."""
    start = time.perf_counter()
    rows = np.random.default_rng(seed).permutation(len(split.y))[: round(share * len(split.y))]
    model = _make_learner(seed).fit(split.X[rows], split.y[rows])
    seconds = time.perf_counter() - start
    return CovtypeResult(way, seed, limit, seconds, len(rows), _compute_accuracy(model, split))


def fit_on_all_rows(split: CovtypeSplit, seed: int) -> CovtypeResult:
    """Fit on all rows, twice; the mean of both times is T."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        model = _make_learner(seed).fit(split.X, split.y)
        times.append(time.perf_counter() - start)
    return CovtypeResult(_FULL, seed, mean(times), mean(times), len(split.y), _compute_accuracy(model, split))


def fit_with_teacher(way: str, split: CovtypeSplit, seed: int, limit: float) -> CovtypeResult:
    """Fit with a teacher, under the limit."""
    model = TimeConstrainedClassifier(_make_learner(), time_limit=limit, teacher=way.lower(), random_state=seed)
    start = time.perf_counter()
    model.fit(split.X, split.y)
    seconds = time.perf_counter() - start
    return CovtypeResult(way, seed, limit, seconds, model.n_rows_trained_, _compute_accuracy(model, split))


WAYS: Mapping[str, Way] = {
    "TCT": partial(fit_with_teacher, "TCT"),
    "Double": partial(fit_with_teacher, "Double"),
    "random 10 %": partial(fit_on_sample, "random 10 %", 0.10),
    "random 25 %": partial(fit_on_sample, "random 25 %", 0.25),
}


def run_seed(frame: pd.DataFrame, seed: int) -> list[CovtypeResult]:
    """Run every way on one split; each seed starts with another way."""
    split = CovtypeSplit.make(frame, seed)
    full = fit_on_all_rows(split, seed)
    # Start the helper process: it may have ended while we fitted without it.
    TimeConstrainedClassifier(_make_learner(), time_limit=60).fit(split.X[:300], split.y[:300])
    ways = list(WAYS)
    turn = seed % len(ways)
    results = [full, *(WAYS[way](split, seed, full.limit) for way in ways[turn:] + ways[:turn])]
    for one in results:
        print(f"seed {seed}: {one.way}: {one.accuracy:.4f}, {one.seconds:.1f} of {one.limit:.1f} s", flush=True)
    return results


def _compute_accuracy(model: Any, split: CovtypeSplit) -> float:
    return float(np.mean(model.predict(split.X_test) == split.y_test))


def _group_by_way(results: Sequence[CovtypeResult]) -> dict[str, list[CovtypeResult]]:
    return {way: [one for one in results if one.way == way] for way in (*WAYS, _FULL)}


def _make_table(results: Sequence[CovtypeResult]) -> MarkdownTable:
    seeds = sorted({one.seed for one in results})
    rows = [
        [
            way,
            f"{100 * mean(one.accuracy for one in ones):.2f}",
            *(f"{100 * one.accuracy:.2f}" for one in sorted(ones, key=lambda one: one.seed)),
            f"{mean(one.rows for one in ones):,.0f}",
            f"{mean(one.seconds for one in ones):.1f}",
            f"{mean(one.limit for one in ones):.1f}",
            PAPER_ACCURACIES.get(way, ""),
        ]
        for way, ones in _group_by_way(results).items()
    ]
    columns = ("rows chosen by", "test accuracy (%)", *(f"seed {seed}" for seed in seeds))
    more = ("training rows", "time used (s)", "T (s)", "the paper (%)")
    return MarkdownTable("covtype, LightGBM, T = the time of a full training", (*columns, *more), rows)


def _make_goals(results: Sequence[CovtypeResult]) -> list[Goal]:
    means = {way: mean(one.accuracy for one in ones) for way, ones in _group_by_way(results).items()}
    latest = max(one.seconds - one.limit for one in results if one.way != _FULL)
    beaten = [
        Goal(f"TCT beats {way}: {100 * means['TCT']:.2f} against {100 * found:.2f}", means["TCT"] > found)
        for way, found in means.items()
        if way not in ("TCT", _FULL)
    ]
    return [
        *beaten,
        Goal(f"no fit uses more than T + {_LATE_SECONDS} s; at most T {latest:+.3f} s", latest <= _LATE_SECONDS),
    ]


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser, "covtype.parquet or its folder")
    parser.add_argument("--seeds", type=int, default=3, help="number of splits")
    parser.add_argument("--rows", type=int, help="number of random rows to use, for a quick try; default: all")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    require_data(parser, arguments)
    return arguments


def read_covtype(data: Path, rows: int | None) -> pd.DataFrame:
    """Read covtype.parquet, or random rows of it."""
    file = Path(data) / "covtype.parquet" if Path(data).is_dir() else Path(data)
    frame = pd.read_parquet(file)
    return frame if rows is None else frame.sample(rows, random_state=0)


def main() -> int:
    """Run every seed; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(), Environment.current()
    frame = read_covtype(arguments.data, arguments.rows)
    results = [one for seed in range(arguments.seeds) for one in run_seed(frame, seed)]
    figures = {"results": [asdict(one) for one in results]}
    return write_report(
        "covtype", environment, [_make_table(results)], _make_goals(results), figures, arguments.results
    )


if __name__ == "__main__":
    sys.exit(main())
