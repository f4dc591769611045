"""The clean helper: a process that imports the libraries, never fits anything, and forks once a round.

A fork is cheap and starts with every import done; because nothing was ever fitted here, no thread of
OpenMP's is lost in it. The helper is a subreaper, so that whatever a learner starts, in whatever
session, is handed to it when the learner dies, and it ends them all. It ends itself when its parent
does, which it sees by the end of file on its socket, or when it had nothing to do for a while.
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
from typing import Any

import psutil

from fitwithin.backends._process.protocol import Channel
from fitwithin.backends._process.subprocesses import kill_descendants, remove_semaphores
from fitwithin.backends._process.worker import serve

MAX_MESSAGE = 1 << 20


_PR_SET_PDEATHSIG = 1


_PR_SET_CHILD_SUBREAPER = 36


def main(descriptor: int, idle_seconds: float) -> None:
    """Serve one parent process until it is gone, or needs nothing for a while."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as control:
        _Helper(control, idle_seconds).run()


class _Helper:
    def __init__(self, control: socket.socket, idle_seconds: float) -> None:
        self._control = control
        self._idle_seconds = idle_seconds
        self._held = False
        self._pupil: int | None = None
        self._told = False
        self._folder = ""
        self._files: tuple[int, ...] = ()
        self._wake, wake_writer = socket.socketpair()
        self._wake.setblocking(False)
        wake_writer.setblocking(False)
        self._wake_writer = wake_writer
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_writer.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        try:
            while self._attend():
                pass
        finally:
            self._end_pupil()

    def _attend(self) -> bool:
        """Wait for one event; False when it is time to go."""
        idle = None if self._held else self._idle_seconds
        ready, _, _ = select.select([self._control, self._wake], [], [], idle)
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                self._wake.recv(4096)
            self._tell_if_ended()
        if self._control in ready:
            return self._obey()
        return bool(ready)

    def _obey(self) -> bool:
        try:
            body, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE, 64)
        except ConnectionError:
            body, descriptors = b"", []
        if not body:
            return False
        order, *details = pickle.loads(body)
        match order:
            case "prepare":
                self._prepare(*details)
            case "fork":
                self._fork(*details, *descriptors)
            case "end":
                self._end_pupil()
            case "release":
                self._held = False
        return True

    def _prepare(self, path: list[str], modules: list[str]) -> None:
        self._held = True
        sys.path[:] = path
        for module in modules:
            # A module that cannot be imported here fails again in the learner's process, where the
            # user is told.
            with contextlib.suppress(Exception):
                importlib.import_module(module)

    def _fork(self, serial: int, *descriptors: int) -> None:
        self._held = True
        self._told = False
        self._folder = tempfile.mkdtemp(prefix=f"fitwithin-{os.getppid()}-")
        pid = os.fork()
        if pid == 0:
            self._become_pupil(*descriptors)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._pupil = pid
        os.close(descriptors[0])
        # The last owner of a large file takes long to let go of it: that is us, and not the parent,
        # who may have no time left.
        self._files = descriptors[1:]
        self._tell("forked", serial, pid, self._folder)

    def _become_pupil(self, channel: int, *files: int) -> None:
        helper = os.getppid()
        try:
            os.setpgid(0, 0)
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for end in (self._control, self._wake, self._wake_writer):
                end.close()
            os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = self._folder
            line = Channel(socket.socket(fileno=channel))
            if os.getppid() == helper:
                serve(line, line.receive(), files)
            _leave(0)
        except (EOFError, ConnectionError, KeyboardInterrupt):
            _leave(0)
        except SystemExit as end:
            _leave(end.code if isinstance(end.code, int) else 1)
        except BaseException:
            traceback.print_exc()
            _leave(1)

    def _tell_if_ended(self) -> None:
        if self._pupil is None or self._told:
            return
        # Only a look: while the zombie is there, its number belongs to nobody else.
        end = os.waitid(os.P_PID, self._pupil, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if end is not None:
            self._told = True
            self._tell("ended", self._pupil, end.si_code == os.CLD_EXITED, end.si_status)

    def _tell(self, *news: Any) -> None:
        with contextlib.suppress(OSError):
            self._control.send(pickle.dumps(news))

    def _end_pupil(self) -> None:
        """Kill the learner's process and everything that ever came of it; leave nothing in its folder."""
        if self._pupil is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(self._pupil, signal.SIGKILL)
        for file in self._files:
            os.close(file)
        _end_all_children(patience=10.0)
        shutil.rmtree(self._folder, ignore_errors=True)
        remove_semaphores(self._pupil)
        self._pupil = None


def _leave(code: int) -> None:
    """End this process without the interpreter's farewell, which belongs to the helper."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _end_all_children(patience: float) -> None:
    """Kill and reap until no child is left; orphans of the killed ones come to us and go the same way."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        kill_descendants(psutil.Process())
        time.sleep(0.002)
