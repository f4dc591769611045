"""Connect two processes over a local port; for systems on which a child cannot inherit a socket.

Any user of the machine can connect to a local port, so both sides prove that they know a secret
before either of them unpickles anything. The secret reaches the worker over its standard input: an
argument or a variable could be read by others. A stranger can send a few bytes and no more, and one
that says nothing does not keep the worker waiting.
"""

from __future__ import annotations

import hmac
import secrets
import selectors
import socket
import time
from dataclasses import dataclass, field

PASSWORD_SECONDS = 10.0
"""Seconds that a peer has for its password; a worker sends it at once, on a busy machine within a second."""

_PASSWORD_BYTES = 32
"""Bytes of a password: 256 bits cannot be guessed."""

_MAX_PEERS = 64
"""Connections that may wait for their password; the oldest gives way."""


@dataclass(frozen=True)
class Secret:
    """What only the parent and its worker know: one password for each direction.

    Parameters
    ----------
    worker, parent : bytes
        What the worker sends, and what the parent answers.
    """

    worker: bytes = field(repr=False)
    parent: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> Secret:
        """Return a new secret."""
        return cls(secrets.token_bytes(_PASSWORD_BYTES), secrets.token_bytes(_PASSWORD_BYTES))

    @classmethod
    def from_bytes(cls, body: bytes) -> Secret:
        """Return the secret of these bytes; raise ValueError if their number is wrong."""
        if len(body) != SECRET_BYTES:
            raise ValueError(f"Got a secret of {len(body)} bytes; expected {SECRET_BYTES}.")
        return cls(body[:_PASSWORD_BYTES], body[_PASSWORD_BYTES:])

    def to_bytes(self) -> bytes:
        """Return the secret as bytes."""
        return self.worker + self.parent


SECRET_BYTES = 2 * _PASSWORD_BYTES
"""Bytes of a secret."""


@dataclass(eq=False)
class _Peer:
    """A connection that has not proved anything yet."""

    connection: socket.socket
    expires: float
    received: bytes = b""


class LocalPort:
    """The parent's side: a port that only one worker gets through.

    Parameters
    ----------
    secret : Secret
        What the worker knows.

    Attributes
    ----------
    number : int
        The port.

    Examples
    --------
    >>> from threading import Thread
    >>> def work(number, secret):
    ...     with connect_to_port(number, secret) as connection:
    ...         connection.sendall(b"hello")
    >>> port = LocalPort(Secret.generate())
    >>> worker = Thread(target=work, args=(port.number, port.secret))
    >>> worker.start()
    >>> with port.accept(timeout=10) as connection:
    ...     connection.recv(5)
    b'hello'
    >>> port.close()
    >>> worker.join()
    """

    def __init__(self, secret: Secret) -> None:
        self.secret = secret
        self._listener = _listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: list[_Peer] = []
        self.number: int = self._listener.getsockname()[1]

    def accept(self, timeout: float) -> socket.socket:
        """Return the connection of the first peer that knows the secret; raise TimeoutError if none comes."""
        end = time.monotonic() + timeout
        while True:
            for key, _ in self._selector.select(max(0.0, min(end, *self._expiries()) - time.monotonic())):
                if key.data is None:
                    self._welcome()
                elif self._is_proven(key.data):
                    self._forget(key.data)
                    return self._answer(key.data.connection)
            now = time.monotonic()
            for peer in [peer for peer in self._peers if peer.expires <= now]:
                self._drop(peer)
            if now >= end:
                raise TimeoutError

    def close(self) -> None:
        """Close the port and every connection that proved nothing."""
        for peer in list(self._peers):
            self._drop(peer)
        self._selector.close()
        self._listener.close()

    def _expiries(self) -> list[float]:
        return [peer.expires for peer in self._peers] or [float("inf")]

    def _welcome(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # It is gone again.
        if len(self._peers) == _MAX_PEERS:
            self._drop(self._peers[0])
        connection.setblocking(False)
        peer = _Peer(connection, time.monotonic() + PASSWORD_SECONDS)
        self._peers.append(peer)
        self._selector.register(connection, selectors.EVENT_READ, peer)

    def _is_proven(self, peer: _Peer) -> bool:
        """Read what has come; drop the peer if it is gone or if its password is wrong."""
        try:
            piece = peer.connection.recv(_PASSWORD_BYTES - len(peer.received))
        except BlockingIOError:
            return False
        except OSError:
            piece = b""
        peer.received += piece
        if piece and len(peer.received) < _PASSWORD_BYTES:
            return False
        if hmac.compare_digest(peer.received, self.secret.worker):
            return True
        self._drop(peer)
        return False

    def _answer(self, connection: socket.socket) -> socket.socket:
        connection.setblocking(True)
        connection.sendall(self.secret.parent)
        return connection

    def _forget(self, peer: _Peer) -> None:
        self._selector.unregister(peer.connection)
        self._peers.remove(peer)

    def _drop(self, peer: _Peer) -> None:
        self._forget(peer)
        peer.connection.close()


def connect_to_port(number: int, secret: Secret) -> socket.socket:
    """Return the worker's connection to its parent's port.

    It waits for the parent's answer as long as that takes: the parent may be busy with other things
    before it needs the worker. A worker whose parent has ended is ended by its `ParentWatch`.

    Raises
    ------
    ConnectionError
        If the process at the port does not know the secret: the parent is gone, and another process
        has taken its port.
    """
    connection = socket.create_connection(("127.0.0.1", number))
    try:
        connection.sendall(secret.worker)
        answer = b""
        while len(answer) < _PASSWORD_BYTES and (piece := connection.recv(_PASSWORD_BYTES - len(answer))):
            answer += piece
        if not hmac.compare_digest(answer, secret.parent):
            raise ConnectionError(f"The process at port {number} does not know the secret.")
    except BaseException:
        connection.close()
        raise
    return connection


def _listen() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
        # Windows would let another process listen at the same port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.setblocking(False)
    return listener
