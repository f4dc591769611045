"""Compare oversampling the mistakes of a first model with giving them larger weights."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from _accuracy_learners import LEARNERS
from _options import add_data_option, require_data, use_one_thread
from _report import RESULTS, Environment, MarkdownTable, write_report
from fitwithin_paper.study.dataset_sources import load_dataset
from fitwithin_paper.study.preprocessing import prepare_dataset
from fitwithin_paper.study.study_run import TrainTestRows

PAIRS = (
    ("covtype", "lightgbm", 40_000),
    ("covtype", "hist-gradient-boosting", 40_000),
    ("covtype", "random-forest", 20_000),
    ("covtype", "decision-tree", 40_000),
    ("unsw_nb15_82k", "lightgbm", 25_000),
    ("unsw_nb15_82k", "random-forest", 25_000),
    ("dota2", "random-forest", 30_000),
    ("adult", "random-forest", 15_000),
)
"""Pairs of the tuning list, and the training rows: at most half of those there are."""

WEIGHTS = (1.5, 2.0, 3.0)
"""Weights of the mistakes; other rows have the weight 1."""

SHARES = (1.5, 2.0)
"""Shares of mistakes in a lesson, as multiples of the natural one."""

# Rows of the first model, whose mistakes are emphasized.
_FIRST_ROWS = 2_000

_TEST_ROWS = 30_000


def compare_on_pair(rows: TrainTestRows, learner: str, n_rows: int, seed: int) -> dict[str, float]:
    """Return the test accuracy without either, with oversampling and with weights, all on the same number of rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows.n_train)
    n_rows = min(n_rows, rows.n_train // 2)
    plain, spare = order[:n_rows], order[n_rows : 2 * n_rows]
    first = _fit(rows, learner, order[:_FIRST_ROWS], seed)
    is_mistake = _find_mistakes(first, rows, plain)
    spare_mistakes = spare[_find_mistakes(first, rows, spare)]
    found = {"plain": _score(_fit(rows, learner, plain, seed), rows)}
    for weight in WEIGHTS:
        weights = np.where(is_mistake, weight, 1.0)
        found[f"weight {weight:g}"] = _score(_fit(rows, learner, plain, seed, weights), rows)
    for share in SHARES:
        added = spare_mistakes[: int((share - 1) * is_mistake.sum())]
        others = plain[~is_mistake][: n_rows - int(is_mistake.sum()) - len(added)]
        mixed = np.concatenate([plain[is_mistake], others, added])
        found[f"{share:g} x the mistakes"] = _score(_fit(rows, learner, mixed, seed), rows)
    return found


def _fit(rows: TrainTestRows, learner: str, chosen: Any, seed: int, weights: Any = None) -> Any:
    model = LEARNERS[learner]()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    params = {} if weights is None else {"sample_weight": weights}
    return model.fit(rows.X[chosen], rows.y[chosen], **params)


def _find_mistakes(model: Any, rows: TrainTestRows, chosen: Any) -> Any:
    return model.predict(rows.X[chosen]) != rows.y[chosen]


def _score(model: Any, rows: TrainTestRows) -> float:
    return float(np.mean(model.predict(rows.X[rows.n_train :]) == rows.y[rows.n_train :]))


def make_table(found: Mapping[tuple[str, str], Sequence[Mapping[str, float]]]) -> MarkdownTable:
    """Return the table of mean accuracies; what differs from "plain" is given as a difference."""
    ways = list(next(iter(found.values()))[0])
    body = []
    for (dataset, learner), runs in found.items():
        means = {way: fmean(run[way] for run in runs) for way in ways}
        differences = (f"{100 * (means[way] - means['plain']):+.2f}" for way in ways[1:])
        body.append([dataset, learner, f"{100 * means['plain']:.2f}", *differences])
    title = "Test accuracy in %, and the difference to it in points; mean over the seeds"
    return MarkdownTable(title, ("data set", "learner", "random rows", *ways[1:]), body)


def main(argv: Sequence[str] | None = None) -> int:
    """Fit every pair in every way, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--seeds", type=int, default=2, help="number of seeds")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(argv), Environment.current()
    require_data(parser, arguments)
    use_one_thread()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for dataset, learner, n_rows in PAIRS:
        prepared = prepare_dataset(load_dataset(dataset, arguments.data))
        rows = TrainTestRows.from_dataset(prepared, len(prepared.y_train), _TEST_ROWS)
        found[dataset, learner] = [compare_on_pair(rows, learner, n_rows, seed) for seed in range(arguments.seeds)]
        print(dataset, learner, found[dataset, learner], flush=True)
    runs = [{"dataset": pair[0], "learner": pair[1], "runs": list(runs)} for pair, runs in found.items()]
    return write_report("emphasis", environment, [make_table(found)], [], {"pairs": runs}, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
