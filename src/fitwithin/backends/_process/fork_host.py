"""Run workers in forks of a clean process, the fork server; for Linux."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psutil

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._memory_use import read_memory_use
from fitwithin.backends._process import subprocesses
from fitwithin.backends._process.connection import (
    MIN_TIMEOUT_SECONDS,
    Channel,
    ErrorReply,
    Request,
    WorkerConnection,
    WorkerSetup,
    wait_readable,
)
from fitwithin.backends._process.shared_memory import SharedFile

_PATIENCE_SECONDS = 10.0
"""Seconds that a fork server may owe an answer before the next session takes another one."""

_POLL_SECONDS = 0.02
"""Seconds between two looks at the budget, which another thread may stop, while the fork server is waited for."""


class ForkHost:
    """Fork workers for one session."""

    def __init__(self) -> None:
        self._server = fork_servers.take()
        self._former_servers: list[ForkServerHandle] = []
        self._modules: list[str] = []
        self._lock = threading.Lock()

    def import_modules(self, modules: list[str], n_learners: int = 1) -> None:
        self._modules = modules
        # If the server is gone, another one imports them before the first fork.
        with contextlib.suppress(ForkServerGone):
            self._server.import_modules(modules)

    def start_worker(self, setup: WorkerSetup, budget: Budget, files: Sequence[SharedFile] = ()) -> ForkedWorker:
        """Fork a worker, and send it the setup; raise TimeoutError, or LearnerDied."""
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        try:
            # Waiting for the lock ends at the deadline at the latest, as does what the other thread does meanwhile.
            with theirs, self._lock:
                pid = self._fork([theirs.fileno(), *(file.fd for file in files)], budget)
                server = self._server
            channel.send(setup, budget.remaining())
        except BaseException:
            channel.close()
            raise
        return ForkedWorker(server, channel, pid, budget)

    def _fork(self, descriptors: list[int], budget: Budget) -> int:
        with contextlib.suppress(ForkServerGone):
            return self._ask_for_worker(descriptors, budget)
        # The server ended because it had been idle for too long, just before this command, or it was killed. Other
        # threads may still wait for its workers.
        self._former_servers.append(self._server)
        self._server = ForkServerHandle()
        try:
            self._server.import_modules(self._modules)
            return self._ask_for_worker(descriptors, budget)
        except ForkServerGone:
            raise LearnerDied("no process could be started for it") from None

    def _ask_for_worker(self, descriptors: list[int], budget: Budget) -> int:
        answer = self._server.ask(Request("fork_worker", (len(descriptors) - 1,)), budget, descriptors)
        if isinstance(answer, ErrorReply):
            raise LearnerDied(f"no process could be started for it: {answer.text}")
        pid, self._server.folder = answer
        return int(pid)

    def close(self) -> None:
        """Have the server clean up, without waiting for it, and keep it for the next session."""
        with contextlib.suppress(ForkServerGone):
            self._server.send(Request("end_session"))
        fork_servers.give_back(self._server)
        for server in self._former_servers:
            server.close()


class ForkedWorker(WorkerConnection):
    """The parent's connection to a worker that the fork server forked."""

    def __init__(self, server: ForkServerHandle, channel: Channel, pid: int, budget: Budget) -> None:
        super().__init__(channel, pid)
        self.budget = budget
        self._server = server

    def _kill(self) -> None:
        # While the server has not reaped it, no other process can have its pid.
        subprocesses.kill_group(self.pid)

    def _clean_up(self, blocks: frozenset[str]) -> None:
        with contextlib.suppress(ForkServerGone):
            self._server.send(Request("end_worker", (self.pid, blocks)))

    def _describe_end(self, timeout: float) -> str | None:
        end = time.monotonic() + timeout
        try:
            while True:
                # A process that is at its end has no memory.
                if read_memory_use(self.pid) is None:
                    budget = Budget(min(subprocesses.EXIT_STATUS_SECONDS, self.budget.remaining()))
                    description = self._server.ask(Request("describe_end", (self.pid,)), budget)
                    if isinstance(description, str):
                        return description
                if time.monotonic() >= end:
                    return None
                time.sleep(MIN_TIMEOUT_SECONDS)
        except TimeoutError:
            return None
        except ForkServerGone:
            return "the process that started it has ended"


class ForkServerGone(Exception):
    """The fork server's process has ended, or was given up."""


class ForkServerHandle:
    """The parent's handle on one fork server, which ends itself if it stays idle; several threads may use it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        # Held while an answer is waited for, so that it goes to the command that it belongs to.
        self._lock = threading.RLock()
        self._mark = secrets.token_hex(8)
        try:
            self._process = subprocesses.start_interpreter("fork_server", theirs, self._mark)
        except BaseException:
            self._channel.close()
            raise
        # Answers that are still to come, and those of them up to that of the last import; the first is to the start.
        self._n_owed = self._n_owed_to_import = 1
        self._owing_since = time.monotonic()
        self._newest_answer: Any = None
        self._is_lost = False
        # That of the workers' temporary files, to remove it if the server is killed.
        self.folder = ""

    @property
    def alive(self) -> bool:
        """Whether the server can still be used."""
        if self._is_lost or self._process.poll() is not None or self._channel.fileno() < 0:
            return False
        try:
            while self.owes_answer and self._receive(0.0):
                pass
        except ForkServerGone:
            return False
        # It may hang in the import of a module that other learners do not need.
        is_late = self.owes_answer and time.monotonic() - self._owing_since > _PATIENCE_SECONDS
        return not (is_late or self._is_stopped)

    @property
    def owes_answer(self) -> bool:
        return self._n_owed > 0

    @property
    def _is_stopped(self) -> bool:
        """Whether the server was stopped by a signal, or has ended."""
        try:
            return psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED
        except psutil.NoSuchProcess:
            return True
        except OSError:
            # There is no descriptor left to find out with.
            return False

    def import_modules(self, modules: list[str]) -> None:
        self.send(Request("import_modules", (subprocesses.module_search_path(), modules)))
        self._n_owed_to_import = self._n_owed

    def ask(self, command: Request, budget: Budget, descriptors: Sequence[int] = ()) -> Any:
        """Send a command and return its answer; raise TimeoutError, or ForkServerGone if the server was stopped."""
        try:
            while not self._lock.acquire(timeout=_POLL_SECONDS):
                budget.raise_if_spent()
            # A command that would come too late is not sent.
            self._await_answers(budget)
            self.send(command, descriptors)
            self._await_answers(budget)
            return self._newest_answer
        finally:
            # Ctrl-C may come before or after the lock is taken; only its owner can release it.
            with contextlib.suppress(RuntimeError):
                self._lock.release()

    def _await_answers(self, budget: Budget) -> None:
        next_check = time.monotonic() + subprocesses.PROCESS_POLL_SECONDS
        while self.owes_answer:
            budget.raise_if_spent()
            self._receive(min(budget.remaining(), _POLL_SECONDS))
            if time.monotonic() >= next_check:
                # Importing a large library may take long, and would take as long in another server.
                if self._is_stopped:
                    raise ForkServerGone
                next_check = time.monotonic() + subprocesses.PROCESS_POLL_SECONDS

    def send(self, command: Request, descriptors: Sequence[int] = ()) -> None:
        """Send a command, and do not wait for its answer; raise ForkServerGone."""
        with self._lock, self._counting():
            if not self.owes_answer:
                self._owing_since = time.monotonic()
            # A server that takes no commands must not hold up its parent.
            self._channel.send(command, 0.0, descriptors)
            self._n_owed += 1

    def _receive(self, timeout: float) -> bool:
        """Read the server's next answer, and return whether there is one; raise ForkServerGone."""
        if not (self._channel.has_message or wait_readable(self._channel.fileno(), timeout)):
            return False
        with self._counting():
            if not self._channel.poll(0.0):
                return False
            self._newest_answer = self._channel.receive()
            self._n_owed -= 1
            self._n_owed_to_import -= 1
        self._owing_since = time.monotonic()
        return True

    @contextlib.contextmanager
    def _counting(self) -> Iterator[None]:
        """Give the server up if a command or an answer may not be counted: answers would go to other commands."""
        if self._is_lost:
            raise ForkServerGone
        try:
            yield
        except BaseException as error:
            self._is_lost = True
            if isinstance(error, (OSError, EOFError)):
                raise ForkServerGone from error
            raise

    def close(self) -> None:
        """End the server; it takes every descendant with it, or else this process kills them."""
        # One that is stopped or hangs in an import would stay for ever, and hold this program's standard output open.
        if self._process.poll() is None and (not self.alive or self._n_owed_to_import > 0):
            subprocesses.kill_descendants(self._process.pid)
            self._process.kill()
            self._is_lost = True
        self._channel.close()
        if not self._is_lost and self._process.poll() is None:
            return
        # A server that was killed could not clean up.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(subprocesses.EXIT_STATUS_SECONDS)
        # Its descendants are no longer to be found by their parents.
        for process in psutil.process_iter(["environ"]):
            if (process.info["environ"] or {}).get(subprocesses.MARK_VARIABLE) == self._mark:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


fork_servers: subprocesses.ProcessCache[ForkServerHandle] = subprocesses.ProcessCache(ForkServerHandle)
"""The idle fork server of this process."""
