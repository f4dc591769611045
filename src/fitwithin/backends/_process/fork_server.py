"""The fork server: a process that imports the libraries, never fits anything, and forks once a round.

A fork is cheap and starts with every import done. Because nothing was ever fitted here, a fork
inherits no OpenMP thread pool, which would deadlock. The server is a subreaper: whatever a learner
starts, in whatever session, becomes its child when the learner dies, and it kills them all. It ends
when its parent does, which it sees by the end of file on its socket, or when it has been idle.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback

import psutil

from fitwithin.backends._process.protocol import (
    MAX_CONTROL_BYTES,
    Channel,
    EndLearner,
    EndSession,
    ForkLearner,
    ImportModules,
    LearnerEnded,
    LearnerForked,
)
from fitwithin.backends._process.subprocesses import kill_descendants, remove_loky_semaphores
from fitwithin.backends._process.worker import serve

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h

_PR_SET_CHILD_SUBREAPER = 36  # from linux/prctl.h

_MAX_DESCRIPTORS = 64
"""Descriptors that a command may carry: a channel, the model files, and one for each column of the rows."""

_CLEANUP_SECONDS = 10.0
"""Seconds to go on killing what a learner started; a fork bomb may never end."""

_CLEANUP_POLL_SECONDS = 0.002
"""Seconds between two rounds of killing, so that killed processes can end."""


def main(descriptor: int, idle_seconds: float) -> None:
    """Serve the parent process until it is gone, or needs nothing for `idle_seconds`."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as control:
        ForkServer(control, idle_seconds).run()


class ForkServer:
    """The server's loop.

    Parameters
    ----------
    control : socket.socket
        Connected to the parent's `ForkServerHandle`.
    idle_seconds : float
        Seconds without a session after which the server ends itself.
    """

    def __init__(self, control: socket.socket, idle_seconds: float) -> None:
        self._control = control
        self._idle_seconds = idle_seconds
        self._in_session = False
        self._learner_pid: int | None = None
        self._learner_folder = ""
        self._learner_files: tuple[int, ...] = ()
        self._end_reported = False
        # A signal writes to this socket, so that the end of a child wakes `select`.
        self._wake, self._wake_writer = socket.socketpair()
        self._wake.setblocking(False)
        self._wake_writer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_writer.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        """Handle events until it is time to end."""
        try:
            while self._handle_event():
                pass
        finally:
            self._end_learner()

    def _handle_event(self) -> bool:
        """Wait for one event and handle it; False when it is time to end."""
        timeout = None if self._in_session else self._idle_seconds
        ready, _, _ = select.select([self._control, self._wake], [], [], timeout)
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                self._wake.recv(4096)
            self._report_end()
        if self._control in ready:
            return self._handle_command()
        return bool(ready)

    def _handle_command(self) -> bool:
        try:
            body, descriptors, _, _ = socket.recv_fds(self._control, MAX_CONTROL_BYTES, _MAX_DESCRIPTORS)
        except ConnectionError:
            body, descriptors = b"", []
        if not body:
            return False
        match pickle.loads(body):
            case ImportModules(search_path, modules):
                self._import_modules(search_path, modules)
            case ForkLearner(serial):
                self._fork(serial, *descriptors)
            case EndLearner():
                self._end_learner()
            case EndSession():
                self._in_session = False
        return True

    def _import_modules(self, search_path: list[str], modules: list[str]) -> None:
        self._in_session = True
        sys.path[:] = search_path
        for module in modules:
            # A module that fails here fails again in the learner's process, which reports it to the user.
            with contextlib.suppress(Exception):
                importlib.import_module(module)

    def _fork(self, serial: int, channel: int, *files: int) -> None:
        self._in_session = True
        self._end_reported = False
        self._learner_folder = tempfile.mkdtemp(prefix=f"fitwithin-{os.getppid()}-")
        pid = os.fork()
        if pid == 0:
            self._run_learner(channel, files)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._learner_pid = pid
        os.close(channel)
        # Freeing a large file takes long for its last owner: the server stays one, so that the parent is never the
        # last.
        self._learner_files = files
        self._send(LearnerForked(serial, pid, self._learner_folder))

    def _run_learner(self, channel_descriptor: int, files: tuple[int, ...]) -> None:
        """Turn this fork into a learner's process; never returns."""
        server_pid = os.getppid()
        try:
            os.setpgid(0, 0)
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for end in (self._control, self._wake, self._wake_writer):
                end.close()
            os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = self._learner_folder
            channel = Channel(socket.socket(fileno=channel_descriptor))
            # If the server ended before PR_SET_PDEATHSIG, no signal will come.
            if os.getppid() == server_pid:
                serve(channel, channel.receive(), files)
            _exit_now(0)
        except (EOFError, ConnectionError, KeyboardInterrupt):
            _exit_now(0)
        except SystemExit as end:
            _exit_now(end.code if isinstance(end.code, int) else 1)
        except BaseException:
            traceback.print_exc()
            _exit_now(1)

    def _report_end(self) -> None:
        if self._learner_pid is None or self._end_reported:
            return
        # Do not reap it yet: while it is a zombie, no other process can get its pid.
        end = os.waitid(os.P_PID, self._learner_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if end is not None:
            self._end_reported = True
            self._send(LearnerEnded(self._learner_pid, end.si_code == os.CLD_EXITED, end.si_status))

    def _send(self, event: LearnerForked | LearnerEnded) -> None:
        with contextlib.suppress(OSError):
            self._control.send(pickle.dumps(event))

    def _end_learner(self) -> None:
        """Kill the learner's process and everything that it started, and remove its folder."""
        if self._learner_pid is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(self._learner_pid, signal.SIGKILL)
        for file in self._learner_files:
            os.close(file)
        _kill_all_children()
        shutil.rmtree(self._learner_folder, ignore_errors=True)
        remove_loky_semaphores(self._learner_pid)
        self._learner_pid = None


def _exit_now(code: int) -> None:
    """End this fork without the interpreter's exit handlers, which belong to the server."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _kill_all_children() -> None:
    """Kill and reap until no child is left; orphans of killed children become children, and end too."""
    end = time.monotonic() + _CLEANUP_SECONDS
    while time.monotonic() < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        kill_descendants(psutil.Process())
        time.sleep(_CLEANUP_POLL_SECONDS)
