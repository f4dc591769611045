"""A local port lets nobody in but the worker that knows the secret."""

import os
import pickle
import socket
import threading
import time

import pytest

from fitwithin.backends._process import local_port
from fitwithin.backends._process.local_port import LocalPort, Secret, connect_to_port


class Trap:
    """Fails the test's process when it is unpickled."""

    def __reduce__(self):
        return os._exit, (99,)


@pytest.fixture
def port():
    opened = LocalPort(Secret.generate())
    yield opened
    opened.close()


def call(port, message=b""):
    stranger = socket.create_connection(("127.0.0.1", port.number))
    stranger.sendall(message)
    return stranger


def connect_in_thread(port, secret):
    connected = []
    thread = threading.Thread(target=lambda: connected.append(connect_to_port(port.number, secret)))
    thread.start()
    return thread, connected


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"x",
        b"x" * 32,
        b"x" * 100_000,
        pickle.dumps(Trap()),
        len(pickle.dumps(Trap())).to_bytes(8, "big") + pickle.dumps(Trap()),
    ],
    ids=["silence", "one byte", "wrong password", "flood", "pickle", "message"],
)
def test_a_stranger_gets_nowhere_and_the_worker_behind_it_gets_in(port, message):
    stranger = call(port, message)
    with pytest.raises(TimeoutError):
        port.accept(timeout=0.05)
    thread, connected = connect_in_thread(port, port.secret)

    with port.accept(timeout=10) as connection:
        thread.join()
        connection.sendall(b"to the worker")
        assert connected[0].recv(100) == b"to the worker"
    for end in (stranger, *connected):
        end.close()


def test_a_silent_stranger_is_dropped_after_a_while(port, monkeypatch):
    monkeypatch.setattr(local_port, "PASSWORD_SECONDS", 0.02)
    with call(port) as stranger:
        with pytest.raises(TimeoutError):
            port.accept(timeout=0.1)
        stranger.settimeout(5)
        assert stranger.recv(1) == b""


def test_the_time_limit_holds_while_strangers_talk(port):
    strangers = [call(port, b"x" * (n % 40)) for n in range(100)]
    start = time.monotonic()

    with pytest.raises(TimeoutError):
        port.accept(timeout=0.3)

    assert time.monotonic() - start < 2
    for stranger in strangers:
        stranger.close()


def test_a_worker_trusts_no_other_process_at_its_parents_port(port):
    thief = LocalPort(Secret(port.secret.worker, b"y" * 32))
    errors = []

    def connect():
        try:
            connect_to_port(thief.number, port.secret)
        except ConnectionError as error:
            errors.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    thief.accept(timeout=10).close()
    thread.join()
    thief.close()

    assert "does not know the secret" in str(errors[0])


def test_a_secret_survives_the_way_as_bytes_and_shows_nothing():
    secret = Secret.generate()

    assert Secret.from_bytes(secret.to_bytes()) == secret
    assert repr(secret) == "Secret()"
    with pytest.raises(ValueError, match="secret of 3 bytes"):
        Secret.from_bytes(b"abc")
