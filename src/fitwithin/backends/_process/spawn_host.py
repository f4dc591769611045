"""Run learners in one persistent worker, replaced when it was killed; for systems without a safe fork."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator

import psutil

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._process.protocol import (
    MIN_TIMEOUT_SECONDS,
    BeginRound,
    Channel,
    EndSession,
    ErrorReply,
    Reply,
    Request,
    WorkerSetup,
)
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.subprocesses import (
    EXIT_STATUS_SECONDS,
    IDLE_SECONDS,
    ProcessCache,
    describe_exit,
    kill_descendants,
    remove_loky_semaphores,
    start_interpreter,
)

_END_SESSION_SECONDS = 1.0
"""Seconds that an idle worker has to take the end of a session; it listens, so it needs milliseconds."""


class WorkerHandle:
    """The parent's handle on a persistent worker; see `worker` for the worker itself.

    Parameters
    ----------
    idle_seconds : float
        Seconds without a session after which the worker ends itself.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._token = secrets.token_bytes(32)
        self._process = start_interpreter("worker", self._listener.getsockname()[1], self._token, idle_seconds)
        self._channel: Channel | None = None

    @property
    def alive(self) -> bool:
        """Whether the worker can still be used."""
        return self._process.poll() is None

    def connect(self, budget: Budget) -> Channel:
        """Return the channel to the worker; wait for its connection first, or raise TimeoutError."""
        while self._channel is None:
            self._listener.settimeout(max(budget.remaining(), MIN_TIMEOUT_SECONDS))
            channel = Channel(self._listener.accept()[0])
            if channel.receive(budget.remaining()) == self._token:
                self._channel = channel
                self._listener.close()
        return self._channel

    def end_session(self) -> None:
        """Tell the worker that the session is over; it ends itself when it has been idle for a while."""
        if self._channel is not None:
            self._channel.send(EndSession(), timeout=_END_SESSION_SECONDS)

    def kill_children(self) -> None:
        """Kill what the learner started, but not the worker."""
        with contextlib.suppress(psutil.NoSuchProcess):
            kill_descendants(psutil.Process(self._process.pid))
        remove_loky_semaphores(self._process.pid)

    def describe_end(self, timeout: float) -> str:
        """Describe how the worker ended."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return "it closed its connection and gave no reason"
        return describe_exit(code >= 0, abs(code))

    def close(self) -> None:
        """Kill the worker and everything that it started."""
        self.kill_children()
        self._process.kill()
        self._listener.close()
        if self._channel is not None:
            self._channel.close()
        if self._process.stdin is not None:
            self._process.stdin.close()


spawned_workers: ProcessCache[WorkerHandle] = ProcessCache(WorkerHandle)
"""The idle worker of this process."""


class SpawnHost:
    """Let one worker serve every round; files lie in a folder that both sides open."""

    def __init__(self) -> None:
        self.folder: str | None = tempfile.mkdtemp(prefix=f"fitwithin-{os.getpid()}-")
        self._worker = spawned_workers.take()
        self._busy = False

    def import_modules(self, modules: list[str]) -> None:
        """Do nothing: the worker imports modules when it unpickles the learner, once."""

    def start_round(self, setup: WorkerSetup, files: list[SharedFile], budget: Budget) -> None:
        """Send the setup to the worker."""
        paths = [file.path for file in files if file.path is not None]
        with self._mark_busy(budget):
            self._worker.connect(budget).send(BeginRound(setup, paths), budget.remaining())

    def request(self, request: Request, budget: Budget) -> Reply | ErrorReply:
        """Send a request and return the reply; raise TimeoutError, or LearnerDied."""
        with self._mark_busy(budget):
            channel = self._worker.connect(budget)
            channel.send(request, budget.remaining())
            while not channel.has_message:
                try:
                    channel.wait_and_read(budget.remaining())
                except TimeoutError:
                    # The deadline goes by the budget's clock, which a study pauses.
                    budget.raise_if_spent()
            reply: Reply | ErrorReply = channel.receive()
            return reply

    def stop(self) -> None:
        """Kill the worker if it is busy; the next session starts a new one."""
        if self._busy:
            self._worker.close()

    def close(self) -> None:
        """Keep the worker for the next session if it is idle, and remove the files."""
        self.stop()
        if self._worker.alive and not self._busy:
            self._worker.kill_children()
            with contextlib.suppress(OSError):
                self._worker.end_session()
            spawned_workers.give_back(self._worker)
        else:
            self._worker.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _mark_busy(self, budget: Budget) -> Iterator[None]:
        """Mark the worker as busy until its reply; turn the end of its process into LearnerDied."""
        self._busy = True
        try:
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise LearnerDied(self._worker.describe_end(min(EXIT_STATUS_SECONDS, budget.remaining()))) from None
        self._busy = False
