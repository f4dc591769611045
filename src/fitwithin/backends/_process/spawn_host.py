"""Learners' processes where there is no fork: one persistent worker, replaced when it was killed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

import psutil

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._process.protocol import SHORTEST, Arrival, Channel, Introduction, Rest
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.subprocesses import (
    IDLE_SECONDS,
    LAST_WORDS_SECONDS,
    IdleSlot,
    describe_ending,
    kill_descendants,
    launch,
    remove_semaphores,
)


class Worker:
    """The parent's handle on a persistent worker."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._token = secrets.token_bytes(32)
        self._process = launch("worker", self._listener.getsockname()[1], self._token, idle_seconds)
        self._channel: Channel | None = None

    @property
    def alive(self) -> bool:
        """Whether the worker can still be asked."""
        return self._process.poll() is None

    def channel(self, budget: Budget) -> Channel:
        """The line to the worker, once it has called; raises TimeoutError."""
        while self._channel is None:
            self._listener.settimeout(max(budget.remaining(), SHORTEST))
            line = Channel(self._listener.accept()[0])
            if line.receive(budget.remaining()) == self._token:
                self._channel = line
                self._listener.close()
        return self._channel

    def rest(self) -> None:
        """The session is over; the worker ends by itself if nobody needs it for a while."""
        if self._channel is not None:
            self._channel.send(Rest(), timeout=1.0)

    def end_children(self) -> None:
        """Kill what the learner started, not the worker."""
        with contextlib.suppress(psutil.NoSuchProcess):
            kill_descendants(psutil.Process(self._process.pid))
        remove_semaphores(self._process.pid)

    def how_it_ended(self, patience: float) -> str:
        """How the worker's process ended, once it has."""
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return "it hung up without a word"
        return describe_ending(code >= 0, abs(code))

    def close(self) -> None:
        """Kill the worker with everything that it started."""
        self.end_children()
        self._process.kill()
        self._listener.close()
        if self._channel is not None:
            self._channel.close()
        if self._process.stdin is not None:
            self._process.stdin.close()


workers: IdleSlot[Worker] = IdleSlot(Worker)
"""The worker of this process that waits for its next session."""


class SpawnedHost:
    """Lets one worker do every round; files lie in a folder that both sides open."""

    def __init__(self) -> None:
        self.folder: str | None = tempfile.mkdtemp(prefix=f"fitwithin-{os.getpid()}-")
        self._worker = workers.take()
        self._busy = False

    def prepare(self, modules: list[str]) -> None:
        """The worker imports what it needs when it needs it, once."""

    def start(self, introduction: Introduction, files: list[SharedFile], budget: Budget) -> None:
        """Introduce the round to the worker."""
        paths = [file.path for file in files if file.path is not None]
        with self._at_work(budget):
            self._worker.channel(budget).send(Arrival(introduction, paths), budget.remaining())

    def ask(self, request: object, budget: Budget) -> Any:
        """The worker's reply; raises TimeoutError, or LearnerDied."""
        with self._at_work(budget):
            channel = self._worker.channel(budget)
            channel.send(request, budget.remaining())
            while not channel.complete:
                try:
                    channel.await_more(budget.remaining())
                except TimeoutError:
                    # The deadline goes by the budget's clock, which may have stood still meanwhile.
                    if budget.spent:
                        raise
            return channel.receive()

    def stop(self) -> None:
        """Kill the worker if it is at work; a new one takes its place when it is needed."""
        if self._busy:
            self._worker.close()

    def close(self) -> None:
        """Keep the worker for the next session, and remove the files."""
        self.stop()
        if self._worker.alive and not self._busy:
            self._worker.end_children()
            with contextlib.suppress(OSError):
                self._worker.rest()
            workers.give_back(self._worker)
        else:
            self._worker.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _at_work(self, budget: Budget) -> Iterator[None]:
        self._busy = True
        try:
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise LearnerDied(self._worker.how_it_ended(min(LAST_WORDS_SECONDS, budget.remaining()))) from None
        self._busy = False
