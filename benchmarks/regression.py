"""Compare TimeConstrainedRegressor at a time limit with random rows at the same limit and with a plain fit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from threadpoolctl import threadpool_limits

from _options import add_data_option, use_one_thread
from _regression_data import DATASETS, RegressionSplit
from _regression_pairs import PAIRS, RegressionPair
from _regression_runs import RegressionRun, run_pair
from _regression_summary import (
    RegressionFindings,
    make_comparison_table,
    make_goals,
    make_pair_table,
    make_run_table,
)
from _report import RESULTS, Environment, write_report


def run_pairs(
    pairs: Sequence[RegressionPair], folder: Path | None, seeds: int, max_train: int | None = None
) -> Iterator[RegressionRun]:
    """Run every pair with every seed; a data set is read once.

    Parameters
    ----------
    pairs : sequence of RegressionPair
        The pairs, grouped by data set.
    folder : Path or None
        Folder of parquet files; None if all data sets are generated.
    seeds : int
        Number of seeds.
    max_train : int or None, default=None
        Largest number of training rows, for a quick try; None for those of each pair.
    """
    for dataset, group in groupby(pairs, key=lambda pair: pair.dataset):
        table = DATASETS[dataset].read(folder)
        for pair in group:
            for seed in range(seeds):
                split = RegressionSplit.make(table, seed, max_train or pair.max_train)
                yield from run_pair(pair, split, seed)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pairs, print and write; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(argv), Environment.current()
    # The learners' processes read these variables; the plain fit runs in this process, whose libraries are loaded.
    use_one_thread()
    runs = []
    with threadpool_limits(1):
        for run in run_pairs(arguments.pairs, arguments.data, arguments.seeds, arguments.rows):
            print(run, flush=True)
            runs.append(run)
    findings = RegressionFindings(runs)
    tables = [make_pair_table(findings), make_comparison_table(findings), make_run_table(findings)]
    figures = {"runs": [asdict(run) for run in runs]}
    return write_report("regression", environment, tables, make_goals(findings), figures, arguments.results)


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--only", default="", help="only pairs whose name, such as 'covtype, lightgbm', contains this text")
    add("--seeds", type=int, default=2, help="number of seeds")
    add("--rows", type=int, help="largest number of training rows, for a quick try; default: those of each pair")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args(argv)
    arguments.pairs = [pair for pair in PAIRS if arguments.only in pair.name]
    if not arguments.pairs:
        names = "; ".join(pair.name for pair in PAIRS)
        parser.error(f"no pair contains {arguments.only!r}; the pairs are {names}")
    if arguments.data is None and not all(DATASETS[pair.dataset].is_generated for pair in arguments.pairs):
        parser.error("got no folder of data sets; pass --data FOLDER, set FITWITHIN_DATA, or pass --only friedman1")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
