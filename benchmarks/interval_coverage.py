"""Measure how often the interval of `score_estimate_` holds the score of the returned model on a large test set."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory

from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.metrics import get_scorer

from _accuracy_datasets import DENSE, BenchmarkDataset, make_up_dataset, open_dataset
from _coverage_cases import CASES, CoverageCase, CoverageRows
from _options import add_data_option
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from fitwithin import NoModelInTime, TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._pools.tables import take_rows
from fitwithin.teachers import TBatch
from fitwithin_paper.study.dataset_sources import load_dataset

DATASETS = ("covtype", "skin_segmentation", "unsw_nb15_82k", "adult")
"""Data sets with many rows, so that test rows give the score well."""

# Least and largest share of the intervals that hold the score.
COVERAGE_GOAL = (0.93, 0.98)

# Name of the data set that needs no folder, and its training rows.
_SYNTHETIC = "synthetic"
_MADE_UP_ROWS = 400_000

# Test rows. They give the accuracy to within 0.3 points, a quarter of the width of an interval.
_TEST_ROWS = 100_000

# Rows and time limit in seconds of the fit that starts the helper process before each measurement.
_WARM_UP_ROWS = 50
_WARM_UP_SECONDS = 60.0


@dataclass(frozen=True)
class IntervalResult:
    """The estimate of one fit, and the score on the test rows.

    Parameters
    ----------
    learner : str
        Name of the learner.
    score : float
        Score of the returned model on the test rows.
    estimate, low, high : float or None
        `score_estimate_`; None if there is none.
    rows : int
        Training rows of the model.
    seconds : float
        Time used.
    case, dataset : str
        Name of the case, and of the data set.
    """

    learner: str
    score: float
    estimate: float | None
    low: float | None
    high: float | None
    rows: int
    seconds: float
    case: str = "accuracy"
    dataset: str = _SYNTHETIC

    @property
    def is_held(self) -> bool:
        """Whether the interval holds the score."""
        return self.low is not None and self.high is not None and self.low <= self.score <= self.high


def fit_once(
    rows: CoverageRows, case: CoverageCase, dataset: str, number: int, pool_rows: int, seconds: float
) -> IntervalResult | None:
    """Fit auto on a sample of the training rows, and score the model on the test rows; None without a model.

    Parameters
    ----------
    rows : CoverageRows
        Training rows to sample from, and test rows.
    case : CoverageCase
        The metric.
    dataset : str
        Name of the data set.
    number : int
        Number of the fit; it chooses the sample, the learner and the seed.
    pool_rows : int
        Rows of the sample.
    seconds : float
        Time limit.
    """
    sample, test = rows.draw(number, pool_rows)
    name = list(case.learners)[number % len(case.learners)]
    kind = TimeConstrainedRegressor if case.regression else TimeConstrainedClassifier
    model = kind(case.learners[name](), scoring=case.scoring, progress=False, random_state=number)
    X, y = take_rows(rows.X, sample), rows.y[sample]
    params = {"sample_weight": rows.weights, "groups": rows.groups}
    chosen = {key: values[sample] for key, values in params.items() if values is not None}
    with warnings.catch_warnings():
        # Warnings of learners, such as too few iterations, are irrelevant here.
        warnings.simplefilter("ignore")
        # The first fit starts the helper process and imports the learner, which takes longer than the limit.
        clone(model).set_params(teacher=TBatch(_WARM_UP_ROWS), time_limit=_WARM_UP_SECONDS).fit(X, y, **chosen)
        try:
            model.set_params(time_limit=seconds).fit(X, y, **chosen)
        except NoModelInTime:
            return None
        weights = None if rows.weights is None else rows.weights[test]
        score = get_scorer(case.scoring)(
            model.best_estimator_, take_rows(rows.X, test), rows.y[test], sample_weight=weights
        )
    interval = (None, None, None) if model.score_estimate_ is None else model.score_estimate_
    return IntervalResult(name, float(score), *interval, model.n_rows_trained_, model.time_used_, case.name, dataset)


def make_table(results: Sequence[IntervalResult], by: str = "case") -> MarkdownTable:
    """Return the table of coverage by case, data set or learner."""
    groups: dict[str, list[IntervalResult]] = {}
    for result in results:
        groups.setdefault(getattr(result, by), []).append(result)
    rows = [_describe_group(name, group) for name, group in [*groups.items(), ("all", list(results))]]
    columns = (by, "fits", "held (%)", "score above (%)", "score below (%)", "no estimate")
    more = ("half width, median (points)", "estimate - score, mean (points)", "median", "rows, median")
    return MarkdownTable(f"Intervals that hold the score, by {by}", (*columns, *more), rows)


def _describe_group(name: str, group: Sequence[IntervalResult]) -> list[str]:
    known = [each for each in group if each.estimate is not None]
    errors = [100 * (each.estimate - each.score) for each in known if each.estimate is not None]
    widths = [50 * (each.high - each.low) for each in known if each.high is not None and each.low is not None]
    held = sum(each.is_held for each in known)
    above = sum(each.high is not None and each.score > each.high for each in known)
    below = sum(each.low is not None and each.score < each.low for each in known)
    return [
        name,
        str(len(group)),
        *(f"{100 * count / max(1, len(known)):.1f}" for count in (held, above, below)),
        str(len(group) - len(known)),
        *([f"{median(widths):.2f}", f"{fmean(errors):+.2f}", f"{median(errors):+.2f}"] if known else ["", "", ""]),
        f"{median(each.rows for each in group):,.0f}",
    ]


def make_goals(results: Sequence[IntervalResult], n_without_model: int = 0) -> list[Goal]:
    """Return the goals: coverage by case, a range that is kept, and a model with an estimate for every fit."""
    least, largest = COVERAGE_GOAL
    goals = []
    for case in dict.fromkeys(result.case for result in results):
        known = [each for each in results if each.case == case and each.estimate is not None]
        held = sum(each.is_held for each in known)
        low, high = binomtest(held, len(known)).proportion_ci() if known else (0.0, 0.0)
        share = held / max(1, len(known))
        text = (
            f"{case}: the 95 % interval holds the score in {least:.0%} to {largest:.0%} of the fits with an estimate; "
            f"in {share:.1%} of {len(known)} (95 % interval of that share: {low:.1%} to {high:.1%})"
        )
        goals.append(Goal(text, least <= share <= largest))
    outside = sum(
        each.high > 1 or (each.low < 0 and each.case != "R2")
        for each in results
        if each.low is not None and each.high is not None
    )
    missing = sum(each.estimate is None and "rare" not in each.case for each in results)
    return [
        *goals,
        Goal(f"no interval leaves the range of its metric; {outside} do", not outside),
        Goal(
            "every fit has a model with an estimate, unless a class is rare; "
            f"{n_without_model} have no model, {missing} no estimate",
            not missing and not n_without_model,
        ),
    ]


@contextmanager
def _open_pool(name: str, folder: Path | None) -> Iterator[BenchmarkDataset]:
    if name == _SYNTHETIC:
        with TemporaryDirectory(prefix="fitwithin-coverage-") as temporary:
            yield make_up_dataset(Path(temporary) / "X.npy", _MADE_UP_ROWS, _TEST_ROWS)
    else:
        with open_dataset(f"{name}{DENSE}", partial(load_dataset, folder=folder, online=False)) as dataset:
            yield dataset


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--datasets", nargs="+", default=DATASETS, help=f"names of data sets; {_SYNTHETIC} needs no folder")
    add("--cases", nargs="+", default=[case.name for case in CASES], help="names of cases")
    add("--fits", type=int, default=40, help="number of fits of each case on each data set")
    add("--seconds", type=float, default=1.0, help="time limit of each fit")
    add("--rows", type=int, default=20_000, help="training rows that each fit is given")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    if arguments.data is None and arguments.datasets != [_SYNTHETIC]:
        parser.error(f"got no folder of data sets; pass --data FOLDER, or --datasets {_SYNTHETIC}")
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run the fits and report; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(argv), Environment.current()
    every = []
    for name in arguments.datasets:
        with _open_pool(name, arguments.data) as dataset:
            rows = dataset.select_rows(dataset.n_rows, _TEST_ROWS)
            for case in (case for case in CASES if case.name in arguments.cases):
                of_case = CoverageRows.make(rows, case)
                for number in range(arguments.fits):
                    every.append(fit_once(of_case, case, name, number, arguments.rows, arguments.seconds))
                    print(".", end="", flush=True)
    print()
    results = [each for each in every if each is not None]
    if not results:
        raise SystemExit(f"no model within {arguments.seconds:g} s in any fit; pass a longer --seconds")
    goals = make_goals(results, len(every) - len(results))
    figures = {"fits": [asdict(result) for result in results]}
    tables = [make_table(results, by) for by in ("case", "dataset", "learner")]
    return write_report("interval_coverage", environment, tables, goals, figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
