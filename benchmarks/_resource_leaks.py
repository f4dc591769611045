"""Processes, files and descriptors that a fit leaves behind."""

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

# Number of this option in linux/prctl.h.
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process adopt descendants whose parent ends, so that none is missed."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextmanager
def use_private_temporary_folder() -> Iterator[None]:
    """Give this process and its children a temporary folder that no other process uses."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]
            tempfile.tempdir = None


@dataclass(frozen=True)
class ResourceSnapshot:
    """Resources in use at one moment.

    Parameters
    ----------
    shared, temporary : frozenset of str
        Names in /dev/shm, and in the temporary folder.
    descriptors : int
        Number of open descriptors of this process.
    """

    shared: frozenset[str]
    temporary: frozenset[str]
    descriptors: int

    @classmethod
    def take(cls) -> Self:
        """Take a snapshot."""
        return cls(
            # Anonymous semaphores of killed multiprocessing children are the only documented exception.
            shared=frozenset(name for name in _list_names("/dev/shm") if not name.startswith("sem.mp-")),
            temporary=frozenset(_list_names(tempfile.gettempdir())),
            descriptors=psutil.Process().num_fds(),
        )


def find_leaks(before: ResourceSnapshot) -> list[str]:
    """Describe the resources that are in use now but were not before; one idle helper is allowed."""
    now = ResourceSnapshot.take()
    grown = now.descriptors - before.descriptors
    return [
        *(f"process: {name}" for name in _find_processes()),
        *(f"/dev/shm: {name}" for name in sorted(now.shared - before.shared)),
        *(f"temporary: {name}" for name in sorted(now.temporary - before.temporary)),
        *([f"{grown} descriptors"] if grown > 0 else []),
    ]


def wait_for_cleanup(before: ResourceSnapshot, since: float, timeout_seconds: float = 1.0) -> tuple[list[str], float]:
    """Wait until nothing is left behind; return the leaks at the timeout, and the seconds waited since `since`."""
    while (left := find_leaks(before)) and time.perf_counter() - since < timeout_seconds:
        time.sleep(0.01)
    return left, time.perf_counter() - since


def _find_processes() -> list[str]:
    me = psutil.Process()
    helpers = [child for child in me.children() if _is_helper(child)]
    return sorted(map(_describe_process, set(me.children(recursive=True)) - set(helpers[:1])))


def _is_helper(process: psutil.Process) -> bool:
    try:
        return "fork_server" in " ".join(process.cmdline())
    except psutil.Error:
        # A zombie process has no command line.
        return False


def _describe_process(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.status()})"
    except psutil.NoSuchProcess:
        return "gone just now"


def _list_names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []
