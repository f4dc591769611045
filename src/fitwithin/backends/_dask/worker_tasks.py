"""The tasks that Dask runs on its workers. What a learner does wrong is a value, so that Dask does not try again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
from distributed import secede

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import Exam, Margins, Mask, Purpose, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import ExamReport, FitReport, ScoreReport
from fitwithin.backends._dask.received_rows import join_rows, take_part
from fitwithin.backends._dask.worker_runner import PickledLearner, SessionSetup
from fitwithin.backends._dask.worker_session import RunnerParts, open_session
from fitwithin.backends._exam_log import ExamPredictions
from fitwithin.backends._process.protocol import PortableWarning
from fitwithin.backends._process.saved_model import predict_load_seconds


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
    load_seconds : float, default=0.0
        Seconds that loading it is expected to take.
    """

    body: bytes
    warnings: list[PortableWarning]
    lesson: int
    load_seconds: float = 0.0


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


def _runner_task(action: Callable[..., Any]) -> Callable[..., Outcome]:
    """Make a task of a function whose first argument is what the runner has on this worker.

    The task takes the seconds until the deadline, when it was sent; the number of the program's runner; and its
    attempt, the number of workers that it has trained on. What an earlier attempt left on this worker is not used.
    """

    @wraps(action)
    def run(setup: SessionSetup, seconds: float, number: int, attempt: int, *arguments: Any) -> Outcome:
        try:
            runner = open_session(setup.key, seconds).parts(number, attempt, setup)
            return Outcome(action(runner, *arguments))
        except (OutOfTime, OutOfMemory, LearnerRaised, LearnerDied) as failure:
            return Outcome(failure=failure)
        except TimeoutError:
            return Outcome(failure=OutOfTime())

    return run


@_runner_task
def fit_lesson(
    runner: RunnerParts, rows: Rows, parts: list[LabeledRows], exams: list[Exam], options: dict[str, Any]
) -> FitReport:
    """Train on rows of the pool, and examine the model.

    Parameters
    ----------
    runner : RunnerParts
        The runner on this worker.
    rows : array of int
        Row numbers, in training order.
    parts : list of LabeledRows
        Rows of the lesson and its exams that have not been here before, in ascending order.
    exams : list of Exam
        Exams of the new model.
    options : dict
        The arguments `batch` and `limits` of `Runner.fit`, and `pickled_learner` in the place of `learner`.
    """
    # The learner's own process does the work; this worker's threads are for others meanwhile.
    secede()
    _receive(runner, [rows, *(exam.rows for exam in exams)], parts)
    body = options["pickled_learner"]
    learner = None if body is None else PickledLearner(body)
    return runner.learner.fit(rows, batch=options["batch"], exams=exams, limits=options["limits"], learner=learner)


@_runner_task
def examine_here(runner: RunnerParts, rows: Rows, parts: list[LabeledRows], exams: list[Exam]) -> ExamReport:
    """Predict rows in the process that trained the model; see `fit_lesson`, whose lesson has no rows here."""
    secede()
    (exam,) = exams
    _receive(runner, [rows, exam.rows], parts)
    return runner.learner.examine(exam)


def _receive(runner: RunnerParts, rows: list[Rows], parts: list[LabeledRows]) -> None:
    """Append rows that have not been here before, in the order of use, so that lessons that grow stay contiguous."""
    received = runner.learner.rows
    missing = received.find_missing(np.concatenate(rows))
    if len(missing):
        received.append(missing, join_rows(parts, np.argsort(np.argsort(missing))))


@_runner_task
def pickle_model(runner: RunnerParts, lesson: int) -> ModelBytes:
    """Return the newest model, which is that of this lesson, for other workers and for the program."""
    return ModelBytes(runner.learner.pickle_model(), runner.learner.warnings, lesson)


@_runner_task
def check_model_loads(runner: RunnerParts, model: Outcome) -> ModelBytes:
    """Load a model in a process that did not train it; return it with the seconds to expect of loading it elsewhere."""
    body: ModelBytes = model.unwrap()
    with runner.lock:
        _adopt(runner, body)
        return replace(body, load_seconds=predict_load_seconds(runner.load_seconds))


def _adopt(runner: RunnerParts, model: ModelBytes) -> None:
    if runner.model != model.lesson:
        runner.model = None
        runner.load_seconds = runner.examiner.adopt_model(model.body)
        runner.model = model.lesson


@_runner_task
def examine_partition(
    runner: RunnerParts,
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
    runner : RunnerParts
        The runner on this worker.
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
    with runner.lock:
        try:
            _adopt(runner, body)
            numbers = first + positions.astype(np.int64)
            answers = runner.examiner.answer(numbers, take_part(partition, positions), margins, kill_after)
        except LearnerDied:
            runner.model = None
            raise
        return ExamPart(*answers, runner.examiner.peak_memory)


@_runner_task
def merge_exam(runner: RunnerParts, outcomes: list[Outcome], order: Rows | None, purpose: Purpose) -> ExamReport:
    """Join the answers of all workers on the one that scores the model.

    Parameters
    ----------
    runner : RunnerParts
        The runner on this worker.
    outcomes : list of Outcome
        The results of `examine_partition`, in ascending order of their rows.
    order : array of int or None
        Position of each row of the exam among the parts; None if they are in order.
    purpose : str
        What the exam is for; see `Exam`.
    """
    parts: list[ExamPart] = [outcome.unwrap() for outcome in outcomes]
    report = runner.learner.add_answers(ExamPredictions.join([part.answers for part in parts], order), purpose)
    margins = [part.margins for part in parts if part.margins is not None]
    peaks = [part.peak_memory for part in parts] + [runner.learner.peak_memory]
    return replace(
        report,
        margins=np.concatenate(margins)[slice(None) if order is None else order] if margins else None,
        exam_seconds=report.exam_seconds + max(part.seconds for part in parts),
        peak_memory=max((peak for peak in peaks if peak is not None), default=None),
    )


@_runner_task
def score_model(runner: RunnerParts, selected: Mask) -> ScoreReport:
    """Score the newest model over the answers of all exams."""
    return runner.learner.score(selected)
