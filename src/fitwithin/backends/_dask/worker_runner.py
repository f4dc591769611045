"""The learner's process on a Dask worker: as on one machine, and models come and go as bytes."""

from __future__ import annotations

import contextlib
import os
import pickle
from dataclasses import dataclass, replace

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.records import Purpose, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import concatenate, is_contiguous
from fitwithin.backends._base import ExamReport
from fitwithin.backends._exam_predictions import ExamPredictions
from fitwithin.backends._process.backend import ProcessRunner
from fitwithin.backends._process.connection import Request, WorkerSetup
from fitwithin.backends._process.row_reader import RowLayout, RowPositions, RowSelection
from fitwithin.backends._process.saved_model import PortableWarning
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.shared_rows import BlockFile, SharedRows
from fitwithin.backends._process.subprocesses import ProcessState

ExamPart = tuple[ExamPredictions, float, int | None]
"""What one worker answers in an exam, the seconds of the prediction, and the most bytes that it took."""

_PORTABLE_SETTINGS = ("sklearn_config", "numpy_errors", "recursion_limit")
"""Global settings of the program that are the same on every machine."""


@dataclass(frozen=True, eq=False)
class ModelBytes:
    """A pickled model.

    Parameters
    ----------
    body : bytes
        The model.
    warnings : list of PortableWarning
        Warnings of its fit.
    lesson : int
        Number of its lesson.
    load_seconds : float
        Seconds that loading it is expected to take.
    """

    body: bytes
    warnings: list[PortableWarning]
    lesson: int
    load_seconds: float


@dataclass(frozen=True, eq=False)
class SessionSetup:
    """What every task of a session may need to start a learner on its worker.

    Parameters
    ----------
    key : str
        Tells sessions apart.
    learner : WorkerSetup
        The learner, with the program's global settings. Folders and variables stay those of the worker.
    n_rows : int
        Rows of the pool.
    """

    key: str
    learner: WorkerSetup
    n_rows: int

    def adapt_learner(self) -> WorkerSetup:
        """Return the learner with the settings for this machine."""
        state, there = ProcessState.current(), self.learner.process_state
        state = replace(state, **{name: getattr(there, name) for name in _PORTABLE_SETTINGS})
        with contextlib.suppress(Exception):  # a warning class of a module that this machine does not have
            pickle.loads(there.pickled_filters)
            state = replace(state, pickled_filters=there.pickled_filters)
        return replace(self.learner, process_state=state)


class ReceivedRows(SharedRows):
    """Rows of a cluster's pool, each with its number there, appended to shared files as they arrive.

    Parameters
    ----------
    layout : RowLayout
        Types of the rows. A column of row numbers follows the row_params if the rows are read block by block.
    n_rows : int
        Rows of the pool.
    budget : Budget
        Ends copying at the deadline.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin._core.target import Labels
    >>> from fitwithin.backends._process.shared_memory import SharedColumn
    >>> columns = SharedColumn(np.dtype(np.uint8), ()), SharedColumn(np.dtype(float), (2,))
    >>> received = ReceivedRows(RowLayout(columns, Labels.encode([0, 1]), ()), 80, Budget(60))
    >>> received.append(np.array([70, 7]), LabeledRows(np.zeros((2, 2)), np.array([0, 1])))
    >>> received.find_missing(np.array([7, 8])).tolist()
    [8]
    >>> received.share_training_rows(np.array([7, 70])).positions.tolist()
    [1, 0]
    >>> received.close()
    """

    def __init__(self, layout: RowLayout, n_rows: int, budget: Budget) -> None:
        self.layout = layout
        self._n_pool_rows = n_rows
        self._budget = budget
        # Features that are no plain array have no column, and are pickled.
        self._is_plain = len(layout.columns) > 1 + len(layout.row_params) + (layout.index is not None)
        self.files = tuple(SharedFile() for _ in range(len(layout.columns) + (not self._is_plain)))
        self.forget()

    def forget(self) -> None:
        """Begin again without rows; the files keep their memory for the next ones."""
        self._n_rows = 0
        self._positions = RowPositions(self._n_pool_rows)
        self._blocks = None if self._is_plain else BlockFile(self._budget, self.files[-1])

    def find_missing(self, rows: Rows) -> Rows:
        """Return those of these rows that have not arrived, each once, in the order of `rows`."""
        return self._positions.find_new(rows)

    def append(self, rows: Rows, content: LabeledRows) -> None:
        """Append rows that are new; raise TimeoutError at the deadline.

        Parameters
        ----------
        rows : array of int
            Their numbers in the pool, each once.
        content : LabeledRows
            The rows, with the target encoded.
        """
        if not len(rows):
            return
        self._budget.raise_if_spent()
        first = self._n_rows
        columns = [content.y, *(content.row_params[name] for name in self.layout.row_params)]
        if self.layout.index is not None:
            columns.append(rows)
        if self._blocks is None:
            columns.append(np.asarray(content.X))
        else:
            self._blocks.append(content.X, first)
        for file, column, values in zip(self.files, self.layout.columns, columns, strict=False):
            file.write_rows(values.astype(column.dtype, copy=False), first)
        self._n_rows += len(rows)
        self._positions.set(rows, np.arange(first, self._n_rows))

    def share_training_rows(self, rows: Rows) -> RowSelection:
        """Return where these rows lie: one range, which is read without a copy, if they arrived in this order."""
        blocks = () if self._blocks is None else tuple(self._blocks.blocks)
        return RowSelection.from_positions(self._positions.find(rows), blocks)


class WorkerRunner(ProcessRunner):
    """Run a learner in a process of its own on a Dask worker, on rows that came from others."""

    rows: ReceivedRows

    @classmethod
    def open_beside(cls, first: ProcessRunner, budget: Budget, setup: SessionSetup) -> WorkerRunner:
        """Return a runner with a process of its own that the same host starts."""
        runner = cls(first.host, budget, first)
        runner.rows = runner._shared_rows = ReceivedRows(setup.learner.layout, setup.n_rows, budget)
        runner._setup = setup.adapt_learner()
        return runner

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        self.rows.close()

    @property
    def peak_memory(self) -> int | None:
        """Most bytes that the learner took since its last fit began."""
        return self._watch.peak

    def pickle_model(self, lesson: int) -> ModelBytes:
        """Return the newest model, which is that of this lesson, pickled; raise as `Runner.save` does."""
        saved = self.save()
        try:
            body = os.pread(saved.file.fd, saved.n_bytes, 0)
        finally:
            saved.discard()
        return ModelBytes(body, saved.warnings, lesson, saved.load_seconds)

    def adopt_model(self, body: bytes) -> None:
        """Take over a model that another process trained."""
        file = write_model_file(body)
        try:
            if self._learner is None:
                with self._until_deadline():
                    self._start_learner()
            self._request(Request("adopt"), [file])
        finally:
            file.close()

    def answer(self, numbers: Rows, rows: LabeledRows, margins: bool, kill_after: float | None) -> ExamPart:
        """Predict rows with these numbers."""
        with self._until_deadline():
            self.rows.forget()
            self.rows.append(numbers, rows)
            selection = self.rows.share_exam_rows(numbers)
        self._watch.begin(kill_after)
        answers, seconds = self._request(Request("answer", (selection, margins)))
        return answers, seconds, self.peak_memory

    def add_answers(self, answers: ExamPredictions, purpose: Purpose) -> ExamReport:
        """Count answers of other processes in the next score; compare and score them."""
        report: ExamReport = self._request(Request("add_answers", (answers, purpose)))
        return report


def write_model_file(body: bytes) -> SharedFile:
    """Return a file in memory that holds a pickled model."""
    file = SharedFile()
    file.write_rows(np.frombuffer(body, np.uint8), 0)
    return file


def join_rows(parts: list[LabeledRows], order: Rows | None = None) -> LabeledRows:
    """Return rows that came in several parts as one, in another order if one is given."""
    joined = LabeledRows(
        concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        {name: np.concatenate([part.row_params[name] for part in parts]) for name in parts[0].row_params},
    )
    return joined if order is None or is_contiguous(order) else joined.take(order)
