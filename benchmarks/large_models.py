"""Measure what a fit with a large model takes beyond a plain fit: saving the model, and loading it in the program."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from _options import add_data_option, require_data
from _report import RESULTS, Environment, Goal, MarkdownTable, write_report
from fitwithin import TimeConstrainedClassifier
from fitwithin.backends._process.shared_memory import PickledObject, SharedFile, load_pickle
from fitwithin_paper.study.dataset_sources import load_dataset
from fitwithin_paper.study.preprocessing import prepare_dataset

# Largest time beyond a plain fit: a factor on `pickle.loads` of the model, and seconds.
LOAD_FACTOR = 1.2
EXTRA_SECONDS = 2.5

# Rows of the forests: they make models of about 0.1, 0.5 and 1.6 GiB.
_ROWS = (2_200, 11_000, 36_287)

# Enough for any of the fits.
_LIMIT_SECONDS = 600


@dataclass(frozen=True)
class LargeModelResult:
    """Seconds of one forest.

    Parameters
    ----------
    rows : int
        Training rows.
    gib : float
        Size of the model.
    plain, within : float
        Seconds of a plain fit, and of one with ``teacher="full"``.
    loads : float
        Seconds that `pickle.loads` of the model takes, with its arrays in a mapped file.
    """

    rows: int
    gib: float
    plain: float
    within: float
    loads: float

    @property
    def beyond(self) -> float:
        """Seconds beyond a plain fit."""
        return self.within - self.plain

    @property
    def most(self) -> float:
        """Goal for the seconds beyond a plain fit."""
        return LOAD_FACTOR * self.loads + EXTRA_SECONDS


def measure(X: Any, y: Any) -> LargeModelResult:
    """Fit a forest twice, and load it once."""
    learner = ExtraTreesClassifier(100, random_state=0)
    start = time.monotonic()
    model = ExtraTreesClassifier(100, random_state=0).fit(X, y)
    plain = time.monotonic() - start
    file = SharedFile()
    PickledObject(model).write(file.fd)
    del model
    gc.collect()
    start = time.monotonic()
    model = load_pickle(file.fd)
    loads = time.monotonic() - start
    n_bytes = file.n_bytes
    file.close()
    del model
    gc.collect()
    start = time.monotonic()
    classifier = TimeConstrainedClassifier(learner, time_limit=_LIMIT_SECONDS, teacher="full", random_state=0)
    classifier.fit(X, y)
    return LargeModelResult(len(y), n_bytes / (1 << 30), plain, time.monotonic() - start, loads)


def _make_table(results: Sequence[LargeModelResult]) -> MarkdownTable:
    rows = [
        [
            f"{result.rows:,}",
            f"{result.gib:.2f}",
            *(f"{seconds:.1f}" for seconds in (result.plain, result.within, result.beyond, result.loads, result.most)),
        ]
        for result in results
    ]
    columns = ("rows", "model (GiB)", "plain fit (s)", '`teacher="full"` (s)', "beyond (s)", "loads (s)", "goal (s)")
    return MarkdownTable("Forests of 100 trees, 256 features, 43 classes, in a warm process", columns, rows)


def main() -> int:
    """Measure all forests; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=_ROWS, help="training rows of each forest")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    add_data_option(parser)
    arguments, environment = parser.parse_args(), Environment.current()
    require_data(parser, arguments)
    split = prepare_dataset(load_dataset("gtsrb_huehist", arguments.data, online=False))
    X, y = np.asarray(split.X_train), np.asarray(split.y_train)
    # The first fit of a program waits for its processes.
    TimeConstrainedClassifier(ExtraTreesClassifier(5), time_limit=60, teacher="full").fit(X[:300], y[:300])
    order = np.random.default_rng(0).permutation(len(y))
    results = []
    for n_rows in arguments.rows:
        rows = order[:n_rows]
        results.append(measure(X[rows], y[rows]))
        print(results[-1], flush=True)
    goals = [
        Goal(
            f"{result.gib:.2f} GiB: at most {result.most:.1f} s beyond a plain fit; it is {result.beyond:.1f} s",
            result.beyond <= result.most,
        )
        for result in results
    ]
    figures = {"forests": [asdict(result) for result in results]}
    return write_report("large_models", environment, [_make_table(results)], goals, figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
