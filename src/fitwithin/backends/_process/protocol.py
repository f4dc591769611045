"""The messages between the parent, the fork server and the learner's process, and the channel that carries them."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import selectors
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from warnings import WarningMessage

import cloudpickle

from fitwithin._core.cores import CoreShare
from fitwithin._core.records import NO_LIMITS, FitLimits, Mask, Purpose
from fitwithin.backends._process.process_state import ProcessState
from fitwithin.backends._process.shared_rows import RowLayout
from fitwithin.backends._process.spooled_rows import AnySelection, SpoolLayout
from fitwithin.backends._scoring import ExamPredictions

MIN_TIMEOUT_SECONDS = 0.001
"""Shortest time-out of a socket: zero would mean "do not wait", which raises BlockingIOError and not TimeoutError."""

MAX_CONTROL_BYTES = 1 << 20
"""Largest message on the fork server's control socket, which carries one packet a message."""

MAX_CONTROL_DESCRIPTORS = 253
"""Descriptors that one message can carry: the kernel's limit."""

_LENGTH = struct.Struct("!Q")

_READ_BYTES = 1 << 20
"""Bytes that a channel reads at a time."""

_MAX_DESCRIPTORS = 8
"""Descriptors that a channel takes at a time: one for each message that may wait, with room."""


# The parent and a worker: the learner's process, or the one that loads each saved model once to check it.


@dataclass(frozen=True, eq=False)
class WorkerSetup:
    """First message to a worker.

    Parameters
    ----------
    pickled_learner : bytes
        The unfitted learner and its `FitSettings`, pickled.
    layout : RowLayout or SpoolLayout
        How to read the shared rows.
    process_state : ProcessState
        The parent's global settings.
    seed : int or None
        Seed of the global random state, set before the learner is unpickled.
    core_share : CoreShare or None, default=None
        The cores of one of several learners; None for a single one, which may use all.
    """

    pickled_learner: bytes
    layout: RowLayout | SpoolLayout
    process_state: ProcessState
    seed: int | None
    core_share: CoreShare | None = None


@dataclass(frozen=True)
class FitRequest:
    """Train a fresh copy of the learner, or another one that comes pickled, or continue by batches; then examine.

    Reply: the `FitReport`, a list of `PortableWarning`, and the bytes that the process held before. Unless the learner
    gave up, the reply of each exam follows.
    """

    selection: AnySelection
    batch: int | None = None
    exams: tuple[ExamRequest, ...] = ()
    limits: FitLimits = NO_LIMITS
    pickled_learner: bytes | None = None


@dataclass(frozen=True)
class ExamRequest:
    """Predict rows, compare and score; see `Exam`. Reply: the `ExamReport`."""

    selection: AnySelection
    purpose: Purpose = "mistakes"
    margins: bool = False
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """Score the examined rows. Reply: the `ScoreReport`."""

    selected: Mask


@dataclass(frozen=True)
class SaveRequest:
    """Write the newest model to a file. Reply: None.

    Without a path, the file's descriptor comes with the message.
    """

    path: str | None = None


@dataclass(frozen=True)
class LoadRequest:
    """Load a saved model, and forget it, to see that it can be loaded. Reply: its seconds, and the modules imported.

    Without a path, the file's descriptor comes with the message.
    """

    path: str | None = None


@dataclass(frozen=True)
class DumpRequest:
    """Write a saved model to a skops file. Reply: the types in it that must be trusted by name.

    Without a path of the saved model, its descriptor comes with the message.
    """

    skops_path: str
    path: str | None = None


@dataclass(frozen=True)
class AdoptRequest:
    """Take over a saved model, as if this process had trained it. Reply: the seconds of loading it.

    Without a path, the file's descriptor comes with the message.
    """

    path: str | None = None


@dataclass(frozen=True)
class AnswerRequest:
    """Predict rows with the newest model.

    Reply: its answers, for a process that scores it, the margins or None, and the seconds.
    """

    selection: AnySelection
    margins: bool = False


@dataclass(frozen=True, eq=False)
class AddAnswersRequest:
    """Count answers of the newest model that other processes got. Reply: the `ExamReport`."""

    answers: ExamPredictions
    purpose: Purpose = "mistakes"


Request = (
    FitRequest
    | ExamRequest
    | ScoreRequest
    | SaveRequest
    | LoadRequest
    | DumpRequest
    | AdoptRequest
    | AnswerRequest
    | AddAnswersRequest
)
"""What the parent asks of a worker."""


@dataclass(frozen=True, eq=False)
class Reply:
    """Result of a request."""

    value: Any


@dataclass(frozen=True)
class PortableWarning:
    """A warning of the learner, its class by name: unpickling it could import a library, which takes long, or fails.

    Parameters
    ----------
    text : str
        What it says.
    categories : tuple of (str, str)
        Module and name of its class, and of the classes that this one derives from.
    filename, lineno
        Where it was given.
    pickled_category : bytes
        The class, pickled, if it has no name in a module; else empty.
    """

    text: str
    categories: tuple[tuple[str, str], ...]
    filename: str
    lineno: int
    pickled_category: bytes = b""

    @classmethod
    def from_message(cls, message: WarningMessage) -> PortableWarning:
        """Return a warning that was caught."""
        categories = tuple((kind.__module__, kind.__qualname__) for kind in message.category.__mro__)
        is_named = _find_class(*categories[0]) is message.category
        pickled = b"" if is_named else cloudpickle.dumps(message.category)
        return cls(str(message.message), categories, message.filename, message.lineno, pickled)

    def to_message(self) -> WarningMessage:
        """Return the warning, with the first of its classes that is loaded in this process."""
        if self.pickled_category:
            category = pickle.loads(self.pickled_category)
        else:
            found = (_find_class(module, name) for module, name in self.categories)
            category = next(kind for kind in found if isinstance(kind, type) and issubclass(kind, Warning))
        return WarningMessage(self.text, category, self.filename, self.lineno)


def _find_class(module: str, name: str) -> Any:
    """Return the class of this name if its module is loaded."""
    return getattr(sys.modules.get(module), name, None)


@dataclass(frozen=True, eq=False)
class ErrorReply:
    """The exception that a request ended in; `pickled_error` is empty if it cannot be pickled."""

    pickled_error: bytes
    text: str
    traceback: str


# The parent and a spawned worker, which may get `ImportModules` first.


@dataclass(frozen=True, eq=False)
class BeginSession:
    """Serve a session with these shared files, and with a folder for temporary ones."""

    setup: WorkerSetup
    folder: str
    paths: list[str]


# The parent and the fork server, which answers every command.


@dataclass(frozen=True)
class ImportModules:
    """Import modules that the learner needs; a fork server then stays alive until `EndSession`."""

    search_path: list[str]
    modules: list[str]

    def carry_out(self) -> None:
        """Import the modules, in the process that is to have them."""
        sys.path[:] = self.search_path
        for module in self.modules:
            # A module that fails here fails again in the learner's process, which reports it to the user.
            with contextlib.suppress(Exception):
                importlib.import_module(module)


@dataclass(frozen=True)
class ForkWorker:
    """Fork a worker. Its channel and its files come with the message, as descriptors."""


@dataclass(frozen=True)
class EndWorker:
    """Kill this worker and everything that it started."""

    pid: int


@dataclass(frozen=True)
class EndSession:
    """Kill all workers and everything that they started, remove their files, and end after an idle while."""


Command = ImportModules | ForkWorker | EndWorker | EndSession
"""What the parent asks of the fork server."""


@dataclass(frozen=True)
class Answer:
    """The fork server has carried out the command of this number; number 0 says that it has started.

    Parameters
    ----------
    number : int
        Commands are counted from 1.
    pid : int or None
        The worker that was forked.
    folder : str
        The workers' temporary folder, to remove it if the server is killed.
    error : str
        Why the command failed; empty if it did not.
    """

    number: int
    pid: int | None = None
    folder: str = ""
    error: str = ""


@dataclass(frozen=True)
class WorkerEnded:
    """A worker ended, by itself (`exited`, exit code) or by a signal (its number)."""

    pid: int
    exited: bool
    status: int


_SELECTOR: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.DefaultSelector)


def wait_readable(descriptors: list[int], timeout: float | None) -> set[int]:
    """Return the descriptors that can be read, as soon as there is one; none after `timeout` seconds."""
    # Unlike `select`, this takes descriptors of any number; unlike `epoll`, it needs none of its own.
    with _SELECTOR() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        return {key.fd for key, _ in selector.select(timeout)}


class Channel:
    """Send and receive whole messages over a socket, pickled, with a time-out on every wait.

    Descriptors of files can travel with a message where the socket is of the Unix family.

    Parameters
    ----------
    connection : socket.socket
        A connected stream socket; the channel owns it.

    Examples
    --------
    >>> import socket
    >>> here, there = map(Channel, socket.socketpair())
    >>> here.send(("fit", 3), timeout=1)
    >>> there.receive(timeout=1)
    ('fit', 3)
    >>> here.close()
    >>> there.receive(timeout=1)
    Traceback (most recent call last):
    EOFError
    >>> there.close()
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()
        self._descriptors: list[int] = []

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._connection.fileno()

    def send(self, message: Any, timeout: float | None = None, descriptors: Sequence[int] = ()) -> None:
        """Send a message, and descriptors of files with it.

        Raises
        ------
        TimeoutError
            If the other side does not take it in time.
        OSError
            If the other side is gone.
        """
        body = pickle.dumps(message, protocol=5)
        self._connection.settimeout(None if timeout is None else max(timeout, MIN_TIMEOUT_SECONDS))
        header = _LENGTH.pack(len(body))
        if descriptors:
            sent = socket.send_fds(self._connection, [header], descriptors)
            header = header[sent:]
        self._connection.sendall(header)
        self._connection.sendall(body)

    def receive(self, timeout: float | None = None) -> Any:
        """Return the next message.

        Raises
        ------
        TimeoutError
            If no further piece of it comes for `timeout` seconds.
        EOFError
            If the other side is gone.
        """
        while not self.has_message:
            self.wait_and_read(timeout)
        size = self._message_bytes()
        body = bytes(self._received[_LENGTH.size : size])
        del self._received[:size]
        return pickle.loads(body)

    def poll(self, seconds: float) -> bool:
        """Read what comes within so many seconds; return whether a whole message has been read, or raise EOFError."""
        try:
            while not self.has_message:
                self.wait_and_read(seconds)
        except TimeoutError:
            return False
        return True

    def take_descriptor(self) -> int:
        """Return the next descriptor that came with a message; the caller owns it."""
        return self._descriptors.pop(0)

    def wait_and_read(self, timeout: float | None) -> None:
        """Wait for a piece of a message and read it."""
        if not wait_readable([self.fileno()], timeout):
            raise TimeoutError
        self.read()

    @property
    def has_message(self) -> bool:
        """Whether a whole message has been read."""
        return len(self._received) >= _LENGTH.size and len(self._received) >= self._message_bytes()

    def read(self) -> None:
        """Read what has come; raise EOFError if the other side is gone."""
        try:
            piece = self._receive_piece()
        except ConnectionError:
            piece = b""
        if not piece:
            raise EOFError
        self._received += piece

    def _receive_piece(self) -> bytes:
        if self._connection.family != getattr(socket, "AF_UNIX", None):
            return self._connection.recv(_READ_BYTES)
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        piece, descriptors, _, _ = socket.recv_fds(self._connection, _READ_BYTES, _MAX_DESCRIPTORS, flags)
        self._descriptors += descriptors
        return piece

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()

    def _message_bytes(self) -> int:
        size: int = _LENGTH.unpack_from(self._received)[0]
        return _LENGTH.size + size
