"""Calls that may block for ever, such as those of a client whose scheduler hangs, ended at a deadline."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from fitwithin._core.budget import Budget

_LOOK_SECONDS = 0.05
"""Longest wait before a look at the budget, which another thread may stop, or whose clock may be another one."""

T = TypeVar("T")


class DeadlineThread:
    """A thread that makes calls, one after the other, for another one that waits no longer than a budget.

    A call that blocks for ever keeps the thread; it does not keep the program.

    Examples
    --------
    >>> thread = DeadlineThread("example")
    >>> thread.call(lambda: 1 + 1, Budget(10))
    2
    >>> thread.close()
    """

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=f"fitwithin-{name}", daemon=True).start()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            function, future = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            # The thread waits for the next call, and what this one holds must not.
            del call, function, future

    def call(self, function: Callable[[], T], budget: Budget) -> T:
        """Return the result of a function, or raise what it raises; raise TimeoutError at the deadline."""
        future = self.post(function)
        while not wait([future], min(_LOOK_SECONDS, budget.remaining())).done:
            budget.raise_if_spent()
        return future.result()

    def post(self, function: Callable[[], T]) -> Future[T]:
        """Make a call that is not waited for."""
        future: Future[T] = Future()
        self._calls.put((function, future))
        return future

    def close(self) -> None:
        """End the thread after the calls before."""
        self._calls.put(None)
