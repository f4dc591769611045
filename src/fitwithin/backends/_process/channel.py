"""Whole messages over a socket, with time-outs and the descriptors of files."""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
from collections.abc import Sequence
from typing import Any

MIN_TIMEOUT_SECONDS = 0.001
"""Shortest time-out of a socket: zero would mean "do not wait", which raises BlockingIOError and not TimeoutError."""

MAX_DESCRIPTORS = 253
"""Descriptors that one message can carry: the kernel's limit."""

_LENGTH = struct.Struct("!Q")

_READ_BYTES = 1 << 20
"""Bytes that a channel reads at a time."""

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

    Descriptors of files can travel with a message.

    Parameters
    ----------
    connection : socket.socket
        A connected stream socket of the Unix family; the channel owns it.

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
        """Read for at most `seconds`; return whether a whole message has been read, or raise EOFError."""
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
        flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        piece, descriptors, _, _ = socket.recv_fds(self._connection, _READ_BYTES, MAX_DESCRIPTORS, flags)
        self._descriptors += descriptors
        return piece

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()

    def _message_bytes(self) -> int:
        size: int = _LENGTH.unpack_from(self._received)[0]
        return _LENGTH.size + size
