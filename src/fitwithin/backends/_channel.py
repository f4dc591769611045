"""Pickled messages over a socket, with a time-out on every wait."""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
from typing import Any

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
