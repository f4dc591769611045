"""At most one idle process of a kind, kept for the next session of this process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

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
