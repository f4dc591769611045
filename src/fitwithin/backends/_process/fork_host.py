"""Learners' processes that are forks of a clean helper."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._process.fork_server import MAX_MESSAGE
from fitwithin.backends._process.protocol import SHORTEST, Channel, Introduction, readable
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.subprocesses import (
    IDLE_SECONDS,
    LAST_WORDS_SECONDS,
    IdleSlot,
    describe_ending,
    launch,
    search_path,
)


def _check_time(budget: Budget) -> None:
    """A wait is over; the deadline goes by the budget's clock, which may have stood still meanwhile."""
    if budget.spent:
        raise TimeoutError


class ForkedHost:
    """Forks one learner's process a round; files go there by descriptor."""

    folder: str | None = None

    def __init__(self) -> None:
        self._helper = helpers.take()
        self._modules: list[str] = []
        self._channel: Channel | None = None

    def prepare(self, modules: list[str]) -> None:
        """Have the modules imported once, for all rounds."""
        self._modules = modules
        # If the helper is gone, the first lesson starts another.
        with contextlib.suppress(HelperGone):
            self._helper.prepare(modules)

    def start(self, introduction: Introduction, files: list[SharedFile], budget: Budget) -> None:
        """Fork, and introduce the session."""
        self._hang_up()
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        descriptors = [theirs.fileno(), *(file.fd for file in files)]
        try:
            self._fork(descriptors, budget)
        except HelperGone:
            # It had waited too long for work just when this came.
            self._replace_helper()
            self._fork_or_give_up(descriptors, budget)
        finally:
            theirs.close()
        self._channel.send(introduction, budget.remaining())

    def _fork(self, descriptors: list[int], budget: Budget) -> None:
        self._helper.end_pupil()
        self._helper.fork(descriptors, budget)

    def _fork_or_give_up(self, descriptors: list[int], budget: Budget) -> None:
        try:
            self._fork(descriptors, budget)
        except HelperGone:
            raise LearnerDied("no process could be started for it") from None

    def _replace_helper(self) -> None:
        self._helper.close()
        self._helper = Helper()
        self._helper.prepare(self._modules)

    def ask(self, request: object, budget: Budget) -> Any:
        """The learner's reply; raises TimeoutError, or LearnerDied."""
        assert self._channel is not None
        # If the process is gone already, waiting for its reply tells how it ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._channel.send(request, budget.remaining())
        while not self._channel.complete:
            ready = readable([self._channel.fileno(), self._helper.control.fileno()], budget.remaining())
            if not ready:
                _check_time(budget)
            elif self._channel.fileno() in ready:
                self._read(budget)
            elif (end := self._how_it_ended(0.0)) is not None:
                raise LearnerDied(end)
        return self._channel.receive()

    def stop(self) -> None:
        """Kill the process group; what escaped it is ended when the session closes."""
        self._hang_up()
        self._helper.kill_pupil()

    def close(self) -> None:
        """Give the helper back for the next session; it clears away what is left of this one."""
        self.stop()
        self._helper.rest()
        helpers.give_back(self._helper)

    def _hang_up(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _read(self, budget: Budget) -> None:
        assert self._channel is not None
        try:
            self._channel.read()
        except EOFError:
            end = self._how_it_ended(min(LAST_WORDS_SECONDS, budget.remaining()))
            raise LearnerDied(end or "it hung up without a word") from None

    def _how_it_ended(self, patience: float) -> str | None:
        """How the learner's process ended; None if there is no news of that."""
        try:
            while True:
                kind, pid, *end = self._helper.news(patience)
                if kind == "ended" and pid == self._helper.pupil:
                    return describe_ending(*end)
        except TimeoutError:
            return None
        except HelperGone:
            return "its helper process ended"


class HelperGone(Exception):
    """The helper's process has ended."""


class Helper:
    """One clean helper process; see `fork_server` for its side."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = launch("fork_server", theirs.fileno(), idle_seconds, pass_fds=(theirs.fileno(),))
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
