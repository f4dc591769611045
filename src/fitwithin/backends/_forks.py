"""Learners' processes that are forks of a clean helper."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from .._budget import Budget
from .._exceptions import LearnerDied
from ._channel import Channel, readable
from ._endings import LAST_WORDS_SECONDS, describe_ending
from ._files import SharedFile
from ._helper import Helper, HelperGone, helpers
from ._serve import Introduction


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
