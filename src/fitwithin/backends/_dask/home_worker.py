"""The worker that trains for a runner, and the tasks of its lessons and exams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Exam, Mask, Rows
from fitwithin._pools.decks.table_pile import sort_distinct
from fitwithin._pools.tables import is_contiguous
from fitwithin.backends._base import ExamReport, FitReport, ScoreReport
from fitwithin.backends._dask.cluster import Cluster
from fitwithin.backends._dask.cluster_pool import Partitions
from fitwithin.backends._dask.worker_runner import ModelBytes
from fitwithin.backends._dask.worker_session import run_task, unwrap

_HOME_EXAM_ROWS = 100_000
"""Rows up to which an exam is held where the model was trained: its rows are sent once, and examine every model.

Validation rows are no more than these. A larger exam, such as one for mistakes, is held by all workers.
"""


@dataclass(frozen=True, eq=False)
class PreparedCluster:
    """What `prepare` makes, for all runners of a session.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    partitions : Partitions
        The rows on it.
    setup : Future
        The `SessionSetup`.
    """

    cluster: Cluster
    partitions: Partitions
    setup: Any


class HomeWorker:
    """The worker that trains for a runner. Every call raises `WorkerLost` if a worker is lost.

    Parameters
    ----------
    prepared : PreparedCluster
        The cluster and its rows.
    budget : Budget
        The deadline of all tasks.
    number : int
        The runner's.
    attempt : int
        Number of workers that the runner has trained on, with this one.
    """

    def __init__(self, prepared: PreparedCluster, budget: Budget, number: int, attempt: int) -> None:
        self.address = prepared.cluster.choose_home(number)
        self._prepared = prepared
        self._cluster = prepared.cluster
        self._budget = budget
        self._number = number
        self._attempt = attempt
        self._lesson = 0
        self._kill_after: float | None = None
        # The rows that it has, ascending, and the newest model once it is needed.
        self._rows: Rows = np.zeros(0, dtype=np.int64)
        self._newest: Any = None

    def fit(self, rows: Rows, options: dict[str, Any], exams: Sequence[Exam]) -> FitReport:
        """Train on rows, after the workers that hold them have sent those that are new here; then examine."""
        start = self._budget.elapsed()
        self._lesson += 1
        self._newest = None
        self._kill_after = options["limits"].kill_after
        here = [] if any(map(_is_large, exams)) else list(exams)
        report: FitReport = self._run_with_rows("fit", rows, here, options, self._budget.remaining())
        later = [] if here or report.gave_up else [self.examine(exam) for exam in exams]
        spent = report.fit_seconds + sum(each.handover_seconds + each.exam_seconds for each in (*report.exams, *later))
        return replace(
            report, handover_seconds=max(0.0, self._budget.elapsed() - start - spent), exams=(*report.exams, *later)
        )

    def _run_with_rows(self, method: str, rows: Rows, exams: Sequence[Exam], *arguments: Any) -> Any:
        """Run a task here, after the workers that hold its rows have sent those that are new here."""
        needed = sort_distinct(np.concatenate([rows, *(exam.rows for exam in exams)]))
        new = np.setdiff1d(needed, self._rows, assume_unique=True)
        parts = self._prepared.partitions.take(self._cluster, new)
        try:
            return self._run(method, self._cluster.pass_rows(rows, self.address), parts, list(exams), *arguments)
        finally:
            # They arrived, whatever the learner did then.
            self._rows = np.sort(np.concatenate([self._rows, new]))

    def examine(self, exam: Exam) -> ExamReport:
        """Predict rows: many where they are, and then the answers are joined here; others here."""
        start = self._budget.elapsed()
        report: ExamReport
        if not _is_large(exam):
            report = self._run_with_rows("examine", np.zeros(0, dtype=np.int64), [exam])
        else:
            ascending, order = np.unique(exam.rows, return_inverse=True)
            places = None if is_contiguous(order) else self._cluster.pass_rows(order.astype(np.uint32), self.address)
            submit = partial(self._submit, "examine_partition", self._model(), exam.margins, self._kill_after)
            parts = [
                submit(partition, first, self._cluster.pass_rows(positions))
                for partition, first, positions in self._prepared.partitions.split(ascending.astype(np.int64))
            ]
            report = self._run("merge_exam", parts, places, exam.purpose)
        return replace(report, handover_seconds=max(0.0, self._budget.elapsed() - start - report.exam_seconds))

    def score(self, selected: Mask) -> ScoreReport:
        """Score the newest model from the answers of all exams."""
        report: ScoreReport = self._run("learner.score", selected)
        return report

    def bring_model(self) -> ModelBytes:
        """Return the newest model."""
        model: ModelBytes = unwrap(self._cluster.result(self._model(), self.address))
        return model

    def _model(self) -> Any:
        """Return the newest model, as a future that any worker can take."""
        if self._newest is None:
            self._newest = self._submit("learner.pickle_model", self._lesson, home=self.address)
        return self._newest

    def _submit(self, method: str, *arguments: Any, home: str | None = None) -> Any:
        told = (self._prepared.setup, self._budget.remaining(), self._number, self._attempt, method)
        return self._cluster.submit(run_task, *told, *arguments, home=home)

    def _run(self, method: str, *arguments: Any) -> Any:
        """Run a task here, wait for it, and return its value."""
        return unwrap(self._cluster.result(self._submit(method, *arguments, home=self.address), self.address))


def _is_large(exam: Exam) -> bool:
    """Return whether an exam is held by all workers; one with a time limit is not."""
    return exam.seconds is None and len(exam.rows) > _HOME_EXAM_ROWS
