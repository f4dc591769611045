"""Fit the cases in which the default of version 0.2.0 was behind: real data at full size, real processes.

``python benchmarks/default_cases.py [--data FOLDER] [--jobs N]``; each fit is a program of its own, whose first, small
fit starts the learner's process and is not counted. With `--jobs`, the machine needs two idle cores for each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from _report import RESULTS, Environment, Goal, MarkdownTable, write_report

sys.path.insert(0, str(Path(__file__).parent / "tunnel"))
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_WARM_UP_ROWS = 2_000
_TEACHERS = ("auto", "double")

# Data set, learner, encoding of categories, limits in seconds, and for some of them the least accuracy.
CASES: dict[str, tuple[str, str, str, dict[float, float | None]]] = {
    "gtsrb": ("gtsrb_huehist", "extra-trees", "numbers", {4.5: None, 9: None, 18: None, 36: None}),
    "letter": ("letter", "svc", "numbers", {1: None, 2: None, 4: None}),
    "covtype": ("covtype", "lightgbm", "numbers", {7: 0.851, 18: 0.862, 60: 0.862}),
    "one-hot": ("diabetes130us", "lightgbm", "one-hot", {2: None, 4: None}),
}


def fit_case(name: str, teacher: str, limit: float, seed: int, data: Path) -> dict[str, Any]:
    """Return what one fit reached; a limit of 0 is a plain fit on every row."""
    from datasets import load_features
    from learners import make_learner
    from lessons import split_rows
    from pairs import Pair

    from fitwithin import NoModelInTime, TimeConstrainedClassifier

    table, learner_name, encoding, _ = CASES[name]
    pair = Pair(table, learner_name, "", 10**9, 0.0, encoding, test_rows=10**6)
    pool, _, test = split_rows(load_features(pair, data), pair)
    learner = make_learner(learner_name, seed, [])
    if limit:
        settings: dict[str, Any] = {"teacher": teacher, "random_state": seed, "progress": False}
        TimeConstrainedClassifier(learner, time_limit=60, **settings).fit(
            pool.X[:_WARM_UP_ROWS], pool.y[:_WARM_UP_ROWS]
        )
        learner = TimeConstrainedClassifier(learner, time_limit=limit, **settings)
    start = time.perf_counter()
    try:
        learner.fit(pool.X, pool.y)
    except NoModelInTime:
        return {"case": name, "teacher": teacher, "limit": limit, "seconds": limit, "share": 0.0, "accuracy": 0.0}
    seconds = time.perf_counter() - start
    share = learner.n_rows_trained_ / len(pool.y) if limit else 1.0
    accuracy = float((learner.predict(test.X) == test.y).mean())
    return {
        "case": name,
        "teacher": teacher,
        "limit": limit,
        "seconds": seconds,
        "share": share,
        "accuracy": accuracy,
    }


def _run(fit: tuple[str, str, float, int], data: Path) -> dict[str, Any]:
    """Carry out a fit in a program of its own."""
    command = [sys.executable, __file__, "--data", str(data), "--fit", json.dumps(fit)]
    done = subprocess.run(command, env={**os.environ, **_ONE_THREAD}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The fit {fit} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(result, flush=True)
    return result


def main() -> int:
    """Run the cases; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("FITWITHIN_DATA", "../shared/data")))
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit_case(*json.loads(options.fit), options.data)))
        return 0
    environment = Environment.current()
    fits = [(name, "every row", 0.0, 0) for name in CASES]
    fits += [
        (name, teacher, limit, seed)
        for name, (*_, limits) in CASES.items()
        for limit, teacher, seed in product(limits, _TEACHERS, range(options.seeds))
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda fit: _run(fit, options.data), fits))
    table, goals = _summarise(results, options.seeds, options.jobs)
    return write_report("default_cases", environment, [table], goals, {"fits": results}, options.results)


def _summarise(results: list[dict[str, Any]], seeds: int, jobs: int) -> tuple[MarkdownTable, list[Goal]]:
    """Return the table, and the goals: the least accuracy of a case, or that of Double."""

    def mean(name: str, teacher: str, limit: float, figure: str) -> float:
        wanted = (name, teacher, limit)
        return fmean(r[figure] for r in results if (r["case"], r["teacher"], r["limit"]) == wanted)

    rows, goals = [], []
    for name, (*_, limits) in CASES.items():
        full = mean(name, "every row", 0.0, "seconds")
        for limit, least in limits.items():
            reached = mean(name, "auto", limit, "accuracy")
            cells = [
                f"{mean(name, teacher, limit, 'accuracy'):.4f} ({mean(name, teacher, limit, 'share'):.2f})"
                for teacher in _TEACHERS
            ]
            seconds = f"{mean(name, 'auto', limit, 'seconds'):.1f}"
            plain = f"{mean(name, 'every row', 0.0, 'accuracy'):.4f} in {full:.1f} s"
            rows.append([name, f"{limit:g}", f"{limit / full:.2f}", *cells, seconds, plain])
            wanted = mean(name, "double", limit, "accuracy") if least is None else least
            goals.append(Goal(f"{name}, {limit:g} s: at least {wanted:.4f}; {reached:.4f}", reached >= wanted))
    columns = ["case", "T, s", "T / t_full", "default (share of rows)", "Double", "default took, s", "every row"]
    title = f"Cases of the default: accuracy, mean of {seeds} seeds, {jobs} fits at a time"
    return MarkdownTable(title, columns, rows), goals


if __name__ == "__main__":
    sys.exit(main())
