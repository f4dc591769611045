"""The learner's process on a Dask worker: as on one machine, and models come and go as bytes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Estimate, Influence, Margins, Purpose, Rows
from fitwithin.backends._dask.received_rows import ReceivedRows
from fitwithin.backends._process.backend import PreparedProcess, ProcessRunner
from fitwithin.backends._process.learner_modules import find_modules
from fitwithin.backends._process.process_state import ProcessState
from fitwithin.backends._process.protocol import (
    AddAnswersRequest,
    AdoptRequest,
    AnswerRequest,
    PortableWarning,
    SaveRequest,
    WorkerSetup,
)
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._scoring import ExamPredictions


@dataclass(frozen=True, eq=False)
class PickledLearner:
    """A learner that another process pickled; pickling this gives the learner itself where it is unpickled."""

    body: bytes

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (self.body,)


@dataclass(frozen=True, eq=False)
class LearnerSetup:
    """What the program says once about the learner and its settings.

    Parameters
    ----------
    pickled_learner : bytes
        The unfitted learner and its `FitSettings`, pickled.
    process_state : ProcessState
        The program's global settings. Folders and variables stay those of the worker.
    seed, memory_limit : int or None
        See `FitSettings`.
    """

    pickled_learner: bytes
    process_state: ProcessState
    seed: int | None
    memory_limit: int | None

    def local_surroundings(self) -> ProcessState:
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
    """Run a learner in a process of its own on a Dask worker."""

    def prepare_pickled(self, setup: LearnerSetup, rows: ReceivedRows) -> None:
        """Store the learner, and have its modules imported."""
        if self._first is None:
            self._host.import_modules(find_modules(setup.pickled_learner))
        worker_setup = WorkerSetup(setup.pickled_learner, rows.layout, setup.local_surroundings(), setup.seed)
        self._prepared_process = PreparedProcess(rows, worker_setup, setup.memory_limit, 1)

    @classmethod
    def open_beside(cls, first: WorkerRunner, budget: Budget) -> WorkerRunner:
        """Return a runner with a process of its own that the same host starts."""
        return cls(first.host, budget, first)

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
        file = self._create_model_file()
        try:
            self._request(SaveRequest(file.path), [file])
            return os.pread(file.fd, os.fstat(file.fd).st_size, 0)
        finally:
            file.close()

    def adopt_model(self, body: bytes) -> float:
        """Take over a model that another process trained; return the seconds that loading it took."""
        file = write_model_file(body, self._host.folder)
        try:
            if self._learner is None:
                with self._until_deadline():
                    self._start_learner()
            seconds: float = self._request(AdoptRequest(file.path), [file])
            return seconds
        finally:
            file.close()

    def answer(self, rows: Rows, margins: bool) -> tuple[ExamPredictions, Margins | None, float]:
        """Predict rows that have arrived; return the answers, the margins and the seconds of the prediction."""
        with self._until_deadline():
            selection = self._prepared.rows.share_exam_rows(np.asarray(rows))
        found: tuple[ExamPredictions, Margins | None, float] = self._request(AnswerRequest(selection, margins))
        return found

    def add_answers(self, answers: ExamPredictions, purpose: Purpose) -> tuple[Estimate | None, Influence | None]:
        """Count answers of other processes in the next score; return that of these rows, as the purpose asks."""
        found: tuple[Estimate | None, Influence | None] = self._request(AddAnswersRequest(answers, purpose))
        return found


def write_model_file(body: bytes, folder: str | None = None) -> SharedFile:
    """Return a file in memory that holds a pickled model."""
    file = SharedFile.create(folder, len(body))
    file.write_rows(np.frombuffer(body, np.uint8), 0)
    return file
