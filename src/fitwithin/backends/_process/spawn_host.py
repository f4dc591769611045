"""Run workers in interpreters of their own; for systems without a safe fork."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Sequence

from fitwithin._core.budget import Budget
from fitwithin.backends._memory_use import remove_abandoned_blocks
from fitwithin.backends._process import subprocesses
from fitwithin.backends._process.connection import (
    Channel,
    Request,
    WorkerConnection,
    WorkerSetup,
    describe_exit,
    wait_readable,
)
from fitwithin.backends._process.shared_memory import SharedFile

_IMPORT_ORDER_SECONDS = 0.01
"""Seconds that a worker has to take the names of modules; they fit into the socket's buffer."""


class WorkerHandle(WorkerConnection):
    """The parent's handle on a spawned worker, and its connection; see `worker` for the worker itself.

    The worker inherits its end of a socket pair, which no other process can reach. It ends itself if it stays idle.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocesses.start_interpreter("worker", theirs)
        except OSError:
            ours.close()
            raise
        super().__init__(Channel(ours), self._process.pid)

    @property
    def alive(self) -> bool:
        """Whether the idle worker can still be used."""
        # It sends nothing before its session: its socket is readable once it has closed it.
        return self._process.poll() is None and not wait_readable(self._channel.fileno(), 0)

    def import_modules(self, modules: list[str]) -> None:
        """Have the worker import modules while it waits for a session."""
        with contextlib.suppress(OSError):
            request = Request("import_modules", (subprocesses.module_search_path(), modules))
            self._channel.send(request, _IMPORT_ORDER_SECONDS)

    def _describe_end(self, timeout: float) -> str | None:
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        # What the learner started in the worker's session may live on.
        subprocesses.kill_group(self.pid)
        return describe_exit(code >= 0, abs(code))

    def _kill(self) -> None:
        if self._process.poll() is None:
            subprocesses.kill_descendants(self.pid)
        subprocesses.remove_loky_semaphores(self.pid)
        self._process.kill()

    def _clean_up(self, blocks: frozenset[str]) -> None:
        if blocks:
            # Freeing a large block takes long.
            threading.Thread(target=self._remove_blocks, args=(blocks,), name="fitwithin-blocks").start()

    def _remove_blocks(self, blocks: frozenset[str]) -> None:
        self._process.wait()
        remove_abandoned_blocks(blocks)

    close = WorkerConnection.end


spawned_workers: subprocesses.ProcessCache[WorkerHandle] = subprocesses.ProcessCache(WorkerHandle)
"""The idle worker of this process, which has served no session yet."""


class SpawnHost:
    """Spawn workers for one session; they share a folder for temporary files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._modules: list[str] = []
        self._waiting = [spawned_workers.take()]
        self._folder = ""
        self._started: list[WorkerHandle] = []

    def import_modules(self, modules: list[str], n_learners: int = 1) -> None:
        """Start the other learners' workers and one that loads models, and have all import modules."""
        self._modules = modules
        self._waiting += [WorkerHandle() for _ in range(n_learners)]
        for handle in self._waiting:
            handle.import_modules(modules)

    def start_worker(self, setup: WorkerSetup, budget: Budget, files: Sequence[SharedFile] = ()) -> WorkerHandle:
        """Send the setup to a worker; raise TimeoutError, or LearnerDied."""
        with self._lock:
            self._folder = self._folder or subprocesses.make_temporary_folder(os.getpid())
            handle = self._take_waiting() or WorkerHandle()
            self._started.append(handle)
        handle.budget = budget
        handle.post(Request("begin_session", (setup, self._folder, len(files))), files)
        return handle

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
        shutil.rmtree(self._folder, ignore_errors=True)
