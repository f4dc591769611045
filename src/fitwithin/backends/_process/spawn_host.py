"""Run workers in interpreters of their own; for systems without a safe fork."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

import psutil

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._process.memory_watch import MemoryWatch
from fitwithin.backends._process.protocol import (
    MIN_TIMEOUT_SECONDS,
    BeginSession,
    Channel,
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


class WorkerHandle:
    """The parent's handle on a spawned worker; see `worker` for the worker itself.

    Parameters
    ----------
    idle_seconds : float
        Seconds without a session after which the worker ends itself.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._token = secrets.token_bytes(32)
        self._process = start_interpreter(
            "worker", self._listener.getsockname()[1], self._token, idle_seconds, stdin=subprocess.PIPE
        )
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

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self._process.pid

    def describe_end(self, timeout: float) -> str:
        """Describe how the worker ended."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return "it closed its connection and gave no reason"
        return describe_exit(code >= 0, abs(code))

    def close(self) -> None:
        """Kill the worker and everything that it started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            kill_descendants(psutil.Process(self._process.pid))
        remove_loky_semaphores(self._process.pid)
        self._process.kill()
        self._listener.close()
        if self._channel is not None:
            self._channel.close()
        if self._process.stdin is not None:
            self._process.stdin.close()


spawned_workers: ProcessCache[WorkerHandle] = ProcessCache(WorkerHandle)
"""The idle worker of this process, which has served no session yet."""


class SpawnHost:
    """Spawn workers for one session; files lie in a folder that both sides open."""

    def __init__(self, budget: Budget) -> None:
        self.folder: str | None = tempfile.mkdtemp(prefix=f"fitwithin-{os.getpid()}-")
        self._budget = budget
        self._waiting = [spawned_workers.take()]
        self._started: list[WorkerHandle] = []

    def import_modules(self, modules: list[str]) -> None:
        """Start a second worker, which imports while the first one trains."""
        self._waiting.append(WorkerHandle())

    def start_worker(self, setup: WorkerSetup, files: Sequence[SharedFile] = ()) -> SpawnedConnection:
        """Send the setup to a worker; raise TimeoutError, or LearnerDied."""
        handle = self._waiting.pop(0) if self._waiting else WorkerHandle()
        self._started.append(handle)
        worker = SpawnedConnection(handle, self._budget)
        paths = [file.path for file in files if file.path is not None]
        worker.begin(BeginSession(setup, self.folder or "", paths))
        return worker

    def close(self) -> None:
        """Kill the workers that were used, keep one that was not, and remove the files."""
        for handle in self._started:
            handle.close()
        for handle in self._waiting:
            spawned_workers.give_back(handle)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class SpawnedConnection:
    """The parent's connection to a spawned worker."""

    def __init__(self, handle: WorkerHandle, budget: Budget) -> None:
        self.pid = handle.pid
        self._handle = handle
        self._budget = budget

    def begin(self, message: BeginSession) -> None:
        """Send the first message."""
        with self._describing_end():
            self._handle.connect(self._budget).send(message, self._budget.remaining())

    def request(
        self, request: Request, files: Sequence[SharedFile] = (), watch: MemoryWatch | None = None
    ) -> Reply | ErrorReply:
        """Send a request and return the reply; raise TimeoutError, OutOfMemory, or LearnerDied."""
        budget = self._budget
        with self._describing_end():
            channel = self._handle.connect(budget)
            channel.send(request, budget.remaining())
            while not channel.has_message:
                try:
                    channel.wait_and_read(
                        budget.remaining() if watch is None else min(budget.remaining(), watch.look_seconds)
                    )
                except TimeoutError:
                    # The deadline goes by the budget's clock, which a study pauses.
                    budget.raise_if_spent()
                if watch is not None:
                    watch.look()
            reply: Reply | ErrorReply = channel.receive()
            return reply

    def stop(self) -> None:
        """Kill the worker, with everything that it started."""
        self._handle.close()

    end = stop

    @contextlib.contextmanager
    def _describing_end(self) -> Iterator[None]:
        """Turn the end of the worker's process into LearnerDied."""
        try:
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise LearnerDied(self._handle.describe_end(min(EXIT_STATUS_SECONDS, self._budget.remaining()))) from None
