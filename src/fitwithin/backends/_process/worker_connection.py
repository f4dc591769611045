"""The parent's connection to a worker, however its process was started."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied, LearnerRaised
from fitwithin.backends._process.channel import Channel, wait_readable
from fitwithin.backends._process.memory_watch import MemoryWatch
from fitwithin.backends._process.protocol import BeginSession, ErrorReply, Reply, Request
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.subprocesses import EXIT_STATUS_SECONDS

_LOOK_SECONDS = 0.1
"""Longest wait for a reply before a look at the budget, which another thread may stop."""


class WorkerConnection(ABC):
    """Send requests to a worker, and receive its replies until the deadline.

    Parameters
    ----------
    channel : Channel
        Carries the messages.
    pid : int
        The worker's process.

    Attributes
    ----------
    budget : Budget
        The deadline; set by the host before the first request.
    """

    budget: Budget

    def __init__(self, channel: Channel, pid: int) -> None:
        self.pid = pid
        self._channel = channel

    def ask(self, request: Request | None, files: Sequence[SharedFile] = (), watch: MemoryWatch | None = None) -> Any:
        """Send a request, with the descriptors of files, and return the result.

        Without a request, return the next result of one that has several. Raises TimeoutError at the deadline,
        OutOfMemory if the watch sees too much, LearnerRaised, or LearnerDied.
        """
        if request is not None:
            self.post(request, files)
        reply = self._receive(watch)
        if isinstance(reply, ErrorReply):
            # Unpickling it may import a library, so that waits until it is needed.
            raise LearnerRaised(reply.to_exception, reply.traceback, reply.text)
        return reply.value

    def post(self, request: Request | BeginSession, files: Sequence[SharedFile] = ()) -> Channel:
        """Send a request, and return the channel that the reply comes from; raise TimeoutError."""
        # If the process is gone already, waiting for its reply tells how it ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._channel.send(request, self.budget.remaining(), [file.fd for file in files])
        return self._channel

    def _receive(self, watch: MemoryWatch | None) -> Reply | ErrorReply:
        channel = self._channel
        while not channel.has_message:
            timeout = min(self.budget.remaining(), _LOOK_SECONDS if watch is None else watch.look_seconds)
            ready = wait_readable([channel.fileno(), *self._event_descriptors], timeout)
            if watch is not None:
                watch.look()
            if channel.fileno() in ready:
                self._read()
            elif (description := self._describe_end(0.0)) is not None:
                # A process that the learner started may hold the socket open after the end of the worker.
                raise LearnerDied(description)
            else:
                # The deadline goes by the budget's clock, which a study pauses.
                self.budget.raise_if_spent()
        reply: Reply | ErrorReply = channel.receive()
        return reply

    def _read(self) -> None:
        try:
            self._channel.read()
        except EOFError:
            description = self._describe_end(min(EXIT_STATUS_SECONDS, self.budget.remaining()))
            raise LearnerDied(description or "it closed its connection and gave no reason") from None

    @property
    def _event_descriptors(self) -> list[int]:
        """Descriptors that become readable at the end of the worker."""
        return []

    @abstractmethod
    def _describe_end(self, timeout: float) -> str | None:
        """Describe how the worker ended; None if it has not within `timeout` seconds."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the worker's process at once, from any thread: a request that another one waits for raises."""

    @abstractmethod
    def stop(self) -> None:
        """Kill the worker's process at once, and close the connection."""

    @abstractmethod
    def end(self) -> None:
        """Kill the worker's process and everything that it started; others are needed further."""
