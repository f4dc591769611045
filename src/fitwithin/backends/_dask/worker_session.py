"""What a Dask worker keeps for one fit: a host of processes, the rows that came, and a learner for each runner."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field

from fitwithin._core.budget import Budget
from fitwithin.backends._dask.received_rows import ReceivedRows, RowSchema
from fitwithin.backends._dask.worker_runner import LearnerSetup, WorkerRunner
from fitwithin.backends._process.backend import Process
from fitwithin.backends._process.fork_host import fork_servers

_GRACE_SECONDS = 0.25
"""Seconds after the deadline at which a worker closes a session by itself, if the program is gone."""

_IDLE_SECONDS = 0.5
"""Seconds that an idle process waits for the next session: two seconds after a fit nothing of it is left."""

_MAX_EXAM_BYTES = 256 << 20
"""Bytes of examined rows that a worker keeps for the next exam; validation rows are examined by every model."""


@dataclass(frozen=True, eq=False)
class SessionSetup:
    """What every task of a session may need to open it on its worker.

    Parameters
    ----------
    key : str
        Tells sessions apart.
    learner : LearnerSetup
        The learner.
    schema : RowSchema
        Types of the rows.
    """

    key: str
    learner: LearnerSetup
    schema: RowSchema


@dataclass(eq=False)
class RunnerParts:
    """What one of the program's runners has on this worker.

    Parameters
    ----------
    attempt : int
        Number of workers that it has trained on.
    learner : WorkerRunner
        Trains.
    rows : ReceivedRows
        Its training rows.
    examiner : WorkerRunner
        Predicts rows of this worker, with models that may come from others.
    exam_rows : ReceivedRows
        Rows that were examined lately.
    model : int or None
        Number of the lesson whose model the examiner holds.
    lock : Lock
        Held while the examiner is at work: a worker may have several threads.
    """

    attempt: int
    learner: WorkerRunner
    rows: ReceivedRows
    examiner: WorkerRunner
    exam_rows: ReceivedRows
    model: int | None = None
    load_seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """Kill both processes; calls under way raise `OutOfTime`."""
        self.learner.stop()
        self.examiner.stop()

    def close(self) -> None:
        """Kill both processes, and release the rows."""
        self.stop()
        self.learner.__exit__()
        self.examiner.__exit__()
        self.rows.close()
        self.exam_rows.close()


class WorkerSession:
    """The processes and rows of one session on this worker.

    Parameters
    ----------
    seconds : float
        Seconds until the deadline, when this worker closes the session by itself.
    """

    def __init__(self, seconds: float) -> None:
        self.budget = Budget(seconds)
        self._first = WorkerRunner(Process().open(self.budget).host, self.budget)
        self._parts: dict[int, RunnerParts] = {}
        self._lock = threading.Lock()
        self._is_prepared = False
        self.is_closed = False

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline to a number of seconds from now."""
        self.budget.reserves.load = max(0.0, self.budget.until_deadline() - seconds)

    def parts(self, number: int, attempt: int, setup: SessionSetup) -> RunnerParts:
        """Return what a runner of the program has here, without anything of an earlier attempt.

        Raises
        ------
        TimeoutError
            If the attempt is over, or the session.
        """
        with self._lock:
            found = self._parts.get(number)
            if self.is_closed or (found is not None and found.attempt > attempt):
                raise TimeoutError
            if found is None or found.attempt < attempt:
                if found is not None:
                    found.close()
                found = self._parts[number] = self._open(setup, attempt)
            return found

    def _open(self, setup: SessionSetup, attempt: int) -> RunnerParts:
        if not self._is_prepared:
            self._first.prepare_pickled(setup.learner, ReceivedRows(setup.schema, self.budget))
            self._is_prepared = True
        folder = self._first.host.folder
        rows = ReceivedRows(setup.schema, self.budget, folder)
        exam_rows = ReceivedRows(setup.schema, self.budget, folder, _MAX_EXAM_BYTES)
        learner, examiner = (WorkerRunner.open_beside(self._first, self.budget) for _ in range(2))
        learner.prepare_pickled(setup.learner, rows)
        examiner.prepare_pickled(setup.learner, exam_rows)
        return RunnerParts(attempt, learner, rows, examiner, exam_rows)

    def stop(self, number: int) -> None:
        """Kill what one runner of the program has here."""
        if number in self._parts:
            self._parts[number].stop()

    def close(self) -> None:
        """End all processes and release the rows."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
        for parts in self._parts.values():
            parts.close()
        self._first.__exit__()


_sessions: dict[str, WorkerSession] = {}
"""The open sessions of this worker."""

_opened: set[str] = set()
"""All sessions that were ever open here: a task that comes late must not open one again."""

_lock = threading.Lock()


def open_session(key: str, seconds: float) -> WorkerSession:
    """Return the session of this key, opened if it is new, with its deadline so many seconds from now.

    Raises
    ------
    TimeoutError
        If it was closed.
    """
    with _lock:
        if key in _opened and key not in _sessions:
            raise TimeoutError
        if key not in _sessions:
            _opened.add(key)
            _sessions[key] = WorkerSession(seconds)
            threading.Thread(target=_close_in_time, args=(key,), name="fitwithin-deadline", daemon=True).start()
        session = _sessions[key]
    session.set_deadline(seconds)
    return session


def stop_runner(key: str, number: int) -> None:
    """Kill what one runner of the program has on this worker."""
    session = _sessions.get(key)
    if session is not None:
        session.stop(number)


def close_session(key: str) -> None:
    """End everything that a session has on this worker."""
    with _lock:
        session = _sessions.pop(key, None)
        _opened.add(key)
    if session is None:
        return
    with contextlib.suppress(OSError):
        session.close()
    # On one machine an idle process waits for the next fit for minutes; a cluster belongs to others too.
    threading.Thread(target=_end_idle_process, name="fitwithin-idle", daemon=True).start()


def _end_idle_process() -> None:
    """End the process that waits for the next session, if none came soon."""
    n_opened = len(_opened)
    time.sleep(_IDLE_SECONDS)
    if not _sessions and len(_opened) == n_opened:
        fork_servers.clear()


def _close_in_time(key: str) -> None:
    """Close a session soon after its deadline, also if the program or the scheduler is gone."""
    while (session := _sessions.get(key)) is not None:
        seconds = session.budget.until_deadline() + _GRACE_SECONDS
        if seconds <= 0:
            close_session(key)
            if not _sessions:
                # The program is gone, or cut off: no other fit will come soon.
                fork_servers.clear()
            return
        time.sleep(min(seconds, 1.0))
