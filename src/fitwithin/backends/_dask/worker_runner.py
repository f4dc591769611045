"""The learner's process on a Dask worker: as on one machine, and models come and go as bytes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Margins, Purpose, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import ExamReport
from fitwithin.backends._dask.received_rows import ReceivedRows, RowSchema
from fitwithin.backends._exam_log import ExamPredictions
from fitwithin.backends._process.backend import PreparedProcess, ProcessRunner
from fitwithin.backends._process.process_state import ProcessState
from fitwithin.backends._process.protocol import PortableWarning, Request, WorkerSetup
from fitwithin.backends._process.shared_memory import SharedFile


@dataclass(frozen=True, eq=False)
class PickledLearner:
    """A learner that another process pickled; pickling this gives the learner itself where it is unpickled."""

    body: bytes

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (self.body,)


@dataclass(frozen=True, eq=False)
class SessionSetup:
    """What every task of a session may need to start a learner on its worker.

    Parameters
    ----------
    key : str
        Tells sessions apart.
    pickled_learner : bytes
        The unfitted learner and its `FitSettings`, pickled.
    process_state : ProcessState
        The program's global settings. Folders and variables stay those of the worker.
    seed, memory_limit : int or None
        See `FitSettings`.
    schema : RowSchema
        Types of the rows.
    """

    key: str
    pickled_learner: bytes
    process_state: ProcessState
    seed: int | None
    memory_limit: int | None
    schema: RowSchema

    def local_state(self) -> ProcessState:
        """Return the settings for a learner on this machine."""
        here, there = ProcessState.current(), self.process_state
        filters = there.pickled_filters
        try:
            pickle.loads(filters)
        except Exception:  # a warning class of a module that this machine does not have
            filters = here.pickled_filters
        return replace(
            here,
            pickled_filters=filters,
            sklearn_config=there.sklearn_config,
            numpy_errors=there.numpy_errors,
            recursion_limit=there.recursion_limit,
        )


class WorkerRunner(ProcessRunner):
    """Run a learner in a process of its own on a Dask worker, on rows that came from others."""

    checks_models = False

    rows: ReceivedRows

    @classmethod
    def open_beside(cls, first: ProcessRunner, budget: Budget, setup: SessionSetup) -> WorkerRunner:
        """Return a runner with a process of its own that the same host starts."""
        runner = cls(first.host, budget, first)
        runner.rows = ReceivedRows(setup.schema, budget)
        worker_setup = WorkerSetup(setup.pickled_learner, runner.rows.layout, setup.local_state(), setup.seed)
        runner._prepared_process = PreparedProcess(runner.rows, worker_setup, setup.memory_limit, 1)
        return runner

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        self.rows.close()

    @property
    def warnings(self) -> list[PortableWarning]:
        """Warnings of the last fit."""
        return self._warnings

    @property
    def peak_memory(self) -> int | None:
        """Most bytes that the learner took since its last fit began."""
        return None if self._watch is None else self._watch.peak

    def pickle_model(self) -> bytes:
        """Return the newest model, pickled; raise as `Runner.save` does."""
        with self._until_deadline():
            file = SharedFile.create()
        try:
            self._request(Request("save"), [file])
            return os.pread(file.fd, os.fstat(file.fd).st_size, 0)
        finally:
            file.close()

    def adopt_model(self, body: bytes) -> float:
        """Take over a model that another process trained; return the seconds that loading it took."""
        file = write_model_file(body)
        try:
            if self._learner is None:
                with self._until_deadline():
                    self._start_learner()
            seconds: float = self._request(Request("adopt"), [file])
            return seconds
        finally:
            file.close()

    def answer(
        self, numbers: Rows, rows: LabeledRows, margins: bool, kill_after: float | None
    ) -> tuple[ExamPredictions, Margins | None, float]:
        """Predict rows with these numbers; return the answers, the margins and the seconds of the prediction."""
        with self._until_deadline():
            self.rows.forget()
            self.rows.append(numbers, rows)
            selection = self.rows.share_exam_rows(numbers)
        if self._watch is not None:
            self._watch.begin(kill_after)
        found: tuple[ExamPredictions, Margins | None, float] = self._request(Request("answer", (selection, margins)))
        return found

    def add_answers(self, answers: ExamPredictions, purpose: Purpose) -> ExamReport:
        """Count answers of other processes in the next score; compare and score them."""
        report: ExamReport = self._request(Request("add_answers", (answers, purpose)))
        return report


def write_model_file(body: bytes) -> SharedFile:
    """Return a file in memory that holds a pickled model."""
    file = SharedFile.create()
    file.write_rows(np.frombuffer(body, np.uint8), 0)
    return file
