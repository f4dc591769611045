"""Start interpreters that run a part of this package, keep idle ones for later, and clean up after them."""

from __future__ import annotations

import atexit
import contextlib
import glob
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import psutil

from fitwithin._core.exceptions import NoTemporaryFolder

OPENMP_VARIABLES = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
"""How OpenMP threads wait. Long spins cost seconds beside other busy processes; no spins at all are several times
slower on idle cores. Set by benchmarks/openmp.py."""

MARK_VARIABLE = "FITWITHIN_MARK"
"""Environment variable with a random text that tells descendants of one process from all others."""

IDLE_SECONDS = 30.0
"""Seconds that an idle process waits for the next session before it ends itself."""

_INTERPRETER_FLAGS = {
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "safe_path": "-P",
    "dont_write_bytecode": "-B",
}
"""Attributes of `sys.flags`, and the options that set them; `-I` sets the first, the second and the fourth."""

_FIRST_OOM_CHOICE = "1000"
"""Largest adjustment of the kernel. Less would not do: a program that holds much data has a high score of its own."""

PROCESS_POLL_SECONDS = 1.0
"""Seconds between two looks at the parent, whose end is seen at once unless a fork of it lives on, and at a fork server
that owes an answer, which a signal may have stopped."""

EXIT_STATUS_SECONDS = 1.0
"""Seconds to wait for the exit status of a process that closed its connection."""


def module_search_path() -> list[str]:
    """Return the directories in which this process looks for modules."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def import_modules(search_path: list[str], modules: list[str]) -> None:
    """Look for modules in these directories from now on, and import some."""
    sys.path[:] = search_path
    for module in modules:
        # A module that fails here fails again in the learner's process, which reports it to the user.
        with contextlib.suppress(Exception):
            importlib.import_module(module)


def start_interpreter(
    module: str, *arguments: object, pass_fds: tuple[int, ...] = (), mark: str = ""
) -> subprocess.Popen[bytes]:
    """Run `main` of a module of this package in a new interpreter.

    Parameters
    ----------
    module : str
        Its name.
    *arguments : object
        Arguments of its `main`, written as Python; every user of the machine can read them.
    pass_fds : tuple of int
        Descriptors that it inherits.
    mark : str
        Makes its descendants known; see `MARK_VARIABLE`.
    """
    if not sys.executable:
        raise RuntimeError(
            f"Got sys.executable={sys.executable!r}; expected the path of Python, to start the learner's process. Set "
            "sys.executable, which programs that embed Python leave empty, or use backend='inline'."
        )
    program = (
        f"import sys; sys.path[:] = {module_search_path()!r}; "
        f"from {__package__}.{module} import main; main(*{arguments!r})"
    )
    process = subprocess.Popen(
        [sys.executable, *interpreter_flags(), "-c", program],
        stdin=subprocess.DEVNULL,
        pass_fds=pass_fds,
        start_new_session=True,
        env={**({} if "OMP_WAIT_POLICY" in os.environ else OPENMP_VARIABLES), **os.environ, MARK_VARIABLE: mark},
    )
    # An idle process may end by itself at any time; without a wait it would stay as a zombie.
    threading.Thread(target=process.wait, name="fitwithin-reaper", daemon=True).start()
    return process


def interpreter_flags() -> list[str]:
    """Return the options of this interpreter that decide where modules come from and how they run."""
    flags = [flag for name, flag in _INTERPRETER_FLAGS.items() if getattr(sys.flags, name)]
    return [*flags, *(["-O"] * sys.flags.optimize), *(["-X", "utf8"] if sys.flags.utf8_mode else [])]


def make_temporary_folder(pid: int) -> str:
    """Create a folder for the temporary files of a session, named after the program; raise NoTemporaryFolder."""
    try:
        return tempfile.mkdtemp(prefix=f"fitwithin-{pid}-")
    except OSError as error:
        raise NoTemporaryFolder(error) from error


class ProcessHandle(Protocol):
    """The parent's handle on a process."""

    @property
    def alive(self) -> bool:
        """Whether the process can still be used."""
        ...

    def close(self) -> None:
        """End the process."""
        ...


Handle = TypeVar("Handle", bound=ProcessHandle)


class ProcessCache(Generic[Handle]):
    """Keep one idle process for the next session.

    Parameters
    ----------
    start : callable
        Starts a process and returns its handle.
    """

    def __init__(self, start: Callable[[], Handle]) -> None:
        self._start = start
        self._handle: Handle | None = None
        self._lock = threading.Lock()
        atexit.register(self.clear)
        if hasattr(os, "register_at_fork"):
            # A fork of this process must not talk to its parent's idle process.
            os.register_at_fork(after_in_child=self._forget)

    def take(self) -> Handle:
        """Return the idle process, or start one."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            if handle.alive:
                return handle
            handle.close()
        return self._start()

    def give_back(self, handle: Handle) -> None:
        """Keep the process for the next `take`; end it if there is an idle one already."""
        with self._lock:
            if self._handle is None and handle.alive:
                self._handle = handle
                return
        handle.close()

    def clear(self) -> None:
        """End the idle process."""
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            handle.close()

    def _forget(self) -> None:
        self._handle = None
        self._lock = threading.Lock()


def describe_exit(exited: bool, status: int) -> str:
    """Describe how a process ended.

    Parameters
    ----------
    exited : bool
        Whether it ended by itself; otherwise a signal ended it.
    status : int
        Its exit code, or the signal's number.

    Examples
    --------
    >>> describe_exit(False, 11)
    'it was killed by SIGSEGV'
    """
    if exited:
        return f"it ended itself with exit code {status}"
    hint = "; the operating system does this when memory runs out" if status == signal.SIGKILL else ""
    return f"it was killed by {_name_signal(status)}{hint}"


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals between the first and the last have no names
        return f"signal {number}"


def kill_descendants(pid: int) -> None:
    """Kill everything that a process started, in any session, but not the process itself."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def become_first_oom_choice() -> None:
    """Have Linux end this process, or one that it starts, before any other when memory runs out.

    It holds for the whole machine and for a memory group alike: the kernel chooses among the processes of the group
    that is full. Every process may do this to itself, and its children inherit it. Other systems have no such choice.
    """
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(_FIRST_OOM_CHOICE)


def remove_loky_semaphores(pid: int) -> None:
    """Remove the named semaphores that loky leaves behind when its process is killed; their names hold the pid."""
    for semaphore in glob.glob(f"/dev/shm/sem.loky-{pid}-*"):
        with contextlib.suppress(OSError):
            os.unlink(semaphore)
