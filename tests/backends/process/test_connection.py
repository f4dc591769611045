"""A channel carries whole messages, even if they come in pieces, and every wait has a time-out."""

import socket
import threading

import pytest

from fitwithin.backends._process.connection import Channel


@pytest.fixture
def ends():
    pair = socket.socketpair()
    yield pair
    for end in pair:
        end.close()


def test_messages_arrive_in_order_and_whole(ends):
    here, there = map(Channel, ends)
    large = b"x" * 3_000_000
    sender = threading.Thread(target=lambda: [here.send(message) for message in ("a", large, {"b": 1})])
    sender.start()

    received = [there.receive(timeout=10) for _ in range(3)]

    sender.join()
    assert received == ["a", large, {"b": 1}]


def test_half_a_message_times_out(ends):
    there = Channel(ends[1])
    ends[0].sendall(b"\0\0\0\0\0\0\0\x20half")

    with pytest.raises(TimeoutError):
        there.receive(timeout=0.01)
    assert not there.has_message


def test_a_message_that_is_not_received_times_out(ends):
    with pytest.raises(TimeoutError):
        Channel(ends[0]).send(b"x" * 50_000_000, timeout=0.01)


def test_a_closed_channel_raises_eof_error_on_the_other_side(ends):
    here, there = map(Channel, ends)
    here.close()

    with pytest.raises(EOFError):
        there.receive(timeout=1)
