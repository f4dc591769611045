"""The persistent worker: trains and examines in its own process, one session after another."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass

import psutil

from ._channel import Channel
from ._endings import kill_descendants
from ._serve import Introduction, serve


@dataclass(frozen=True, eq=False)
class Arrival:
    """A session begins a round: its introduction, and its files by name."""

    introduction: Introduction
    paths: list[str]


@dataclass(frozen=True)
class Rest:
    """The session is over."""


def main(port: int, token: bytes, idle_seconds: float) -> None:
    """Serve the process that listens on this port of this machine and knows the token."""
    channel = Channel(socket.create_connection(("127.0.0.1", port)))
    channel.send(token)
    work = _Work()
    threading.Thread(target=work.end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        message = channel.receive()
        while True:
            message = work.round(channel, message) if isinstance(message, Arrival) else channel.receive(idle_seconds)


class _Work:
    def __init__(self) -> None:
        self._folder: str | None = None

    def round(self, channel: Channel, arrival: Arrival) -> object:
        """Serve one round; the message after its last request."""
        self._folder = os.path.dirname(arrival.paths[0])
        os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = self._folder
        files = tuple(os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0)) for path in arrival.paths)
        try:
            return serve(channel, arrival.introduction, files)
        finally:
            for file in files:
                os.close(file)

    def end_with_parent(self) -> None:
        """Wait for the end of standard input, which is the end of the parent; leave nothing behind."""
        sys.stdin.buffer.read()
        kill_descendants(psutil.Process())
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)
