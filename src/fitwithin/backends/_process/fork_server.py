"""The fork server: a process that imports the libraries, never fits anything, and forks workers.

A fork is cheap and starts with every import done. Because nothing was ever fitted here, it inherits no OpenMP thread
pool, which would deadlock. The server is a subreaper: whatever a worker starts, in whatever session, becomes its child
when the worker dies, and it kills them all. It ends when its parent does, or when it has been idle.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Collection
from typing import Any

import psutil

from fitwithin.backends._memory_use import remove_abandoned_blocks
from fitwithin.backends._process import subprocesses
from fitwithin.backends._process.connection import Channel, ErrorReply, Request, describe_exit
from fitwithin.backends._process.worker import become_first_oom_choice, flush_output, serve

_PR_SET_PDEATHSIG = 1  # from linux/prctl.h

_PR_SET_CHILD_SUBREAPER = 36  # from linux/prctl.h

# Signals to a whole group of processes, such as Ctrl-C. The server ends after its parent, and cleans up.
_IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_CLEANUP_SECONDS = 10.0
"""Seconds to go on killing what a worker started; a fork bomb may never end."""

_CLEANUP_POLL_SECONDS = 0.002
"""Seconds between two rounds of killing, so that killed processes can end."""


def main(descriptor: int, idle_seconds: float) -> None:
    """Serve the parent process until it is gone, or needs nothing for `idle_seconds`."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for name in _IGNORED_SIGNALS:
        signal.signal(name, signal.SIG_IGN)
    ForkServer(Channel(socket.socket(fileno=descriptor)), idle_seconds).run()
    # Taking down an interpreter with all these libraries takes long on a busy machine, and none of them was used.
    _exit_now(0)


class ForkServer:
    """Carry out the commands of the parent's `ForkServerHandle`, and end after `idle_seconds` without a session."""

    def __init__(self, control: Channel, idle_seconds: float) -> None:
        self._control = control
        # The end of the parent closes the socket, unless a fork of the parent holds it open.
        self._parent_pid = os.getppid()
        self._idle_seconds = idle_seconds
        self._in_session = False
        self._workers: list[int] = []
        self._folder = ""
        self._files: list[int] = []

    def run(self) -> None:
        """Carry out commands until it is time to end."""
        try:
            self._answer(None)
            while self._handle_command():
                pass
        finally:
            self.end_session()

    def _handle_command(self) -> bool:
        """Wait for the next command and carry it out; False when it is time to end."""
        timeout = subprocesses.PROCESS_POLL_SECONDS if self._in_session else self._idle_seconds
        try:
            if not self._control.poll(timeout):
                return self._in_session and os.getppid() == self._parent_pid
            command: Request = self._control.receive()
        except EOFError:
            return False
        try:
            self._answer(getattr(self, command.method)(*command.arguments))
        except OSError as refusal:
            self._answer(ErrorReply(b"", str(refusal), ""))
        return True

    def _answer(self, value: Any) -> None:
        with contextlib.suppress(OSError):
            self._control.send(value)

    def import_modules(self, search_path: list[str], modules: list[str]) -> None:
        """Import modules that the learner needs, and stay alive until `end_session`."""
        self._in_session = True
        subprocesses.import_modules(search_path, modules)

    def fork_worker(self, n_files: int) -> tuple[int, str]:
        """Fork a worker with its channel and files, which come as descriptors; return its pid and temporary folder."""
        channel, *files = (self._control.take_descriptor() for _ in range(1 + n_files))
        self._in_session = True
        # Freeing a large file takes long for its last owner, which the parent is not while the server is one.
        self._files += files
        try:
            self._folder = self._folder or subprocesses.make_temporary_folder(self._parent_pid)
            server_pid = os.getpid()
            pid = os.fork()
            if pid == 0:
                self._run_worker(server_pid, channel, files)
        finally:
            os.close(channel)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._workers.append(pid)
        return pid, self._folder

    def _run_worker(self, server_pid: int, channel_descriptor: int, files: list[int]) -> None:
        """Turn this fork into a worker; never returns."""
        try:
            os.setpgid(0, 0)
            become_first_oom_choice()
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            for name in _IGNORED_SIGNALS:
                signal.signal(name, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._control.close()
            os.environ["TMPDIR"] = os.environ["JOBLIB_TEMP_FOLDER"] = tempfile.tempdir = self._folder
            channel = Channel(socket.socket(fileno=channel_descriptor))
            # If the server ended before PR_SET_PDEATHSIG, no signal will come.
            if os.getppid() == server_pid:
                serve(channel, channel.receive(), tuple(files))
            _exit_now(0)
        except (EOFError, ConnectionError, KeyboardInterrupt):
            _exit_now(0)
        except SystemExit as end:
            _exit_now(end.code if isinstance(end.code, int) else 1)
        except BaseException:
            traceback.print_exc()
            _exit_now(1)

    def describe_end(self, pid: int) -> str | None:
        """Describe how a worker ended; None if it has not."""
        # Do not reap it yet: while it is a zombie, no other process can get its pid.
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if end is None else describe_exit(end.si_code == os.CLD_EXITED, end.si_status)

    def end_worker(self, pid: int, blocks: frozenset[str]) -> None:
        """Kill a worker and everything that it started, and remove its blocks of shared memory; others live on."""
        if pid in self._workers:
            self._workers.remove(pid)
            subprocesses.kill_group(pid)
            _kill_children(spared=self._workers)
            subprocesses.remove_loky_semaphores(pid)
        if blocks:
            remove_abandoned_blocks(blocks)

    def end_session(self) -> None:
        """Kill the workers and everything that they started, remove their files, and end after an idle while."""
        for pid in self._workers:
            subprocesses.kill_group(pid)
        while self._files:
            os.close(self._files.pop())
        if self._workers:
            _kill_children()
        for pid in self._workers:
            subprocesses.remove_loky_semaphores(pid)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._workers, self._folder, self._in_session = [], "", False


def _exit_now(code: int) -> None:
    """End this fork without the interpreter's exit handlers, which belong to the server."""
    flush_output()
    os._exit(code)


def _kill_children(spared: Collection[int] = ()) -> None:
    """Kill and reap all children but the spared ones; orphans of killed children become children, and end too."""
    end = time.monotonic() + _CLEANUP_SECONDS
    while time.monotonic() < end:
        children = [child for child in psutil.Process().children() if child.pid not in spared]
        if not children:
            return
        for child in children:
            subprocesses.kill_descendants(child.pid)
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)
        time.sleep(_CLEANUP_POLL_SECONDS)
