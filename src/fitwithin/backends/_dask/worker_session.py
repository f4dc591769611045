"""What a Dask worker keeps and does for one fit: a host of processes, and the tasks of each runner.

What a learner does wrong is the value of a task, so that Dask does not try it again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from distributed import secede

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import Exam, FitLimits, Purpose, Rows
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._base import ExamReport, FitReport
from fitwithin.backends._dask.worker_runner import ExamPart, ModelBytes, SessionSetup, WorkerRunner, join_rows
from fitwithin.backends._exam_predictions import ExamPredictions
from fitwithin.backends._process.backend import Process
from fitwithin.backends._process.fork_host import fork_servers
from fitwithin.backends._process.subprocesses import find_modules

_GRACE_SECONDS = 0.25
"""Seconds after the deadline at which a worker closes a session by itself, if the program is gone."""

_IDLE_SECONDS = 0.5
"""Seconds that an idle process waits for the next session: two seconds after a fit nothing of it is left."""


_FAILURES = OutOfTime, OutOfMemory, LearnerRaised, LearnerDied
"""What a task returns in place of a value."""


def unwrap(result: Any) -> Any:
    """Return the value of a task, or raise the failure that it ended in."""
    if isinstance(result, _FAILURES):
        raise result
    return result


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
    budget : Budget
        The deadline of the session.
    model : int or None
        Number of the lesson whose model the examiner holds.
    lock : Lock
        Held while the examiner is at work: a worker may have several threads.
    """

    attempt: int
    learner: WorkerRunner
    examiner: WorkerRunner
    budget: Budget
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

    def fit(
        self, rows: Rows, parts: list[LabeledRows], exams: list[Exam], options: dict[str, Any], seconds_left: float
    ) -> FitReport:
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
        seconds_left : float
            Seconds until the deadline when the limits of the fit were set: since then its rows were on their way.
        """
        # The learner's own process does the work; this worker's threads are for others meanwhile.
        secede()
        self._receive([rows, *(exam.rows for exam in exams)], parts)
        limits: FitLimits = options["limits"]
        if limits.stop_after is not None:
            seconds_under_way = seconds_left - self.budget.remaining()
            options["limits"] = replace(limits, stop_after=limits.stop_after - seconds_under_way)
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

    def examine_partition(
        self, model: Any, margins: bool, kill_after: float | None, partition: LabeledRows, first: int, positions: Rows
    ) -> ExamPart:
        """Predict rows of a partition where it is.

        Parameters
        ----------
        model : ModelBytes or Exception
            The result of `WorkerRunner.pickle_model`.
        margins : bool
            Whether to report margins.
        kill_after : float or None
            Seconds after which the process that predicts is killed.
        partition : LabeledRows
            The rows of the partition.
        first : int
            Number of its first row.
        positions : array of int
            Positions in it.
        """
        body: ModelBytes = unwrap(model)
        numbers = first + positions.astype(np.int64)
        with self.lock:
            try:
                if self.model != body.lesson:
                    self.model = None
                    self.examiner.adopt_model(body.body)
                    self.model = body.lesson
                return self.examiner.answer(numbers, partition.take(positions), margins, kill_after)
            except LearnerDied:
                self.model = None
                raise

    def merge_exam(self, results: list[Any], order: Rows | None, purpose: Purpose) -> ExamReport:
        """Join the answers of all workers on the one that scores the model.

        Parameters
        ----------
        results : list of ExamPart or Exception
            The results of `examine_partition`, in ascending order of their rows.
        order : array of int or None
            Position of each row of the exam among the parts; None if they are in order.
        purpose : str
            What the exam is for; see `Exam`.
        """
        parts, seconds, peaks = zip(*map(unwrap, results), strict=True)
        answers = ExamPredictions.join(parts)
        report = self.learner.add_answers(answers if order is None else answers.take(order), purpose)
        peak = max((peak for peak in (*peaks, self.learner.peak_memory) if peak is not None), default=None)
        return replace(report, exam_seconds=report.exam_seconds + max(seconds), peak_memory=peak)


class WorkerSession:
    """The processes and rows of one session on this worker.

    Parameters
    ----------
    key : str
        Tells it from others.
    seconds : float
        Seconds until the deadline, when this worker closes the session by itself.
    """

    def __init__(self, key: str, seconds: float) -> None:
        self.budget = Budget(seconds)
        self._first = Process().open(self.budget)
        self.runners: dict[int, RunnerTasks] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        # Also if the program or the scheduler is gone.
        self._end = _start_timer(seconds + _GRACE_SECONDS, close_session, key)

    def open_runner(self, number: int, attempt: int, setup: SessionSetup) -> RunnerTasks:
        """Return what a runner of the program has here, without anything of an earlier attempt.

        Raises
        ------
        TimeoutError
            If the attempt is over, or the session.
        """
        with self._lock:
            found = self.runners.get(number)
            if self._is_closed or (found is not None and found.attempt > attempt):
                raise TimeoutError
            if found is None or found.attempt < attempt:
                if found is not None:
                    found.close()
                if not self.runners:
                    self._first.host.import_modules(find_modules(setup.learner.pickled_learner))
                learner, examiner = (WorkerRunner.open_beside(self._first, self.budget, setup) for _ in range(2))
                found = self.runners[number] = RunnerTasks(attempt, learner, examiner, self.budget)
            return found

    def close(self) -> None:
        """End all processes and release the rows."""
        self._end.cancel()
        with self._lock:
            self._is_closed = True
        for parts in self.runners.values():
            parts.close()
        self._first.__exit__()


_sessions: dict[str, WorkerSession | None] = {}
"""The sessions of this worker; None for a closed one, which a task that comes late must not open again."""

_lock = threading.Lock()


def open_session(key: str, seconds: float) -> WorkerSession:
    """Return the session of this key, opened if it is new, with its deadline `seconds` from now.

    Raises
    ------
    TimeoutError
        If it was closed.
    """
    with _lock:
        if key not in _sessions:
            _sessions[key] = WorkerSession(key, seconds)
        session = _sessions[key]
    if session is None:
        raise TimeoutError
    return session


def run_task(setup: SessionSetup, seconds: float, number: int, attempt: int, method: str, *arguments: Any) -> Any:
    """Call a method of `RunnerTasks`, or of its learner; what an earlier attempt left here is not used. See `unwrap`.

    Parameters
    ----------
    setup : SessionSetup
        The session.
    seconds : float
        Seconds until the deadline, when the task was sent.
    number, attempt : int
        The program's runner, and the number of workers that it has trained on.
    method : str
        Name of the method, such as "fit" or "learner.score".
    *arguments : object
        Its arguments.
    """
    try:
        tasks = open_session(setup.key, seconds).open_runner(number, attempt, setup)
        return attrgetter(method)(tasks)(*arguments)
    except _FAILURES as failure:
        return failure
    except TimeoutError:
        return OutOfTime()


def start_session(key: str, seconds: float) -> None:
    """Start the processes of a session, unless it was closed."""
    with contextlib.suppress(TimeoutError):
        open_session(key, seconds)


def stop_runner(key: str, number: int) -> None:
    """Kill what one runner of the program has on this worker."""
    session = _sessions.get(key)
    if session is not None and number in session.runners:
        session.runners[number].stop()


def close_session(key: str) -> None:
    """End everything that a session has on this worker."""
    with _lock:
        session, _sessions[key] = _sessions.get(key), None
    if session is None:
        return
    with contextlib.suppress(OSError):
        session.close()
    # On one machine an idle process waits for the next fit for minutes; a cluster belongs to others too.
    _start_timer(_IDLE_SECONDS, _end_idle_process, len(_sessions))


def _end_idle_process(n_sessions: int) -> None:
    """End the process that waits for the next session, unless one has come."""
    if len(_sessions) == n_sessions and not any(_sessions.values()):
        fork_servers.clear()


def _start_timer(seconds: float, function: Callable[..., None], *arguments: Any) -> threading.Timer:
    """Call a function in a thread after so many seconds."""
    timer = threading.Timer(seconds, function, arguments)
    timer.daemon = True
    timer.start()
    return timer
