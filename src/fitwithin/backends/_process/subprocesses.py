"""A new interpreter that runs a part of this package."""

from __future__ import annotations

import atexit
import contextlib
import glob
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import psutil

WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""How threads of OpenMP wait: those that spin for long cost seconds beside other busy processes, those that sleep at
once are several times slower on idle cores. See benchmarks/openmp.py."""


def search_path() -> list[str]:
    """Where this process looks for modules."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def launch(module: str, *arguments: object, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package in a new interpreter, with a pipe to its standard input."""
    program = (
        f"import sys; sys.path[:] = {search_path()!r}; from {__package__}.{module} import main; main(*{arguments!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        pass_fds=pass_fds,
        start_new_session=True,
        env=dict(os.environ) if "OMP_WAIT_POLICY" in os.environ else {**WAITING, **os.environ},
    )
    # Nobody calls us when an idle process ends by itself, and without a wait it would stay as a zombie.
    threading.Thread(target=process.wait, name="fitwithin-reaper", daemon=True).start()
    return process


IDLE_SECONDS = 30.0
"""How long an idle process waits for work before it ends itself."""


class Closable(Protocol):
    """A handle on a process."""

    @property
    def alive(self) -> bool:
        """Whether the process can still be used."""
        ...

    def close(self) -> None:
        """End the process."""
        ...


H = TypeVar("H", bound=Closable)


class IdleSlot(Generic[H]):
    """Room for one idle handle; a further one is closed.

    Parameters
    ----------
    start : callable
        Makes a new handle.
    """

    def __init__(self, start: Callable[[], H]) -> None:
        self._start = start
        self._handle: H | None = None
        self._lock = threading.Lock()
        atexit.register(self.clear)
        if hasattr(os, "register_at_fork"):
            # A fork of this process must not talk to its parent's helper.
            os.register_at_fork(after_in_child=self._forget)

    def take(self) -> H:
        """The idle handle, or a new one."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            if handle.alive:
                return handle
            handle.close()
        return self._start()

    def give_back(self, handle: H) -> None:
        """Keep the handle for the next `take`, if the place is free."""
        with self._lock:
            if self._handle is None and handle.alive:
                self._handle = handle
                return
        handle.close()

    def clear(self) -> None:
        """Close the idle handle."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def _forget(self) -> None:
        self._handle = None
        self._lock = threading.Lock()


LAST_WORDS_SECONDS = 1.0
"""How long to wait for the news of how a process ended."""


def describe_ending(exited: bool, status: int) -> str:
    """How a process ended, for a person.

    Parameters
    ----------
    exited : bool
        Whether it ended itself; otherwise a signal did.
    status : int
        Its exit code, or the signal's number.

    Examples
    --------
    >>> describe_ending(False, 11)
    'it was killed by SIGSEGV'
    """
    if exited:
        return f"it ended itself with exit code {status}"
    hint = "; the system kills so when memory runs out" if status == signal.SIGKILL else ""
    return f"it was killed by {signal.Signals(status).name}{hint}"


def kill_descendants(process: psutil.Process) -> None:
    """Kill everything that a process started, in whatever session, but not the process itself."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def remove_semaphores(pid: int) -> None:
    """Remove the named semaphores that loky, killed, left behind; their names hold its process number."""
    for semaphore in glob.glob(f"/dev/shm/sem.loky-{pid}-*"):
        with contextlib.suppress(OSError):
            os.unlink(semaphore)
