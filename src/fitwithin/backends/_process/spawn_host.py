"""Run workers in interpreters of their own; for systems without a safe fork."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psutil

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._process.memory_watch import MemoryWatch
from fitwithin.backends._process.protocol import (
    BeginSession,
    Channel,
    ErrorReply,
    ImportModules,
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
    make_temporary_folder,
    module_search_path,
    remove_loky_semaphores,
    start_interpreter,
)

_IMPORT_ORDER_SECONDS = 0.01
"""Seconds that a worker has to take the names of modules; they fit into the socket's buffer."""

_ALIVE_POLL_SECONDS = 1.0
"""Seconds between two looks whether a worker that says nothing still runs."""


class WorkerHandle:
    """The parent's handle on a spawned worker; see `worker` for the worker itself.

    The worker inherits its end of a socket pair, which no other process can reach.

    Parameters
    ----------
    idle_seconds : float
        Seconds without a session after which the worker ends itself.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        with theirs:
            descriptor = theirs.fileno()
            try:
                self._process = start_interpreter(
                    "worker", descriptor, os.getpid(), idle_seconds, pass_fds=(descriptor,)
                )
            except OSError:
                ours.close()
                raise

    @property
    def alive(self) -> bool:
        """Whether the worker can still be used."""
        return self._process.poll() is None

    def import_modules(self, modules: list[str]) -> None:
        """Have the worker import modules while it waits for a session."""
        with contextlib.suppress(OSError):
            self.channel.send(ImportModules(module_search_path(), modules), _IMPORT_ORDER_SECONDS)

    def receive(self, budget: Budget, watch: MemoryWatch | None = None) -> Any:
        """Return the worker's next message; raise TimeoutError, OutOfMemory, or EOFError if it has ended."""
        channel, poll_seconds = self.channel, _ALIVE_POLL_SECONDS
        while not channel.has_message:
            # A process that the learner started may hold the socket open after the end of the worker.
            alive = self.alive
            if watch is not None:
                watch.look()
                poll_seconds = min(_ALIVE_POLL_SECONDS, watch.look_seconds)
            try:
                channel.wait_and_read(min(budget.remaining(), poll_seconds))
            except TimeoutError:
                # The deadline goes by the budget's clock, which a study pauses.
                budget.raise_if_spent()
                if not alive:
                    raise EOFError from None
        if watch is not None:
            watch.look()
        return channel.receive()

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self._process.pid

    def kill_group(self) -> None:
        """Kill what the learner started in the worker's session, after the worker ended."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def describe_end(self, timeout: float) -> str:
        """Describe how the worker ended."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return "it closed its connection and gave no reason"
        return describe_exit(code >= 0, abs(code))

    def kill(self) -> None:
        """Kill the worker and everything that it started."""
        if self.alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                kill_descendants(psutil.Process(self._process.pid))
        remove_loky_semaphores(self._process.pid)
        self._process.kill()

    def close(self) -> None:
        """Kill the worker and everything that it started, and close the connection to it."""
        self.kill()
        self.channel.close()


spawned_workers: ProcessCache[WorkerHandle] = ProcessCache(WorkerHandle)
"""The idle worker of this process, which has served no session yet."""


class SpawnHost:
    """Spawn workers for one session; files lie in a folder that both sides open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._modules: list[str] = []
        self._waiting = [spawned_workers.take()]
        self.folder: str | None = self._make_folder()
        self._started: list[WorkerHandle] = []

    def _make_folder(self) -> str:
        try:
            return make_temporary_folder(os.getpid())
        except OSError:
            spawned_workers.give_back(self._waiting.pop())
            raise

    def import_modules(self, modules: list[str], n_learners: int = 1) -> None:
        """Start the other learners' workers and one that loads models, and have all import modules."""
        self._modules = modules
        self._waiting += [WorkerHandle() for _ in range(n_learners)]
        for handle in self._waiting:
            handle.import_modules(modules)

    def start_worker(self, setup: WorkerSetup, budget: Budget, files: Sequence[SharedFile] = ()) -> SpawnedConnection:
        """Send the setup to a worker; raise TimeoutError, or LearnerDied."""
        with self._lock:
            handle = self._take_waiting() or WorkerHandle()
            self._started.append(handle)
        worker = SpawnedConnection(handle, budget)
        paths = [file.path for file in files if file.path is not None]
        worker.begin(BeginSession(setup, self.folder or "", paths))
        return worker

    def _take_waiting(self) -> WorkerHandle | None:
        """Return a worker that waits; one that was not needed for long has ended itself."""
        while self._waiting:
            handle = self._waiting.pop(0)
            if handle.alive:
                return handle
            handle.close()
        return None

    def close(self) -> None:
        """Kill the workers that were used, have a clean one ready for the next session, and remove the files."""
        for handle in self._started:
            handle.close()
        if self._started and not self._waiting:
            # If no further process can be started, the next session says so.
            with contextlib.suppress(OSError):
                self._waiting.append(WorkerHandle())
                self._waiting[0].import_modules(self._modules)
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
            self._handle.channel.send(message, self._budget.remaining())

    def request(
        self, request: Request, files: Sequence[SharedFile] = (), watch: MemoryWatch | None = None
    ) -> Reply | ErrorReply:
        """Send a request and return the reply; raise TimeoutError, OutOfMemory, or LearnerDied."""
        self.post(request, files)
        return self.receive(watch)

    def receive(self, watch: MemoryWatch | None = None) -> Reply | ErrorReply:
        """Return the next reply; raise TimeoutError, OutOfMemory, or LearnerDied."""
        with self._describing_end():
            reply: Reply | ErrorReply = self._handle.receive(self._budget, watch)
            return reply

    def post(self, request: Request, files: Sequence[SharedFile] = ()) -> Channel:
        """Send a request, and return the channel that the reply comes from."""
        with self._describing_end():
            self._handle.channel.send(request, self._budget.remaining())
        return self._handle.channel

    def kill(self) -> None:
        """Kill the worker, with everything that it started; a request that another thread waits for raises."""
        self._handle.kill()

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
            description = self._handle.describe_end(min(EXIT_STATUS_SECONDS, self._budget.remaining()))
            self._handle.kill_group()
            raise LearnerDied(description) from None
