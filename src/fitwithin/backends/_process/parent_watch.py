"""Tell that the program has ended, even if a fork of it still holds the other end of a pipe or a socket."""

from __future__ import annotations

import contextlib
import os
import time

import psutil

from fitwithin.backends._process.protocol import wait_readable

PARENT_POLL_SECONDS = 1.0
"""Seconds between two looks at the parent, on systems that do not report its end."""


class ParentWatch:
    """Watch the process that needs this one.

    Linux reports the end of a process through a descriptor. Other systems, older kernels and builds
    of Python without `os.pidfd_open` have to look at the list of processes from time to time.

    Parameters
    ----------
    pid : int
        The process to watch. It need not be the direct parent: an interpreter may be started
        through a launcher.

    Examples
    --------
    >>> watch = ParentWatch(os.getppid())
    >>> watch.has_ended()
    False
    >>> watch.close()
    """

    def __init__(self, pid: int) -> None:
        self._process: psutil.Process | None = None
        self._descriptor: int | None = None
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process = psutil.Process(pid)
            self._descriptor = _open_pidfd(pid)

    @property
    def descriptors(self) -> list[int]:
        """Descriptors that become readable at the end of the process: one, or none if it must be polled."""
        return [] if self._descriptor is None else [self._descriptor]

    @property
    def poll_seconds(self) -> float | None:
        """Seconds after which to call `has_ended` again; None if `descriptors` tell when."""
        return PARENT_POLL_SECONDS if self._descriptor is None else None

    def has_ended(self) -> bool:
        """Whether the process has ended; a zombie has."""
        if self._descriptor is not None:
            return bool(wait_readable([self._descriptor], 0))
        try:
            # `is_running` knows a later process with the same number from this one.
            return self._process is None or not self._process.is_running() or self._is_zombie()
        except psutil.NoSuchProcess:
            return True

    def _is_zombie(self) -> bool:
        return self._process is not None and self._process.status() == psutil.STATUS_ZOMBIE

    def wait(self) -> None:
        """Return when the process has ended."""
        while not self.has_ended():
            if self._descriptor is None:
                time.sleep(PARENT_POLL_SECONDS)
            else:
                wait_readable([self._descriptor], None)

    def close(self) -> None:
        """Close the descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _open_pidfd(pid: int) -> int | None:
    """Return a descriptor that is readable once the process has ended; None if the system gives none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        # Missing in this build of Python, or in the kernel, or forbidden in a container.
        return None
