"""How processes end, and what must be cleared away after them."""

from __future__ import annotations

import contextlib
import glob
import os
import signal

import psutil

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
