"""What a fit leaves behind in the system."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import psutil

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the heir of every descendant that loses its parent, so that none goes unseen."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextmanager
def use_private_temporary_folder() -> Iterator[None]:
    """Give this process and all it starts a temporary folder of their own, where nobody else leaves anything."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]
            tempfile.tempdir = None


@dataclass(frozen=True)
class ResourceSnapshot:
    """What is there at a moment.

    Parameters
    ----------
    shared, temporary : frozenset of str
        Names in /dev/shm, and in the folder for temporary files.
    descriptors : int
        Open descriptors of this process.
    """

    shared: frozenset[str]
    temporary: frozenset[str]
    descriptors: int

    @classmethod
    def now(cls) -> Self:
        """At this moment."""
        return cls(
            # Anonymous semaphores of killed multiprocessing children are the one documented exception.
            shared=frozenset(name for name in _names("/dev/shm") if not name.startswith("sem.mp-")),
            temporary=frozenset(_names(tempfile.gettempdir())),
            descriptors=psutil.Process().num_fds(),
        )


def find_leaks(before: ResourceSnapshot) -> list[str]:
    """What is there now that was not before, in words; one idle helper is nothing."""
    now = ResourceSnapshot.now()
    grown = now.descriptors - before.descriptors
    return [
        *(f"process: {name}" for name in _processes()),
        *(f"/dev/shm: {name}" for name in sorted(now.shared - before.shared)),
        *(f"temporary: {name}" for name in sorted(now.temporary - before.temporary)),
        *([f"{grown} descriptors"] if grown > 0 else []),
    ]


def wait_for_cleanup(before: ResourceSnapshot, since: float, stop_signal: float = 1.0) -> tuple[list[str], float]:
    """What is still left behind when the stop_signal is over, and when nothing was, in seconds since then."""
    while (left := find_leaks(before)) and time.perf_counter() - since < stop_signal:
        time.sleep(0.01)
    return left, time.perf_counter() - since


def _processes() -> list[str]:
    me = psutil.Process()
    helpers = [child for child in me.children() if _is_helper(child)]
    return sorted(map(_described, set(me.children(recursive=True)) - set(helpers[:1])))


def _is_helper(process: psutil.Process) -> bool:
    try:
        return "fork_server" in " ".join(process.cmdline())
    except psutil.Error:
        # A zombie has no command line.
        return False


def _described(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.status()})"
    except psutil.NoSuchProcess:
        return "gone just now"


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []
