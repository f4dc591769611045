"""What the program, the fork server and the workers tell each other: messages, sockets, and the wait for a reply."""

from __future__ import annotations

import contextlib
import pickle
import selectors
import signal
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.cores import CoreShare
from fitwithin._core.exceptions import LearnerDied, LearnerRaised
from fitwithin.backends._memory_use import LOOK_SECONDS, MemoryWatch
from fitwithin.backends._process.row_reader import RowLayout
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.subprocesses import EXIT_STATUS_SECONDS, ProcessState

MIN_TIMEOUT_SECONDS = 0.001
"""Shortest time-out of a socket: zero would mean "do not wait", which raises BlockingIOError and not TimeoutError."""

_MAX_DESCRIPTORS = 253
"""Descriptors that one message can carry: the kernel's limit."""

_LENGTH_BYTES = 8

_READ_BYTES = 1 << 20
"""Bytes that a channel reads at a time."""


@dataclass(frozen=True, eq=False)
class WorkerSetup:
    """First message to a worker."""

    pickled_learner: bytes  # the unfitted learner and its `FitSettings`
    layout: RowLayout
    process_state: ProcessState  # that of the parent
    seed: int | None  # of the global random state, set before the learner is unpickled
    memory_limit: int | None  # bytes that the learner and its children may take; the parent watches them
    core_share: CoreShare | None = None  # of one of several learners; a single one may use all cores


@dataclass(frozen=True, eq=False)
class Request:
    """Call a method of the `Worker` or of the `ForkServer`, or begin a session of a spawned worker."""

    method: str
    arguments: tuple[Any, ...] = ()
    exams: tuple[Request, ...] = ()  # carried out after a fit, with a reply each, unless the learner gave up


@dataclass(frozen=True, eq=False)
class ErrorReply:
    """Sent instead of a result: the exception that a request ended in, empty if it cannot be pickled."""

    pickled_error: bytes
    text: str
    traceback: str

    def to_exception(self) -> BaseException:
        """Return the learner's exception, or a RuntimeError with its text if it could not be pickled."""
        try:
            error: BaseException = pickle.loads(self.pickled_error)
        except Exception:
            return RuntimeError(self.text)
        return error


def wait_readable(descriptor: int, timeout: float | None) -> bool:
    """Wait until a descriptor can be read, at most `timeout` seconds; return whether it can."""
    # Unlike `select`, this takes descriptors of any number; unlike `epoll`, it needs none of its own.
    with selectors.PollSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(timeout))


class Channel:
    """Send and receive whole messages over a stream socket, pickled, with a time-out on every wait."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()
        self._descriptors: list[int] = []

    def fileno(self) -> int:
        return self._connection.fileno()

    def send(self, message: Any, timeout: float | None = None, descriptors: Sequence[int] = ()) -> None:
        """Send a message with descriptors of files; raise TimeoutError, or OSError if the other side is gone."""
        body = pickle.dumps(message, protocol=5)
        self._connection.settimeout(None if timeout is None else max(timeout, MIN_TIMEOUT_SECONDS))
        content = memoryview(len(body).to_bytes(_LENGTH_BYTES) + body)
        sent = socket.send_fds(self._connection, [content], descriptors) if descriptors else 0
        self._connection.sendall(content[sent:])

    def receive(self, timeout: float | None = None) -> Any:
        """Return the next message; raise TimeoutError as `poll` waits, or EOFError if the other side is gone."""
        if not self.poll(timeout):
            raise TimeoutError
        size = self._message_bytes()
        body = self._received[_LENGTH_BYTES:size]
        del self._received[:size]
        return pickle.loads(body)

    def poll(self, timeout: float | None) -> bool:
        """Read until a whole message has come; False if no further piece of it comes for `timeout` seconds."""
        while not self.has_message:
            if not wait_readable(self.fileno(), timeout):
                return False
            self.read()
        return True

    def take_descriptor(self) -> int:
        """Return the next descriptor that came with a message; the caller owns it."""
        return self._descriptors.pop(0)

    @property
    def has_message(self) -> bool:
        return len(self._received) >= self._message_bytes()

    def read(self) -> None:
        """Read what has come; raise EOFError if the other side is gone."""
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        try:
            piece, descriptors, _, _ = socket.recv_fds(self._connection, _READ_BYTES, _MAX_DESCRIPTORS, flags)
        except ConnectionError:
            piece, descriptors = b"", []
        if not piece:
            raise EOFError
        self._received += piece
        self._descriptors += descriptors

    def close(self) -> None:
        self._connection.close()

    def _message_bytes(self) -> int:
        return _LENGTH_BYTES + int.from_bytes(self._received[:_LENGTH_BYTES])


class WorkerConnection(ABC):
    """Send requests to a worker, and receive its replies until the deadline."""

    budget: Budget  # set by the host before the first request
    watch: MemoryWatch | None = None  # looks at the process while a reply is waited for; set by the runner

    def __init__(self, channel: Channel, pid: int) -> None:
        self.pid = pid
        self._channel = channel
        self._lock = threading.Lock()

    def ask(self, request: Request | None, files: Sequence[SharedFile] = ()) -> Any:
        """Send a request, and return its result; without a request, the next result of the last one.

        Raise TimeoutError at the deadline, OutOfMemory if the watch sees too much, LearnerRaised, or LearnerDied.
        """
        if request is not None:
            self.post(request, files)
        self._await_reply()
        reply = self._channel.receive()
        if isinstance(reply, ErrorReply):
            # Unpickling it may import a library, so that waits until it is needed.
            raise LearnerRaised(reply.to_exception, reply.traceback, reply.text)
        return reply

    def post(self, request: Request, files: Sequence[SharedFile] = ()) -> Channel:
        """Send a request, and return the channel that the reply comes from; raise TimeoutError."""
        # If the process is gone already, waiting for its reply tells how it ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._channel.send(request, self.budget.remaining(), [file.fd for file in files])
        return self._channel

    def _await_reply(self) -> None:
        channel, watch = self._channel, self.watch
        while not channel.has_message:
            # Another thread may stop the budget.
            timeout = min(self.budget.remaining(), LOOK_SECONDS if watch is None else watch.look_seconds)
            is_ready = wait_readable(channel.fileno(), timeout)
            if watch is not None:
                watch.look()
            if is_ready:
                try:
                    channel.read()
                except EOFError:
                    description = self._describe_end(min(EXIT_STATUS_SECONDS, self.budget.remaining()))
                    raise LearnerDied(description or "it closed its connection and gave no reason") from None
            elif (description := self._describe_end(0.0)) is not None:
                # A process that the learner started may hold the socket open after the end of the worker.
                raise LearnerDied(description)
            else:
                # The deadline goes by the budget's clock, which a study pauses.
                self.budget.raise_if_spent()

    def kill(self) -> frozenset[str]:
        """Kill the worker at once, from any thread: a request that another one waits for raises LearnerDied.

        Return its blocks of shared memory, which the system no longer tells once it was killed.
        """
        with self._lock:
            # After the end another process may get the pid.
            if self._channel.fileno() < 0:
                return frozenset()
            blocks = frozenset() if self.watch is None else self.watch.find_blocks()
            self._kill()
            return blocks

    def end(self) -> None:
        """Kill the worker and everything that it started, without waiting for it, and close the connection."""
        blocks = self.kill()
        with self._lock:
            if self._channel.fileno() >= 0:
                self._channel.close()
                self._clean_up(blocks)

    @abstractmethod
    def _describe_end(self, timeout: float) -> str | None:
        """Describe how the worker ended; None if it has not within `timeout` seconds."""

    @abstractmethod
    def _kill(self) -> None: ...

    @abstractmethod
    def _clean_up(self, blocks: frozenset[str]) -> None:
        """Kill what the worker started, and remove these blocks of shared memory; others are needed further."""


def describe_exit(exited: bool, status: int) -> str:
    """Describe how a process ended: by itself with an exit code, or by a signal with this number."""
    if exited:
        return f"it ended itself with exit code {status}"
    hint = "; the operating system does this when memory runs out" if status == signal.SIGKILL else ""
    try:
        name = signal.Signals(status).name
    except ValueError:  # real-time signals between the first and the last have no names
        name = f"signal {status}"
    return f"it was killed by {name}{hint}"
