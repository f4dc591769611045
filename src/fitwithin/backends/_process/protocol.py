"""Pickled messages over a socket, with a time-out on every wait."""

from __future__ import annotations

import os
import pickle
import selectors
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Any

from fitwithin.backends._process.shared_rows import Layout, Place
from fitwithin.backends._process.subprocesses import WAITING

_LENGTH = struct.Struct("!Q")


_CHUNK = 1 << 20


# A time-out of zero would mean "do not wait", which fails in another way than a wait that was too long.
SHORTEST = 0.001


def readable(files: list[int], timeout: float | None) -> set[int]:
    """Which of these descriptors have something to read; waits for the first, at most so many seconds."""
    # Unlike `select`, this takes descriptors of any number.
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return {key.fd for key, _ in selector.select(timeout)}


class Channel:
    """Whole messages in, whole messages out, even if they come in pieces.

    Parameters
    ----------
    end : socket.socket
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

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._received = bytearray()

    def fileno(self) -> int:
        """For `select`."""
        return self._end.fileno()

    def send(self, message: Any, timeout: float | None = None) -> None:
        """Send a message.

        Raises
        ------
        TimeoutError
            If the other side does not take it in time.
        OSError
            If the other side is gone.
        """
        body = pickle.dumps(message, protocol=5)
        self._end.settimeout(None if timeout is None else max(timeout, SHORTEST))
        self._end.sendall(_LENGTH.pack(len(body)))
        self._end.sendall(body)

    def receive(self, timeout: float | None = None) -> Any:
        """The next message.

        Raises
        ------
        TimeoutError
            If it is not there whole after `timeout` seconds of silence.
        EOFError
            If the other side is gone.
        """
        while not self.complete:
            self.await_more(timeout)
        size = self._size()
        body = bytes(self._received[_LENGTH.size : size])
        del self._received[:size]
        return pickle.loads(body)

    def await_more(self, timeout: float | None) -> None:
        """Wait for a piece of a message, and take it in."""
        if not readable([self.fileno()], timeout):
            raise TimeoutError
        self.read()

    @property
    def complete(self) -> bool:
        """Whether a whole message has been read."""
        return len(self._received) >= _LENGTH.size and len(self._received) >= self._size()

    def read(self) -> None:
        """Take in what has come; raises EOFError if the other side is gone."""
        try:
            piece = self._end.recv(_CHUNK)
        except ConnectionError:
            piece = b""
        if not piece:
            raise EOFError
        self._received += piece

    def close(self) -> None:
        """Hang up."""
        self._end.close()

    def _size(self) -> int:
        size: int = _LENGTH.unpack_from(self._received)[0]
        return _LENGTH.size + size


_OWN_VARIABLES = ("JOBLIB_TEMP_FOLDER", "TMPDIR", *WAITING)


@dataclass(frozen=True, eq=False)
class Introduction:
    """The first message to a learner's process.

    Parameters
    ----------
    pupil : bytes
        The unfitted learner, how it is graded, the options of its `fit`, the classes and how it is stopped, pickled.
    layout : Layout
        What its rows look like.
    path, folder, environment : list of str, str, dict
        Where the parent looks for modules, where it is, and its environment: the helper may have
        been started before any of them changed.
    filters : bytes
        The user's warning filters, pickled.
    seed : int or None
        For learners that draw on the global random state.
    """

    pupil: bytes
    layout: Layout
    path: list[str]
    folder: str
    environment: dict[str, str]
    filters: bytes
    seed: int | None

    def settle_in(self) -> None:
        """Make this process resemble the parent."""
        sys.path[:] = self.path
        os.chdir(self.folder)
        own = {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}
        os.environ.clear()
        os.environ.update(self.environment | own)


@dataclass(frozen=True)
class Fit:
    """Train a fresh copy of the learner, or go on by batches; answered by its warnings and the seconds left undone."""

    place: Place
    batch: int | None = None
    within: float | None = None


@dataclass(frozen=True)
class Classify:
    """Classify rows; answered by the mistakes as packed bits, and the margins if they are asked for."""

    place: Place
    margins: bool = False


@dataclass(frozen=True, eq=False)
class Score:
    """Score the exams of this round; answered by two estimates, overall and over the fresh rows (packed bits)."""

    rows: int
    fresh: bytes


@dataclass(frozen=True)
class Store:
    """Write the model to one of the two shared files; answered by the seconds that pickling took."""

    slot: int


@dataclass(frozen=True, eq=False)
class Done:
    """A request was carried out, in so many seconds of the learner's own work."""

    value: Any
    seconds: float


@dataclass(frozen=True, eq=False)
class Raised:
    """A request ended in an exception."""

    error: bytes
    text: str
    traceback: str


@dataclass(frozen=True, eq=False)
class Arrival:
    """A session begins a round: its introduction, and its files by name."""

    introduction: Introduction
    paths: list[str]


@dataclass(frozen=True)
class Rest:
    """The session is over."""
