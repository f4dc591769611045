"""The parent's handle on its clean helper."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket
from typing import Any

from .._budget import Budget
from ._channel import SHORTEST
from ._helper_main import MAX_MESSAGE
from ._idle import IDLE_SECONDS, IdleSlot
from ._launch import launch, search_path


class HelperGone(Exception):
    """The helper's process has ended."""


class Helper:
    """One clean helper process; see `_helper_main` for its side."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = launch("_helper_main", theirs.fileno(), idle_seconds, pass_fds=(theirs.fileno(),))
        theirs.close()
        self.pupil: int | None = None
        self._serial = 0
        self._folder = ""

    @property
    def alive(self) -> bool:
        """Whether the helper can still be asked."""
        return self._process.poll() is None and self.control.fileno() >= 0

    def close(self) -> None:
        """End the helper; it takes every descendant with it."""
        self.control.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._folder and self._process.poll() is not None:
            # It was killed, and could not clear up.
            shutil.rmtree(self._folder, ignore_errors=True)

    def prepare(self, modules: list[str]) -> None:
        """Let the helper import what a learner will need."""
        self._order("prepare", search_path(), modules)

    def fork(self, descriptors: list[int], budget: Budget) -> None:
        """Start a learner's process with these descriptors; raises TimeoutError if that takes too long."""
        # The answer to an order that a former session did not wait for may still be on its way.
        self._serial += 1
        self._order("fork", self._serial, descriptors=descriptors)
        while self.pupil is None:
            news = self.news(budget.remaining())
            if news[:2] == ("forked", self._serial):
                self.pupil, self._folder = news[2:]

    def news(self, timeout: float) -> tuple[Any, ...]:
        """The helper's next message."""
        self.control.settimeout(max(timeout, SHORTEST))
        try:
            body = self.control.recv(MAX_MESSAGE)
        except ConnectionError:
            body = b""
        if not body:
            raise HelperGone
        news: tuple[Any, ...] = pickle.loads(body)
        return news

    def kill_pupil(self) -> None:
        """Stop the learner's process group at once."""
        if self.pupil is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.pupil, signal.SIGKILL)

    def end_pupil(self) -> None:
        """Have the learner's process ended and cleared away; does not wait for it."""
        self.pupil = None
        self._order("end")

    def rest(self) -> None:
        """The session is over; the helper ends by itself if nobody needs it for a while."""
        with contextlib.suppress(HelperGone):
            self.end_pupil()
            self._order("release")

    def _order(self, *order: Any, descriptors: list[int] | None = None) -> None:
        try:
            self.control.settimeout(None)
            socket.send_fds(self.control, [pickle.dumps(order)], descriptors or [])
        except OSError as error:
            raise HelperGone from error


helpers: IdleSlot[Helper] = IdleSlot(Helper)
"""The helper of this process that waits for its next session."""
