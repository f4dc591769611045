"""The tasks of a runner on a Dask worker. What a learner does wrong is a value, so that Dask does not try again."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from distributed import secede

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import Exam, Margins, Mask, Purpose, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import ExamReport, FitReport, ScoreReport
from fitwithin.backends._dask.partitions import join_rows, take_part
from fitwithin.backends._dask.worker_runner import ModelBytes, WorkerRunner
from fitwithin.backends._exam_log import ExamPredictions


@dataclass(frozen=True, eq=False)
class Outcome:
    """The value of a task, or the failure that it ended in."""

    value: Any = None
    failure: OutOfTime | OutOfMemory | LearnerRaised | LearnerDied | None = None

    def unwrap(self) -> Any:
        """Return the value, or raise the failure."""
        if self.failure is not None:
            raise self.failure
        return self.value


@dataclass(frozen=True, eq=False)
class ExamPart:
    """What one worker answers in an exam.

    Parameters
    ----------
    answers : ExamPredictions
        What the score needs to know.
    margins : array of float or None
        If requested.
    seconds : float
        Seconds of the prediction.
    peak_memory : int or None
        Most bytes that it took.
    """

    answers: ExamPredictions
    margins: Margins | None
    seconds: float
    peak_memory: int | None


@dataclass(eq=False)
class RunnerTasks:
    """What one of the program's runners has on this worker; Dask runs the methods, see `run_task`.

    Parameters
    ----------
    attempt : int
        Number of workers that it has trained on.
    learner : WorkerRunner
        Trains.
    examiner : WorkerRunner
        Predicts rows of this worker, with models that may come from others.
    model : int or None
        Number of the lesson whose model the examiner holds.
    lock : Lock
        Held while the examiner is at work: a worker may have several threads.
    """

    attempt: int
    learner: WorkerRunner
    examiner: WorkerRunner
    model: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """Kill both processes; calls under way raise `OutOfTime`."""
        self.learner.stop()
        self.examiner.stop()

    def close(self) -> None:
        """Kill both processes, and release their rows."""
        self.stop()
        self.learner.__exit__()
        self.examiner.__exit__()

    def fit(self, rows: Rows, parts: list[LabeledRows], exams: list[Exam], options: dict[str, Any]) -> FitReport:
        """Train on rows of the pool, and examine the model.

        Parameters
        ----------
        rows : array of int
            Row numbers, in training order.
        parts : list of LabeledRows
            Rows of the lesson and its exams that have not been here before, in ascending order.
        exams : list of Exam
            Exams of the new model.
        options : dict
            The other arguments of `Runner.fit`; the learner is pickled.
        """
        # The learner's own process does the work; this worker's threads are for others meanwhile.
        secede()
        self._receive([rows, *(exam.rows for exam in exams)], parts)
        return self.learner.fit(rows, exams=exams, **options)

    def examine(self, rows: Rows, parts: list[LabeledRows], exams: list[Exam]) -> ExamReport:
        """Predict rows in the process that trained the model; see `fit`, whose lesson has no rows here."""
        secede()
        (exam,) = exams
        self._receive([rows, exam.rows], parts)
        return self.learner.examine(exam)

    def _receive(self, rows: list[Rows], parts: list[LabeledRows]) -> None:
        """Append rows that are new here, in the order of use, so that lessons that grow stay contiguous."""
        received = self.learner.rows
        missing = received.find_missing(np.concatenate(rows))
        if len(missing):
            received.append(missing, join_rows(parts, np.argsort(np.argsort(missing))))

    def pickle_model(self, lesson: int) -> ModelBytes:
        """Return the newest model, which is that of this lesson, for other workers and for the program."""
        return self.learner.pickle_model(lesson)

    def examine_partition(
        self,
        model: Outcome,
        partition: LabeledRows,
        first: int,
        positions: Rows,
        margins: bool,
        kill_after: float | None,
    ) -> ExamPart:
        """Predict rows of a partition where it is.

        Parameters
        ----------
        model : Outcome
            The result of `pickle_model`.
        partition : LabeledRows
            The rows of the partition.
        first : int
            Number of its first row.
        positions : array of int
            Positions in it.
        margins : bool
            Whether to report margins.
        kill_after : float or None
            Seconds after which the process that predicts is killed.
        """
        body: ModelBytes = model.unwrap()
        numbers = first + positions.astype(np.int64)
        with self.lock:
            try:
                if self.model != body.lesson:
                    self.model = None
                    self.examiner.adopt_model(body.body)
                    self.model = body.lesson
                answers = self.examiner.answer(numbers, take_part(partition, positions), margins, kill_after)
            except LearnerDied:
                self.model = None
                raise
            return ExamPart(*answers, self.examiner.peak_memory)

    def merge_exam(self, outcomes: list[Outcome], order: Rows | None, purpose: Purpose) -> ExamReport:
        """Join the answers of all workers on the one that scores the model.

        Parameters
        ----------
        outcomes : list of Outcome
            The results of `examine_partition`, in ascending order of their rows.
        order : array of int or None
            Position of each row of the exam among the parts; None if they are in order.
        purpose : str
            What the exam is for; see `Exam`.
        """
        parts: list[ExamPart] = [outcome.unwrap() for outcome in outcomes]
        report = self.learner.add_answers(ExamPredictions.join([part.answers for part in parts], order), purpose)
        margins = [part.margins for part in parts if part.margins is not None]
        peaks = [part.peak_memory for part in parts] + [self.learner.peak_memory]
        return replace(
            report,
            margins=np.concatenate(margins)[slice(None) if order is None else order] if margins else None,
            exam_seconds=report.exam_seconds + max(part.seconds for part in parts),
            peak_memory=max((peak for peak in peaks if peak is not None), default=None),
        )

    def score(self, selected: Mask) -> ScoreReport:
        """Score the newest model over the answers of all exams."""
        return self.learner.score(selected)
