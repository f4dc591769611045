"""Measure the Dask backend: exams by workers, a collection, a round's cost, and how late a fit with a fault returns."""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import psutil
from distributed import Client
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from _cluster_process import ClusterProcess, start_cluster
from _collection_fit import CollectionFit, measure_collection
from _report import RESULTS, Environment, Goal, MarkdownTable, Quantiles, write_report
from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin.backends import Dask, FitSettings
from fitwithin.teachers import TCT, Exam
from fitwithin.testing import AwkwardClassifier

# Least rows examined a second with two workers of one thread, against one.
SPEED_UP_GOAL = 1.6

# Most seconds of a round that are neither fit nor predict.
OVERHEAD_GOAL = 0.3

# Largest 99th percentile of lateness, in seconds.
P99_GOAL = 0.25

# Seconds after a fit at which nothing of it may be left on the workers.
_LEFT_SECONDS = 2.0

# Columns of the generated rows.
_COLUMNS = 20

# Memory of each worker in the part with faults, small enough to be filled.
_WORKER_MEMORY = "1 GiB"

# Seconds until the first fit of the learner begins on a collection, on a warm cluster.
FIRST_LESSON_GOAL = 4.0

# Least rows of the best model from a collection, relative to those from the same folder on one machine.
COLLECTION_GOAL = 0.5

# Largest share of a worker's memory that it takes.
WORKER_MEMORY_GOAL = 0.6

Fault = Callable[[ClusterProcess, Client], None]


@dataclass(frozen=True)
class ExamRate:
    """Rows that a cluster examines a second.

    Parameters
    ----------
    workers, rows : int
        Workers of one thread, and rows of one exam.
    seconds : list of float
        Seconds of each exam, from the request to the mistakes.
    """

    workers: int
    rows: int
    seconds: list[float]

    @property
    def rows_per_second(self) -> float:
        """Rows a second, by the median exam."""
        return self.rows / statistics.median(self.seconds)


@dataclass(frozen=True)
class FaultyRun:
    """Result of one fit with a fault.

    Parameters
    ----------
    after : float
        Seconds from the deadline to the return; negative if it returned earlier.
    reason : str
        Stop reason, or type of the exception.
    left : int
        Processes of learners that were on the workers two seconds later.
    """

    after: float
    reason: str
    left: int


def make_rows(n_rows: int, n_parts: int) -> tuple[da.Array, da.Array]:
    """Return rows that the workers generate, with a boundary that can be learned."""
    X = da.random.default_rng(0).random((n_rows, _COLUMNS), dtype=np.float32, chunks=(-(-n_rows // n_parts), _COLUMNS))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(np.int8)


def open_cluster_runner(client: Client, n_rows: int, learner: object, n_parts: int) -> Any:
    """Return a runner for rows that are on the cluster."""
    runner = Dask(client).open(Budget(3600))
    X, y = make_rows(n_rows, n_parts)
    given = {"X": X, "y": y, "sample_weight": None, "groups": None, "X_val": None, "y_val": None}
    pool = runner.open_pool(given, regression=False, seed=0, hold_out=lambda found, *_: found)
    pool.start()
    runner.prepare(learner, pool, FitSettings(seed=0, classes=pool.y.classes))
    return runner


def measure_exams(workers: int, n_rows: int, n_exams: int) -> ExamRate:
    """Measure exams of fresh rows, after one that warms up."""
    learner = RandomForestClassifier(30, max_depth=10, n_jobs=1, random_state=0)
    with (
        start_cluster(workers) as cluster,
        Client(cluster.address) as client,
        open_cluster_runner(client, n_rows * (n_exams + 1), learner, 4) as runner,
    ):
        order = np.random.default_rng(0).permutation(n_rows * (n_exams + 1))
        runner.fit(order[:10_000])
        seconds = []
        for number in range(n_exams + 1):
            start = time.perf_counter()
            runner.examine(Exam(order[number * n_rows : (number + 1) * n_rows]))
            seconds.append(time.perf_counter() - start)
    return ExamRate(workers, n_rows, seconds[1:])


def measure_overhead(n_rounds: int) -> list[float]:
    """Measure rounds of a learner that takes hardly any time: seconds of each that are neither fit nor predict."""
    with (
        start_cluster(2) as cluster,
        Client(cluster.address) as client,
        open_cluster_runner(client, 1_000_000, GaussianNB(), 8) as runner,
    ):
        order = np.random.default_rng(0).permutation(1_000_000)
        overheads = []
        for number in range(n_rounds + 1):
            start = time.perf_counter()
            report = runner.fit(order[: 10_000 + 1000 * number])
            examined = runner.examine(Exam(order[500_000 + 10_000 * number : 510_000 + 10_000 * number]))
            runner.save().discard()
            overheads.append(time.perf_counter() - start - report.fit_seconds - examined.exam_seconds)
    return overheads[1:]


def _do_nothing(cluster: ClusterProcess, client: Client) -> None:
    """Leave it to the learner, which hangs."""


def _kill_worker(cluster: ClusterProcess, client: Client) -> None:
    os.kill(random.choice(list(client.run(os.getpid).values())), signal.SIGKILL)


def _stop_scheduler(cluster: ClusterProcess, client: Client) -> None:
    cluster.stop_scheduler()


def _fill_workers(cluster: ClusterProcess, client: Client) -> None:
    client.run(_fill_memory)


def _fill_memory(dask_worker: Any) -> None:
    """Take so much memory on a worker that Dask pauses it, at 0.8 of its limit, and does not end it, at 0.95."""
    free = int(0.87 * dask_worker.memory_manager.memory_limit) - psutil.Process().memory_info().rss
    dask_worker.fitwithin_ballast = bytearray(b"1") * max(0, free)


def _empty_memory(dask_worker: Any) -> None:
    """Give that memory back."""
    dask_worker.fitwithin_ballast = None


FAULTS: dict[str, Fault] = {
    "a learner hangs": _do_nothing,
    "a worker is killed": _kill_worker,
    "the scheduler is stopped": _stop_scheduler,
    "the workers are full": _fill_workers,
}
"""What happens after the first round of a fit whose learner hangs in the second one."""


def run_with_fault(cluster: ClusterProcess, client: Client, fault: Fault, seconds: float) -> FaultyRun:
    """Fit once, cause a fault after the first round, and look at the workers two seconds after the return."""
    rng = np.random.default_rng(0)
    X = rng.random((20_000, _COLUMNS), dtype=np.float32)
    pending = [partial(fault, cluster, client)]

    def on_round(finished: object) -> None:
        # The fit waits for this function, and must not wait for the fault.
        if pending:
            threading.Thread(target=pending.pop(), daemon=True).start()

    classifier = TimeConstrainedClassifier(
        AwkwardClassifier("ignores signals", above=1500),
        time_limit=seconds,
        backend=Dask(client),
        teacher=TCT(first=500),
        on_round=on_round,
    )
    start = time.perf_counter()
    try:
        reason: str = classifier.fit(X, X[:, 0] > 0.5).stop_reason_
    except Exception as error:  # the benchmark records failures and continues
        reason = type(error).__name__
    after = time.perf_counter() - start - seconds
    time.sleep(_LEFT_SECONDS)
    left = len(cluster.find_our_processes())
    cluster.continue_scheduler()
    client.run(_empty_memory)
    client.wait_for_workers(2, timeout=60)
    return FaultyRun(after, reason, left)


def measure_faults(runs: int, seconds: float) -> dict[str, list[FaultyRun]]:
    """Run every fault on one cluster."""
    with start_cluster(2, _WORKER_MEMORY) as cluster, Client(cluster.address) as client:
        results = {}
        for name, fault in FAULTS.items():
            results[name] = [run_with_fault(cluster, client, fault, seconds) for _ in range(runs)]
            print(" | ".join(_make_fault_row(name, results[name])), flush=True)
    return results


def _make_fault_row(name: str, runs: Sequence[FaultyRun]) -> list[str]:
    late = Quantiles.of([max(0.0, run.after) for run in runs])
    reasons = sorted({run.reason for run in runs})
    counts = ", ".join(f"{reason} {sum(run.reason == reason for run in runs)}" for reason in reasons)
    figures = [f"{1000 * value:.1f}" for value in (late.p50, late.p99, late.max)]
    return [name, str(len(runs)), *figures, counts, str(sum(run.left > 0 for run in runs))]


def _make_tables(
    rates: Sequence[ExamRate],
    overheads: Sequence[float],
    faults: dict[str, list[FaultyRun]],
    seconds: float,
    collection: CollectionFit,
) -> list[MarkdownTable]:
    return [
        MarkdownTable(
            "Rows examined a second, a forest of 30 trees",
            ("workers of one thread", "rows of an exam", "seconds, median", "rows a second"),
            [
                [
                    str(rate.workers),
                    f"{rate.rows:,}",
                    f"{statistics.median(rate.seconds):.2f}",
                    f"{rate.rows_per_second:,.0f}",
                ]
                for rate in rates
            ],
        ),
        MarkdownTable(
            "Seconds of a round that are neither fit nor predict, two workers, 10,000 rows examined",
            ("rounds", "p50", "p99", "max"),
            [[str(len(overheads)), *(f"{value:.3f}" for value in asdict(Quantiles.of(overheads)).values())]],
        ),
        MarkdownTable(
            "A Dask frame of parquet files on two workers, and the folder on one machine",
            (
                "rows of the best model",
                "rows from the folder",
                "first fit after (s)",
                "accuracy",
                "accuracy from the folder",
                "memory",
            ),
            [
                [
                    f"{collection.rows:,}",
                    f"{collection.folder_rows:,}",
                    f"{collection.first_lesson:.1f}",
                    f"{collection.score:.4f}",
                    f"{collection.folder_score:.4f}",
                    f"{collection.worker_memory:.0%}",
                ]
            ],
        ),
        MarkdownTable(
            f"Return time against the deadline, T = {seconds:g} s, fault after the first round",
            ("fault", "runs", "late p50 (ms)", "p99", "max", "stop reason", "runs that left processes after 2 s"),
            [_make_fault_row(name, runs) for name, runs in faults.items()],
        ),
    ]


def _make_goals(
    rates: Sequence[ExamRate],
    overheads: Sequence[float],
    faults: dict[str, list[FaultyRun]],
    collection: CollectionFit,
) -> list[Goal]:
    speed_up = rates[1].rows_per_second / rates[0].rows_per_second
    overhead = statistics.median(overheads)
    runs = [run for case in faults.values() for run in case]
    p99 = Quantiles.of([max(0.0, run.after) for run in runs]).p99
    n_left = sum(run.left > 0 for run in runs)
    n_without = sum(run.reason not in ("time", "learner failed", "all rows") for run in runs)
    return [
        Goal(f"two workers examine {SPEED_UP_GOAL} x the rows of one; it is {speed_up:.2f}", speed_up >= SPEED_UP_GOAL),
        Goal(
            f"a round costs at most {OVERHEAD_GOAL} s of its own; the median is {overhead:.3f} s",
            overhead <= OVERHEAD_GOAL,
        ),
        Goal(
            f"the first fit on a collection within {FIRST_LESSON_GOAL:g} s; after {collection.first_lesson:.1f} s",
            collection.first_lesson <= FIRST_LESSON_GOAL,
        ),
        Goal(
            f"a collection gives {COLLECTION_GOAL:.0%} of the rows from the folder; it gives {collection.rows:,} of "
            f"{collection.folder_rows:,}",
            collection.rows >= COLLECTION_GOAL * collection.folder_rows,
        ),
        Goal(
            f"no worker above {WORKER_MEMORY_GOAL:.0%} of its memory; the most is {collection.worker_memory:.0%}",
            collection.worker_memory <= WORKER_MEMORY_GOAL,
        ),
        Goal(f"p99 of lateness at most {P99_GOAL} s; it is {p99:.3f} s", p99 <= P99_GOAL),
        Goal(f"nothing left on the workers after {_LEFT_SECONDS:g} s; {n_left} runs left something", not n_left),
        Goal(f"every run returns a model; {n_without} did not", not n_without),
    ]


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30, help="runs of each fault")
    parser.add_argument("--seconds", type=float, default=8.0, help="time limit T of a fit with a fault")
    parser.add_argument("--rows", type=int, default=500_000, help="rows of an exam")
    parser.add_argument("--exams", type=int, default=5, help="exams for each number of workers")
    parser.add_argument("--rounds", type=int, default=30, help="rounds whose own cost is measured")
    parser.add_argument("--collection-rows", type=int, default=30_000_000, help="rows of the collection")
    parser.add_argument("--collection-seconds", type=float, default=30.0, help="time limit of a fit on it")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="folder for its files")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the results")
    return parser.parse_args()


def main() -> int:
    """Run every part; return 1 if a goal is missed."""
    arguments, environment = _parse_arguments(), Environment.current()
    # The learners' failures are what is measured.
    warnings.simplefilter("ignore")
    rates = [measure_exams(workers, arguments.rows, arguments.exams) for workers in (1, 2)]
    overheads = measure_overhead(arguments.rounds)
    faults = measure_faults(arguments.runs, arguments.seconds)
    collection = measure_collection(arguments.folder, arguments.collection_rows, arguments.collection_seconds)
    figures = {
        "collection": asdict(collection),
        "exams": [asdict(rate) for rate in rates],
        "overhead": overheads,
        "faults": {name: [asdict(run) for run in runs] for name, runs in faults.items()},
    }
    tables = _make_tables(rates, overheads, faults, arguments.seconds, collection)
    goals = _make_goals(rates, overheads, faults, collection)
    return write_report("cluster", environment, tables, goals, figures, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
