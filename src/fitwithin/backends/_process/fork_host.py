"""Run workers in forks of a clean process, the fork server; for Linux."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

import psutil

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._memory_use import read_memory_use
from fitwithin.backends._process import subprocesses
from fitwithin.backends._process.connection import (
    MAX_CONTROL_BYTES,
    MIN_TIMEOUT_SECONDS,
    Answer,
    Channel,
    Request,
    WorkerConnection,
    WorkerSetup,
    wait_readable,
)
from fitwithin.backends._process.shared_memory import SharedFile

_PATIENCE_SECONDS = 10.0
"""Seconds that a fork server may owe an answer before the next session takes another one."""

_POLL_SECONDS = 0.02
"""Longest wait for an answer of the fork server: another thread may read it, which wakes this one up by chance."""

_KEPT_ANSWERS = 100
"""Newest answers that are kept: many more than the threads that wait for one."""


class ForkHost:
    """Fork workers for one session."""

    def __init__(self) -> None:
        self._server = fork_servers.take()
        self._former_servers: list[ForkServerHandle] = []
        self._modules: list[str] = []
        self._lock = threading.Lock()

    def import_modules(self, modules: list[str], n_learners: int = 1) -> None:
        """Have the fork server import modules once, for all workers."""
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
            return self._server.fork(descriptors, budget)
        # The server ended because it had been idle for too long, just before this command, or it was killed. Other
        # threads may still wait for its workers.
        self._former_servers.append(self._server)
        self._server = ForkServerHandle()
        try:
            self._server.import_modules(self._modules)
            return self._server.fork(descriptors, budget)
        except ForkServerGone:
            raise LearnerDied("no process could be started for it") from None

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
            while (description := self._find_end()) is None and time.monotonic() < end:
                time.sleep(MIN_TIMEOUT_SECONDS)
        except TimeoutError:
            return None
        except ForkServerGone:
            return "the process that started it has ended"
        return description

    def _find_end(self) -> str | None:
        # A process that is at its end has no memory.
        if read_memory_use(self.pid) is not None:
            return None
        budget = Budget(min(subprocesses.EXIT_STATUS_SECONDS, self.budget.remaining()))
        description: str | None = self._server.ask(Request("describe_end", (self.pid,)), budget).value
        return description


class ForkServerGone(Exception):
    """The fork server's process has ended, or was given up."""


class ForkServerHandle:
    """The parent's handle on one fork server, which ends itself if it stays idle; several threads may use it."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A server that takes no commands must not hold up its parent.
        self.control.setblocking(False)
        self._lock = threading.Lock()
        self._mark = secrets.token_hex(8)
        try:
            self._process = subprocesses.start_interpreter("fork_server", theirs, self._mark)
        except BaseException:
            self.control.close()
            raise
        self._answers: deque[Answer] = deque(maxlen=_KEPT_ANSWERS)
        # The first answer says that it has started.
        self._n_answers = self._n_sent = self._import_number = 0
        self._owing_since = time.monotonic()
        self._is_lost = False

    @property
    def alive(self) -> bool:
        """Whether the server can still be used."""
        if self._is_lost or self._process.poll() is not None or self.control.fileno() < 0:
            return False
        try:
            while self.owes_answer and self.receive(0.0):
                pass
        except ForkServerGone:
            return False
        # It may hang in the import of a module that other learners do not need.
        is_late = self.owes_answer and time.monotonic() - self._owing_since > _PATIENCE_SECONDS
        return not (is_late or self._is_stopped)

    @property
    def owes_answer(self) -> bool:
        """Whether the server is still starting, or at work for a command."""
        return self._n_answers <= self._n_sent

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

    def _wait_for_answer(self, number: int, budget: Budget) -> Answer:
        """Return the answer to a command; raise TimeoutError, or ForkServerGone if the server was stopped."""
        next_check = time.monotonic() + subprocesses.PROCESS_POLL_SECONDS
        while self._n_answers <= number:
            budget.raise_if_spent()
            self.receive(min(budget.remaining(), _POLL_SECONDS))
            if time.monotonic() >= next_check:
                # Importing a large library may take long, and would take as long in another server.
                if self._is_stopped:
                    raise ForkServerGone
                next_check = time.monotonic() + subprocesses.PROCESS_POLL_SECONDS
        with self._lock:
            return self._answers[number - self._n_answers]

    def import_modules(self, modules: list[str]) -> None:
        """Have the server import modules; raise ForkServerGone."""
        self._import_number = self.send(Request("import_modules", (subprocesses.module_search_path(), modules)))

    def ask(self, command: Request, budget: Budget, descriptors: Sequence[int] = ()) -> Answer:
        """Send a command and return the answer; raise TimeoutError, or ForkServerGone."""
        return self._wait_for_answer(self.send(command, descriptors), budget)

    def fork(self, descriptors: list[int], budget: Budget) -> int:
        """Start a worker with these descriptors and return its pid; raise TimeoutError, LearnerDied, ForkServerGone."""
        self._wait_for_answer(self._n_sent, budget)
        answer = self.ask(Request("fork_worker"), budget, descriptors)
        if answer.value is None:
            raise LearnerDied(f"no process could be started for it: {answer.error}")
        return int(answer.value)

    def send(self, command: Request, descriptors: Sequence[int] = ()) -> int:
        """Send a command, do not wait for its answer, and return its number; raise ForkServerGone."""
        with self._lock:
            if not self.owes_answer:
                self._owing_since = time.monotonic()
            with self._counting():
                socket.send_fds(self.control, [pickle.dumps(command)], list(descriptors))
                self._n_sent += 1
            return self._n_sent

    def receive(self, timeout: float) -> bool:
        """Read the server's next answer, and return whether there is one; raise ForkServerGone."""
        if not wait_readable(self.control.fileno(), max(timeout, MIN_TIMEOUT_SECONDS)):
            return False
        with self._lock:
            # Another thread may be faster.
            if not wait_readable(self.control.fileno(), 0):
                return False
            with self._counting():
                body = self.control.recv(MAX_CONTROL_BYTES)
                if not body:
                    raise ForkServerGone
                self._answers.append(pickle.loads(body))
                self._n_answers += 1
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
            if isinstance(error, OSError):
                raise ForkServerGone from error
            raise

    def close(self) -> None:
        """End the server; it takes every descendant with it, or else this process kills them."""
        # One that is stopped or hangs in an import would stay for ever, and hold this program's standard output open.
        if self._process.poll() is None and (not self.alive or self._n_answers <= self._import_number):
            subprocesses.kill_descendants(self._process.pid)
            self._process.kill()
            self._is_lost = True
        self.control.close()
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
        if self._answers:
            shutil.rmtree(self._answers[-1].folder, ignore_errors=True)


fork_servers: subprocesses.ProcessCache[ForkServerHandle] = subprocesses.ProcessCache(ForkServerHandle)
"""The idle fork server of this process."""
