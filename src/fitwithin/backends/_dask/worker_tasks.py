"""The tasks that Dask runs on its workers. What a learner does wrong is a value, so that Dask does not try again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
from distributed import secede

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import Margins, Mask, Purpose, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import ExamReport, FitReport, ScoreReport
from fitwithin.backends._dask.received_rows import join_rows, take_part
from fitwithin.backends._dask.worker_runner import PickledLearner, SessionSetup
from fitwithin.backends._dask.worker_session import RunnerParts, open_session
from fitwithin.backends._process.portable_warning import PortableWarning
from fitwithin.backends._process.saved_model import predict_load_seconds
from fitwithin.backends._scoring import ExamPredictions


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
def fit_lesson(runner: RunnerParts, rows: Rows, parts: list[LabeledRows], options: dict[str, Any]) -> FitReport:
    """Train on rows of the pool.

    Parameters
    ----------
    runner : RunnerParts
        The runner on this worker.
    rows : array of int
        Row numbers, in training order.
    parts : list of LabeledRows
        Those rows that have not been here before, in ascending order.
    options : dict
        The arguments `batch` and `limits` of `Runner.fit`, and `pickled_learner` in the place of `learner`.
    """
    # The learner's own process does the work; this worker's threads are for others meanwhile.
    secede()
    received = runner.learner.rows
    missing = received.find_missing(rows)
    if len(missing):
        # They are appended in training order, so that lessons that grow stay contiguous.
        received.append(missing, join_rows(parts, np.argsort(np.argsort(missing))))
    body = options["pickled_learner"]
    learner = None if body is None else PickledLearner(body)
    return runner.learner.fit(rows, batch=options["batch"], limits=options["limits"], learner=learner)


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
            answers = runner.examiner.answer(take_part(partition, positions), margins, kill_after)
        except LearnerDied:
            runner.model = None
            raise
        return ExamPart(*answers, runner.examiner.peak_memory)


@_runner_task
def await_parts(runner: RunnerParts, outcomes: list[Outcome]) -> None:  # noqa: ARG001  # every task has a runner
    """Wait for the answers of a piece of an exam."""
    for outcome in outcomes:
        outcome.unwrap()


@_runner_task
def merge_exam(runner: RunnerParts, pieces: list[list[Outcome]], order: Rows | None, purpose: Purpose) -> ExamReport:
    """Join the answers of all workers on the one that scores the model.

    Parameters
    ----------
    runner : RunnerParts
        The runner on this worker.
    pieces : list of list of Outcome
        The results of `examine_partition` for each piece of the exam, in ascending order of its rows.
    order : array of int or None
        Position of each row of the exam among the parts; None if they are in order.
    purpose : str
        What the exam is for; see `Exam`.
    """
    found: list[list[ExamPart]] = [[outcome.unwrap() for outcome in piece] for piece in pieces]
    parts = [part for piece in found for part in piece]
    report = runner.learner.add_answers(ExamPredictions.join([part.answers for part in parts], order), purpose)
    margins = [part.margins for part in parts if part.margins is not None]
    peaks = [part.peak_memory for part in parts] + [runner.learner.peak_memory]
    return replace(
        report,
        margins=np.concatenate(margins)[slice(None) if order is None else order] if margins else None,
        exam_seconds=report.exam_seconds + sum(max(part.seconds for part in piece) for piece in found),
        peak_memory=max((peak for peak in peaks if peak is not None), default=None),
    )


@_runner_task
def score_model(runner: RunnerParts, selected: Mask) -> ScoreReport:
    """Score the newest model over the answers of all exams."""
    return runner.learner.score(selected)
