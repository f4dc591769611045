"""Measure how often the interval of `score_estimate_` holds the accuracy of the returned model on a large test set."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from _accuracy_datasets import BenchmarkDataset, make_up_dataset, open_dataset
from _options import add_data_option
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin._pools.tables import take_rows
from fitwithin.teachers import TBatch
from fitwithin_paper.study.dataset_sources import load_dataset
from fitwithin_paper.study.paper_learners import make_paper_learner
from fitwithin_paper.study.study_run import TrainTestRows

# Least and largest share of the intervals that hold the accuracy.
COVERAGE_GOAL = (0.93, 0.98)

# Name of the data set that needs no folder, and its training rows.
_MADE_UP = "made-up"
_MADE_UP_ROWS = 400_000

# Test rows. They give the accuracy to within 0.3 points, a quarter of the width of an interval.
_TEST_ROWS = 100_000

# Rows and time limit in seconds of the fit that starts the helper process before each measurement.
_WARM_UP_ROWS = 50
_WARM_UP_SECONDS = 60.0

LEARNERS: Mapping[str, Callable[[], Any]] = {
    "decision-tree": lambda: make_paper_learner("decision-tree"),
    "sgd-log": lambda: make_paper_learner("sgd-log"),
    "random-forest": lambda: RandomForestClassifier(10, min_samples_split=30, n_jobs=1),
    "lightgbm": lambda: LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1),
}
"""Learners that fit and predict fast."""


@dataclass(frozen=True)
class IntervalResult:
    """The estimate of one fit, and the accuracy on the test rows.

    Parameters
    ----------
    learner : str
        Name of the learner.
    accuracy : float
        Accuracy of the returned model on the test rows.
    estimate, low, high : float or None
        `score_estimate_`; None if there is none.
    rows : int
        Training rows of the model.
    seconds : float
        Time used.
    """

    learner: str
    accuracy: float
    estimate: float | None
    low: float | None
    high: float | None
    rows: int
    seconds: float

    @property
    def is_held(self) -> bool:
        """Whether the interval holds the accuracy."""
        return self.low is not None and self.high is not None and self.low <= self.accuracy <= self.high


def fit_once(rows: TrainTestRows, number: int, pool_rows: int, seconds: float) -> IntervalResult | None:
    """Fit auto on a sample of the training rows, and score the model on the test rows; None without a model.

    Parameters
    ----------
    rows : TrainTestRows
        Training rows to sample from, and test rows.
    number : int
        Number of the fit; it chooses the sample, the learner and the seed.
    pool_rows : int
        Rows of the sample.
    seconds : float
        Time limit.
    """
    sample = np.random.default_rng(number).choice(rows.n_train, pool_rows, replace=False)
    name = list(LEARNERS)[number % len(LEARNERS)]
    X, y = take_rows(rows.X, sample), rows.y[sample]
    model = TimeConstrainedClassifier(LEARNERS[name](), progress=False, random_state=number)
    with warnings.catch_warnings():
        # Warnings of learners, such as too few iterations, are irrelevant here.
        warnings.simplefilter("ignore")
        # The first fit starts the helper process and imports the learner, which takes longer than the limit.
        clone(model).set_params(teacher=TBatch(_WARM_UP_ROWS), time_limit=_WARM_UP_SECONDS).fit(X, y)
        try:
            model.set_params(time_limit=seconds).fit(X, y)
        except NoModelInTime:
            return None
        accuracy = float(model.score(rows.X[rows.n_train :], rows.y[rows.n_train :]))
    interval = (None, None, None) if model.score_estimate_ is None else model.score_estimate_
    return IntervalResult(name, accuracy, *interval, model.n_rows_trained_, model.time_used_)


def make_table(results: Sequence[IntervalResult]) -> MarkdownTable:
    """Return the table of coverage by learner."""
    groups = {name: [each for each in results if each.learner == name] for name in LEARNERS}
    rows = [_describe_group(name, group) for name, group in [*groups.items(), ("all", list(results))] if group]
    columns = ("learner", "fits", "held (%)", "accuracy above (%)", "accuracy below (%)", "no estimate")
    more = ("half width, median (points)", "estimate - accuracy, mean (points)", "median", "rows, median")
    return MarkdownTable("Intervals that hold the accuracy", (*columns, *more), rows)


def _describe_group(name: str, group: Sequence[IntervalResult]) -> list[str]:
    known = [each for each in group if each.estimate is not None]
    errors = [100 * (each.estimate - each.accuracy) for each in known if each.estimate is not None]
    widths = [50 * (each.high - each.low) for each in known if each.high is not None and each.low is not None]
    above = sum(each.high is not None and each.accuracy > each.high for each in known)
    below = sum(each.low is not None and each.accuracy < each.low for each in known)
    return [
        name,
        str(len(group)),
        *(f"{100 * count / len(group):.1f}" for count in (sum(each.is_held for each in group), above, below)),
        str(len(group) - len(known)),
        *([f"{median(widths):.2f}", f"{fmean(errors):+.2f}", f"{median(errors):+.2f}"] if known else ["", "", ""]),
        f"{median(each.rows for each in group):,.0f}",
    ]


def make_goals(results: Sequence[IntervalResult], n_without_model: int = 0) -> list[Goal]:
    """Return the goals: coverage, and a model with an estimate for every fit."""
    held, missing = sum(each.is_held for each in results), sum(each.estimate is None for each in results)
    share = held / len(results)
    low, high = binomtest(held, len(results)).proportion_ci()
    least, largest = COVERAGE_GOAL
    coverage = (
        f"the 95 % interval holds the accuracy in {least:.0%} to {largest:.0%} of the fits; "
        f"in {share:.1%} of {len(results)} (95 % interval of that share: {low:.1%} to {high:.1%})"
    )
    return [
        Goal(coverage, least <= share <= largest),
        Goal(
            f"every fit has a model with an estimate; {n_without_model} have no model, {missing} no estimate",
            not missing and not n_without_model,
        ),
    ]


@contextmanager
def _open_pool(name: str, folder: Path | None) -> Iterator[BenchmarkDataset]:
    if name == _MADE_UP:
        with TemporaryDirectory(prefix="fitwithin-coverage-") as temporary:
            yield make_up_dataset(Path(temporary) / "X.npy", _MADE_UP_ROWS, _TEST_ROWS)
    else:
        with open_dataset(name, partial(load_dataset, folder=folder, online=False)) as dataset:
            yield dataset


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--dataset", default="covtype", help=f"name of the data set; {_MADE_UP} needs no folder")
    add("--fits", type=int, default=200, help="number of fits")
    add("--seconds", type=float, default=1.0, help="time limit of each fit")
    add("--rows", type=int, default=20_000, help="training rows that each fit is given")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    if arguments.data is None and arguments.dataset != _MADE_UP:
        parser.error(f"got no folder of data sets; pass --data FOLDER, or --dataset {_MADE_UP}")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the fits and report; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(argv), Environment.current()
    with _open_pool(arguments.dataset, arguments.data) as dataset:
        rows = dataset.select_rows(dataset.n_rows, _TEST_ROWS)
        every = []
        for number in range(arguments.fits):
            every.append(fit_once(rows, number, arguments.rows, arguments.seconds))
            print(".", end="", flush=True)
    print()
    results = [each for each in every if each is not None]
    if not results:
        raise SystemExit(f"no model within {arguments.seconds:g} s in any fit; pass a longer --seconds")
    goals = make_goals(results, len(every) - len(results))
    figures = {"fits": [asdict(result) for result in results]}
    return write_report("interval_coverage", environment, [make_table(results)], goals, figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
