"""The tasks that Dask runs on its workers. What a learner does wrong is a value, so that Dask does not try again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import secede

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import Margins, Mask, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import FitReport, ScoreReport
from fitwithin.backends._dask.packed_positions import PackedPositions, unpack_positions
from fitwithin.backends._dask.received_rows import join_rows, take_part
from fitwithin.backends._dask.worker_runner import PickledLearner
from fitwithin.backends._dask.worker_session import RunnerParts, SessionSetup, open_session
from fitwithin.backends._process.backend import predict_load_seconds
from fitwithin.backends._process.protocol import PortableWarning
from fitwithin.backends._scoring import ExamPredictions, Scoring

Failure = OutOfTime | OutOfMemory | LearnerRaised | LearnerDied
"""What a runner may raise."""


@dataclass(frozen=True, eq=False)
class TaskInfo:
    """What every task is told.

    Parameters
    ----------
    number : int
        The program's runner.
    attempt : int
        Number of workers that it has trained on: whatever an earlier attempt left on this worker is not used.
    lesson : int
        Number of the lesson whose model is meant.
    seconds : float
        Seconds until the deadline, when the task was sent.
    """

    number: int
    attempt: int
    lesson: int
    seconds: float

    def open(self, setup: SessionSetup) -> RunnerParts:
        """Return what the runner has on this worker."""
        return open_session(setup.key, self.seconds).parts(self.number, self.attempt, setup)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The value of a task, or the failure that it ended in."""

    value: Any = None
    failure: Failure | None = None


@dataclass(frozen=True, eq=False)
class ModelBytes:
    """A pickled model, and the warnings of its fit."""

    body: bytes
    warnings: list[PortableWarning]


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


@dataclass(frozen=True, eq=False)
class ExamSummary:
    """What the program is told of an exam: a bit for each row, and the margins if requested.

    Parameters
    ----------
    wrong_bits : bytes
        Which rows are wrong.
    margins : array of float or None
        If requested.
    seconds : float
        Longest time that a worker took.
    peak_memory : int or None
        Most bytes that a worker's process took.
    """

    wrong_bits: bytes
    margins: Margins | None
    seconds: float
    peak_memory: int | None


def _carry_out(action: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(action())
    except (OutOfTime, OutOfMemory, LearnerRaised, LearnerDied) as failure:
        return Outcome(failure=failure)
    except TimeoutError:
        return Outcome(failure=OutOfTime())


def take_partition_rows(partition: LabeledRows, rows: Rows | PackedPositions) -> LabeledRows:
    """Return rows of a partition, by their position in it."""
    return take_part(partition, unpack_positions(rows))


def fit_lesson(
    setup: SessionSetup,
    info: TaskInfo,
    rows: Rows,
    parts: list[LabeledRows],
    options: dict[str, Any],
) -> Outcome:
    """Train on rows of the pool.

    Parameters
    ----------
    setup, info
        The session, and the runner.
    rows : array of int
        Row numbers, in training order.
    parts : list of LabeledRows
        Those rows that have not been here before, in ascending order.
    options : dict
        The other arguments of `Runner.fit`; `pickled_learner` in the place of `learner`.
    """
    # The learner's own process does the work; this worker's threads are for others meanwhile.
    secede()
    return _carry_out(lambda: _fit(info.open(setup), rows, parts, options))


def _fit(runner: RunnerParts, rows: Rows, parts: list[LabeledRows], options: dict[str, Any]) -> FitReport:
    _receive(runner, rows, parts)
    body = options["pickled_learner"]
    learner = None if body is None else PickledLearner(body)
    return runner.learner.fit(rows, options["batch"], options["within"], learner=learner, at_most=options["at_most"])


def _receive(runner: RunnerParts, rows: Rows, parts: list[LabeledRows]) -> None:
    """Append rows that came from other workers, in training order, so that lessons that grow stay contiguous."""
    missing = runner.rows.find_missing(rows)
    if len(missing):
        runner.rows.append(missing, join_rows(parts, np.argsort(np.argsort(missing))))


def pickle_model(setup: SessionSetup, info: TaskInfo) -> Outcome:
    """Return the newest model as `ModelBytes`, for other workers and for the program."""

    def dump() -> ModelBytes:
        learner = info.open(setup).learner
        return ModelBytes(learner.pickle_model(), learner.warnings)

    return _carry_out(dump)


def check_model_loads(setup: SessionSetup, info: TaskInfo, model: Outcome) -> Outcome:
    """Load a model in a process that did not train it; return the seconds to expect of loading it elsewhere."""
    if model.failure is not None:
        return model

    def load() -> float:
        parts = info.open(setup)
        with parts.lock:
            _adopt(parts, info, model.value)
        return predict_load_seconds(parts.load_seconds)

    return _carry_out(load)


def _adopt(parts: RunnerParts, info: TaskInfo, model: ModelBytes) -> None:
    if parts.model != info.lesson:
        parts.model = None
        parts.load_seconds = parts.examiner.adopt_model(model.body)
        parts.model = info.lesson


def examine_partition(
    setup: SessionSetup,
    info: TaskInfo,
    model: Outcome,
    partition: LabeledRows,
    rows: Rows | PackedPositions,
    first: int,
    margins: bool,
) -> Outcome:
    """Predict rows of a partition where it is.

    Parameters
    ----------
    setup, info
        The session, and the runner.
    model : Outcome
        The result of `pickle_model`.
    partition : LabeledRows
        The rows of the partition.
    rows : array of int or PackedPositions
        Positions in the partition.
    first : int
        Row number of its first row in the pool.
    margins : bool
        Whether to report margins.
    """
    if model.failure is not None:
        return model

    # Positions are narrow integers, whose sum with the offset may not fit.
    numbers = first + unpack_positions(rows).astype(np.int64)

    def examine() -> ExamPart:
        parts = info.open(setup)
        with parts.lock:
            try:
                _adopt(parts, info, model.value)
                parts.exam_rows.make_room()
                missing = parts.exam_rows.find_missing(numbers)
                parts.exam_rows.append(missing, take_part(partition, missing - first))
                answers, found_margins, seconds = parts.examiner.answer(numbers, margins)
            except LearnerDied:
                parts.model = None
                raise
            return ExamPart(answers, found_margins, seconds, parts.examiner.peak_memory)

    return _carry_out(examine)


def merge_exam(
    setup: SessionSetup, info: TaskInfo, scoring: Scoring, parts: list[Outcome], order: Rows | None
) -> Outcome:
    """Join the answers of all workers on the one that scores the model.

    Parameters
    ----------
    setup, info
        The session, and the runner.
    scoring : Scoring
        Says which rows are wrong.
    parts : list of Outcome
        The results of `examine_partition`, in ascending order of the rows.
    order : array of int or None
        Position of each row of the exam among the parts; None if they are in order.
    """
    failures = [part for part in parts if part.failure is not None]
    if failures:
        return failures[0]

    def merge() -> ExamSummary:
        exam_parts: list[ExamPart] = [part.value for part in parts]
        answers = _join_answers([part.answers for part in exam_parts], order)
        info.open(setup).learner.add_answers(answers)
        margins = None
        if exam_parts[0].margins is not None:
            margins = np.concatenate([part.margins for part in exam_parts if part.margins is not None])
            margins = margins if order is None else margins[order]
        peaks = [part.peak_memory for part in exam_parts if part.peak_memory is not None]
        return ExamSummary(
            np.packbits(_find_mistakes(scoring, answers)).tobytes(),
            margins,
            max(part.seconds for part in exam_parts),
            max(peaks, default=None),
        )

    return _carry_out(merge)


def _find_mistakes(scoring: Scoring, answers: ExamPredictions) -> Mask:
    if answers.y is None:
        return ~answers.correct
    return scoring.mistakes(answers.y, answers.by_method["predict"].ravel())


def _join_answers(parts: list[ExamPredictions], order: Rows | None) -> ExamPredictions:
    def join(columns: list[Any]) -> Any:
        joined = np.concatenate(columns)
        return joined if order is None else joined[order]

    first = parts[0]
    return replace(
        first,
        correct=join([part.correct for part in parts]),
        y=None if first.y is None else join([part.y for part in parts]),
        by_method={method: join([part.by_method[method] for part in parts]) for method in first.by_method},
        weights=None if first.weights is None else join([part.weights for part in parts]),
    )


def examine_here(setup: SessionSetup, info: TaskInfo, rows: Rows, parts: list[LabeledRows], margins: bool) -> Outcome:
    """Predict rows on the worker that trained the model, for a scorer that looks at the rows themselves."""

    def examine() -> ExamSummary:
        runner = info.open(setup)
        _receive(runner, rows, parts)
        report = runner.learner.examine(rows, margins)
        bits = np.packbits(report.wrong).tobytes()
        return ExamSummary(bits, report.margins, report.exam_seconds, report.peak_memory)

    return _carry_out(examine)


def score_model(setup: SessionSetup, info: TaskInfo, selected_bits: bytes, n_rows: int, paired: bool) -> Outcome:
    """Score the newest model over the answers of all exams."""

    def score() -> ScoreReport:
        bits = np.frombuffer(selected_bits, np.uint8)
        return info.open(setup).learner.score(np.unpackbits(bits, count=n_rows).astype(np.bool_), paired)

    return _carry_out(score)


def keep(value: Any) -> Any:
    """Return a value: a task that holds it, so that Dask can make it again if its worker is lost."""
    return value
