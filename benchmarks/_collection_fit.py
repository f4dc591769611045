"""One fit on a Dask frame of parquet files, and one from the same folder on one machine."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pandas as pd
import psutil
from distributed import Client
from sklearn.ensemble import HistGradientBoostingClassifier

from _cluster_process import start_cluster
from _scale_data import BLOCK_ROWS, column_names, list_chunks, make_test_rows
from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin.backends import Dask

# Memory of each worker.
_WORKER_GIB = 4


@dataclass(frozen=True)
class CollectionFit:
    """Result of one fit on a Dask frame of parquet files.

    Parameters
    ----------
    rows, folder_rows : int
        Rows of the best model, and of that from the same folder on one machine.
    first_lesson : float
        Seconds until the first fit of the learner begins.
    score, folder_score : float
        Accuracy of both models on other rows.
    worker_memory : float
        Most bytes of a worker, relative to its limit.
    """

    rows: int
    folder_rows: int
    first_lesson: float
    score: float
    folder_score: float
    worker_memory: float


class _TimedDask(Dask):
    """Dask backend that notes when the learner begins its first fit."""

    first_lesson: float | None = None

    def open(self, budget: Budget) -> Any:
        runner = super().open(budget)
        fit = runner.fit

        def timed_fit(*arguments: Any, **options: Any) -> Any:
            asked = budget.elapsed()
            report = fit(*arguments, **options)
            if self.first_lesson is None:
                self.first_lesson = asked + report.handover_seconds
            return report

        runner.fit = timed_fit
        return runner


def measure_collection(folder: Path, n_rows: int, seconds: float) -> CollectionFit:
    """Fit on files of a million rows, by a Dask frame on two workers and from the folder on this machine."""
    source = folder / "cluster-rows"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    for number, (X, y) in enumerate(list_chunks(n_rows)):
        frame = pd.DataFrame(X, columns=column_names()).assign(label=y)
        frame.to_parquet(source / f"{number:03}.parquet", index=False, row_group_size=BLOCK_ROWS)
    test, labels = make_test_rows()
    try:
        limit = f"{_WORKER_GIB} GiB"
        with start_cluster(2, limit) as cluster, Client(cluster.address) as client:
            backend = _TimedDask(client)
            make = partial(TimeConstrainedClassifier, HistGradientBoostingClassifier(), random_state=0)
            make(backend=backend, time_limit=10).fit(test[:2000], labels[:2000])
            backend.first_lesson = None
            with WorkerMemory(list(client.run(os.getpid).values())) as memory:
                fitted = make(backend=backend, time_limit=seconds).fit(dd.read_parquet(str(source)), "label")
        local = make(time_limit=seconds).fit(source, "label")
    finally:
        shutil.rmtree(source, ignore_errors=True)
    return CollectionFit(
        fitted.n_rows_trained_,
        local.n_rows_trained_,
        backend.first_lesson or seconds,
        fitted.score(test, labels),
        local.score(test, labels),
        memory.peak / (_WORKER_GIB << 30),
    )


class WorkerMemory:
    """Measure the resident memory of processes while a block of code runs."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.peak = 0
        self._processes = [psutil.Process(pid) for pid in pids]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(0.1):
            self.peak = max(self.peak, *(process.memory_info().rss for process in self._processes))
