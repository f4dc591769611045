"""Run learners in forks of a clean process, the fork server; for Linux."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import socket

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends._process.protocol import (
    MAX_CONTROL_BYTES,
    MIN_TIMEOUT_SECONDS,
    Channel,
    EndLearner,
    EndSession,
    ErrorReply,
    ForkLearner,
    ImportModules,
    LearnerEnded,
    LearnerForked,
    Reply,
    Request,
    WorkerSetup,
    wait_readable,
)
from fitwithin.backends._process.shared_memory import SharedFile
from fitwithin.backends._process.subprocesses import (
    EXIT_STATUS_SECONDS,
    IDLE_SECONDS,
    ProcessCache,
    describe_exit,
    module_search_path,
    start_interpreter,
)


class ForkHost:
    """Fork one learner's process a round; files go there by descriptor."""

    folder: str | None = None

    def __init__(self) -> None:
        self._server = fork_servers.take()
        self._modules: list[str] = []
        self._channel: Channel | None = None

    def import_modules(self, modules: list[str]) -> None:
        """Have the fork server import modules once, for all rounds."""
        self._modules = modules
        # If the server is gone, the first round starts another.
        with contextlib.suppress(ForkServerGone):
            self._server.import_modules(modules)

    def start_round(self, setup: WorkerSetup, files: list[SharedFile], budget: Budget) -> None:
        """Fork a learner's process, and send it the setup."""
        self._close_channel()
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        descriptors = [theirs.fileno(), *(file.fd for file in files)]
        try:
            self._fork(descriptors, budget)
        except ForkServerGone:
            # It ended because it had been idle for too long, just before this request.
            self._replace_server()
            self._fork_or_give_up(descriptors, budget)
        finally:
            theirs.close()
        self._channel.send(setup, budget.remaining())

    def _fork(self, descriptors: list[int], budget: Budget) -> None:
        self._server.end_learner()
        self._server.fork(descriptors, budget)

    def _fork_or_give_up(self, descriptors: list[int], budget: Budget) -> None:
        try:
            self._fork(descriptors, budget)
        except ForkServerGone:
            raise LearnerDied("no process could be started for it") from None

    def _replace_server(self) -> None:
        self._server.close()
        self._server = ForkServerHandle()
        self._server.import_modules(self._modules)

    def request(self, request: Request, budget: Budget) -> Reply | ErrorReply:
        """Send a request and return the reply; raise TimeoutError, or LearnerDied."""
        channel = self._channel
        if channel is None:
            raise RuntimeError("start_round() must be called before request().")
        # If the process is gone already, waiting for its reply tells how it ended.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            channel.send(request, budget.remaining())
        while not channel.has_message:
            ready = wait_readable([channel.fileno(), self._server.control.fileno()], budget.remaining())
            if not ready:
                # The deadline goes by the budget's clock, which a study pauses.
                budget.raise_if_spent()
            elif channel.fileno() in ready:
                self._read(channel, budget)
            elif (description := self._describe_end(0.0)) is not None:
                raise LearnerDied(description)
        reply: Reply | ErrorReply = channel.receive()
        return reply

    def stop(self) -> None:
        """Kill the learner's process group; processes that left the group end when the session closes."""
        self._close_channel()
        self._server.kill_learner()

    def close(self) -> None:
        """Keep the fork server for the next session; it cleans up after this one."""
        self.stop()
        self._server.end_session()
        fork_servers.give_back(self._server)

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _read(self, channel: Channel, budget: Budget) -> None:
        try:
            channel.read()
        except EOFError:
            description = self._describe_end(min(EXIT_STATUS_SECONDS, budget.remaining()))
            raise LearnerDied(description or "it closed its connection and gave no reason") from None

    def _describe_end(self, timeout: float) -> str | None:
        """Describe how the learner's process ended; None if the server does not report its end in time."""
        try:
            while True:
                event = self._server.receive_event(timeout)
                if isinstance(event, LearnerEnded) and event.pid == self._server.learner_pid:
                    return describe_exit(event.exited, event.status)
        except TimeoutError:
            return None
        except ForkServerGone:
            return "the process that started it has ended"


class ForkServerGone(Exception):
    """The fork server's process has ended."""


class ForkServerHandle:
    """The parent's handle on one fork server; see `fork_server` for the server itself.

    Parameters
    ----------
    idle_seconds : float
        Seconds without a session after which the server ends itself.

    Attributes
    ----------
    control : socket.socket
        Carries commands to the server and its events.
    learner_pid : int or None
        Process that the server forked last; None if there is none.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = start_interpreter("fork_server", theirs.fileno(), idle_seconds, pass_fds=(theirs.fileno(),))
        theirs.close()
        self.learner_pid: int | None = None
        self._serial = 0
        self._learner_folder = ""

    @property
    def alive(self) -> bool:
        """Whether the server can still be used."""
        return self._process.poll() is None and self.control.fileno() >= 0

    def close(self) -> None:
        """End the server; it takes every descendant with it."""
        self.control.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._learner_folder and self._process.poll() is not None:
            # It was killed, and could not clean up.
            shutil.rmtree(self._learner_folder, ignore_errors=True)

    def import_modules(self, modules: list[str]) -> None:
        """Have the server import modules."""
        self._send(ImportModules(module_search_path(), modules))

    def fork(self, descriptors: list[int], budget: Budget) -> None:
        """Start a learner's process with these descriptors; raise TimeoutError if that takes too long."""
        # The answer to a command that an earlier session did not wait for may still come.
        self._serial += 1
        self._send(ForkLearner(self._serial), descriptors)
        while self.learner_pid is None:
            event = self.receive_event(budget.remaining())
            if isinstance(event, LearnerForked) and event.serial == self._serial:
                self.learner_pid, self._learner_folder = event.pid, event.folder

    def receive_event(self, timeout: float) -> LearnerForked | LearnerEnded:
        """Return the server's next message; raise TimeoutError, or ForkServerGone."""
        self.control.settimeout(max(timeout, MIN_TIMEOUT_SECONDS))
        try:
            body = self.control.recv(MAX_CONTROL_BYTES)
        except ConnectionError:
            body = b""
        if not body:
            raise ForkServerGone
        event: LearnerForked | LearnerEnded = pickle.loads(body)
        return event

    def kill_learner(self) -> None:
        """Kill the learner's process group at once."""
        if self.learner_pid is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.learner_pid, signal.SIGKILL)

    def end_learner(self) -> None:
        """Have the server end the learner's process and clean up; do not wait for it."""
        self.learner_pid = None
        self._send(EndLearner())

    def end_session(self) -> None:
        """Tell the server that the session is over; it ends itself when it has been idle for a while."""
        with contextlib.suppress(ForkServerGone):
            self.end_learner()
            self._send(EndSession())

    def _send(
        self, command: ImportModules | ForkLearner | EndLearner | EndSession, descriptors: list[int] | None = None
    ) -> None:
        try:
            self.control.settimeout(None)
            socket.send_fds(self.control, [pickle.dumps(command)], descriptors or [])
        except OSError as error:
            raise ForkServerGone from error


fork_servers: ProcessCache[ForkServerHandle] = ProcessCache(ForkServerHandle)
"""The idle fork server of this process."""
