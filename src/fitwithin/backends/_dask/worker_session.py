"""What a Dask worker keeps for one fit: a host of processes, and two processes with their rows for each runner."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin.backends._dask.worker_runner import SessionSetup, WorkerRunner
from fitwithin.backends._dask.worker_tasks import Outcome, RunnerTasks
from fitwithin.backends._process.backend import Process
from fitwithin.backends._process.fork_host import fork_servers
from fitwithin.backends._process.process_state import find_modules

_GRACE_SECONDS = 0.25
"""Seconds after the deadline at which a worker closes a session by itself, if the program is gone."""

_IDLE_SECONDS = 0.5
"""Seconds that an idle process waits for the next session: two seconds after a fit nothing of it is left."""


class WorkerSession:
    """The processes and rows of one session on this worker.

    Parameters
    ----------
    seconds : float
        Seconds until the deadline, when this worker closes the session by itself.
    """

    def __init__(self, seconds: float) -> None:
        self.budget = Budget(seconds)
        self._first = Process().open(self.budget)
        self._parts: dict[int, RunnerTasks] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def parts(self, number: int, attempt: int, setup: SessionSetup) -> RunnerTasks:
        """Return what a runner of the program has here, without anything of an earlier attempt.

        Raises
        ------
        TimeoutError
            If the attempt is over, or the session.
        """
        with self._lock:
            found = self._parts.get(number)
            if self._is_closed or (found is not None and found.attempt > attempt):
                raise TimeoutError
            if found is None or found.attempt < attempt:
                if found is not None:
                    found.close()
                if not self._parts:
                    self._first.host.import_modules(find_modules(setup.pickled_learner))
                learner, examiner = (WorkerRunner.open_beside(self._first, self.budget, setup) for _ in range(2))
                found = self._parts[number] = RunnerTasks(attempt, learner, examiner)
            return found

    def stop(self, number: int) -> None:
        """Kill what one runner of the program has here."""
        if number in self._parts:
            self._parts[number].stop()

    def close(self) -> None:
        """End all processes and release the rows."""
        with self._lock:
            self._is_closed = True
        for parts in self._parts.values():
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
            _sessions[key] = WorkerSession(seconds)
            threading.Thread(target=_close_in_time, args=(key,), name="fitwithin-deadline", daemon=True).start()
        session = _sessions[key]
    if session is None:
        raise TimeoutError
    session.budget.reserves.load = max(0.0, session.budget.until_deadline() - seconds)
    return session


def run_task(setup: SessionSetup, seconds: float, number: int, attempt: int, method: str, *arguments: Any) -> Outcome:
    """Call a method of `RunnerTasks` on this worker; what an earlier attempt left here is not used.

    Parameters
    ----------
    setup : SessionSetup
        The session.
    seconds : float
        Seconds until the deadline, when the task was sent.
    number, attempt : int
        The program's runner, and the number of workers that it has trained on.
    method : str
        Name of the method.
    *arguments : object
        Its arguments.
    """
    try:
        tasks = open_session(setup.key, seconds).parts(number, attempt, setup)
        return Outcome(getattr(tasks, method)(*arguments))
    except (OutOfTime, OutOfMemory, LearnerRaised, LearnerDied) as failure:
        return Outcome(failure=failure)
    except TimeoutError:
        return Outcome(failure=OutOfTime())


def start_session(key: str, seconds: float) -> None:
    """Start the processes of a session, unless it was closed."""
    with contextlib.suppress(TimeoutError):
        open_session(key, seconds)


def stop_runner(key: str, number: int) -> None:
    """Kill what one runner of the program has on this worker."""
    session = _sessions.get(key)
    if session is not None:
        session.stop(number)


def close_session(key: str) -> None:
    """End everything that a session has on this worker."""
    with _lock:
        session, _sessions[key] = _sessions.get(key), None
    if session is None:
        return
    with contextlib.suppress(OSError):
        session.close()
    # On one machine an idle process waits for the next fit for minutes; a cluster belongs to others too.
    threading.Thread(target=_end_idle_process, name="fitwithin-idle", daemon=True).start()


def _end_idle_process() -> None:
    """End the process that waits for the next session, if none came soon."""
    n_sessions = len(_sessions)
    time.sleep(_IDLE_SECONDS)
    if len(_sessions) == n_sessions and not any(_sessions.values()):
        fork_servers.clear()


def _close_in_time(key: str) -> None:
    """Close a session soon after its deadline, also if the program or the scheduler is gone."""
    while (session := _sessions.get(key)) is not None:
        seconds = session.budget.until_deadline() + _GRACE_SECONDS
        if seconds <= 0:
            close_session(key)
        else:
            time.sleep(min(seconds, 1.0))
