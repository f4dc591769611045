"""The workers of a Dask cluster: which are there, which is the least busy with us, and whether one was lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from distributed import Client, Future

from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import LearnerDied
from fitwithin._core.memory_limit import available_memory

_CONNECT_SECONDS = 10.0
"""Longest wait for a scheduler that does not answer; half of the time limit if that is less."""

LOOK_SECONDS = 0.25
"""Seconds between two looks at the workers, and at whether the session has ended, while a task runs."""

_PAUSED_SECONDS = 2.0
"""Seconds that a worker may be paused for want of memory before its work is begun again elsewhere."""

_SMALL_BYTES = 1 << 18
"""Bytes up to which row numbers travel with their task, through the scheduler."""

PRIORITY = 10
"""Priority of our tasks: they have a deadline."""


class WorkerLost(Exception):
    """The worker of a task, or a partition that it needs, is gone; the text says which."""


SCHEDULER_LOST = "the Dask cluster or its client was closed or lost; start it again, and make a new client"


class Cluster:
    """A client of Dask, as one session uses it. Every call may block: make it in a `DeadlineThread`.

    Parameters
    ----------
    client : Client
        The client.
    key : str
        The session's.
    budget : Budget
        Ends every wait.
    owns_client : bool, default=False
        Whether to close the client at the end.
    """

    def __init__(self, client: Client, key: str, budget: Budget, *, owns_client: bool = False) -> None:
        self.client = client
        self.key = key
        self._budget = budget
        self._owns_client = owns_client
        self._homes: dict[int, str] = {}
        self._lock = threading.Lock()

    @classmethod
    def connect(cls, client: Client | str, key: str, budget: Budget) -> Cluster:
        """Return the cluster of a client, or of a scheduler's address.

        Raises
        ------
        ConnectionError
            If there is no scheduler.
        """
        if not isinstance(client, str):
            if client.status != "running":
                raise ConnectionError(
                    f"The Dask client is {client.status}, not running. Make a new client, or start the scheduler again."
                )
            return cls(client, key, budget)
        try:
            seconds = max(0.1, min(_CONNECT_SECONDS, budget.remaining() / 2))
            return cls(Client(client, timeout=seconds, set_as_default=False), key, budget, owns_client=True)
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"No Dask scheduler answers at {client!r}: {error}. Check the address, and that the scheduler runs."
            ) from error

    @property
    def is_connected(self) -> bool:
        """Whether the scheduler is there, as far as the client knows."""
        return bool(self.client.status == "running")

    def _worker_states(self) -> dict[str, str]:
        # A client that is closed meanwhile knows of nothing.
        workers = self.client.scheduler_info(n_workers=-1).get("workers") if self.is_connected else None
        if workers is None:
            raise LearnerDied(SCHEDULER_LOST)
        return {address: workers[address].get("status", "running") for address in sorted(workers)}

    def wait_for_workers(self) -> list[str]:
        """Return the workers that take tasks, once there is one; raise TimeoutError at the deadline."""
        while not (workers := [name for name, state in self._worker_states().items() if state == "running"]):
            self._budget.raise_if_spent()
            time.sleep(LOOK_SECONDS)
        return workers

    def choose_home(self, number: int) -> str:
        """Return the worker that trains for the fewest other runners of this session."""
        workers = self.wait_for_workers()
        with self._lock:
            self._homes.pop(number, None)
            n_runners = Counter(self._homes.values())
            home = self._homes[number] = min(workers, key=lambda address: n_runners[address])
        return home

    def find_worker_memory(self) -> int:
        """Return the bytes that the worker with the least memory may use."""
        found: dict[str, int] = self.client.run(_find_memory, workers=self.wait_for_workers(), on_error="ignore")
        return min(found.values())

    def submit(self, function: Callable[..., Any], *arguments: Any, home: str | None = None) -> Future:
        """Run a function on the worker `home`, or where its arguments are."""
        workers = None if home is None else [home]
        future = self.client.submit(function, *arguments, workers=workers, pure=False, priority=PRIORITY)
        # Dask may forget a value that a task needs if its future is dropped before the scheduler knows the task.
        future.arguments = arguments
        return future

    def scatter(self, value: Any, worker: str | None = None) -> Future:
        """Send a value to a worker, not by way of the scheduler."""
        workers = None if worker is None else [worker]
        return self.client.scatter(value, workers=workers, direct=True, hash=False)

    def pass_rows(self, rows: Any, worker: str | None = None) -> Any:
        """Return row numbers as an argument of a task: as they are if they are few."""
        return rows if rows.nbytes <= _SMALL_BYTES else self.scatter(rows, worker)

    def result(self, future: Future, home: str) -> Any:
        """Return the result of a task.

        Raises
        ------
        WorkerLost
            If its worker or what it needs is gone.
        TimeoutError
            At the deadline.
        """
        # `Future.result` with a time-out breaks off a transfer under way, so that a large model would never arrive. The
        # result comes from its worker, not by way of the scheduler.
        gathered = self.client.gather(future, direct=True, asynchronous=True)
        arrival = asyncio.run_coroutine_threadsafe(gathered, self.client.loop.asyncio_loop)
        try:
            self._await(arrival, home)
            return arrival.result()
        except WorkerLost:
            raise
        except Exception as error:
            self._budget.raise_if_spent()
            # Whatever goes wrong in a learner is a value; what is raised here comes from Dask.
            raise WorkerLost(f"Dask lost a task: {error!r}") from error
        finally:
            if not arrival.done():
                # It ends when its future is released. Cancelled, it would leave coroutines of Dask that log errors.
                future.release()

    def _await(self, arrival: concurrent.futures.Future[Any], home: str) -> None:
        """Wait for a result; raise WorkerLost if its worker is lost or full, and TimeoutError after the deadline."""
        last_running = time.monotonic()
        # It does not wake up at the deadline itself: the session's thread leaves then, and needs the interpreter.
        while not concurrent.futures.wait([arrival], LOOK_SECONDS).done:
            self._budget.raise_if_spent()
            states = self._worker_states()
            state = states.get(home, "lost")
            if state == "running":
                last_running = time.monotonic()
            is_paused_long = time.monotonic() - last_running > _PAUSED_SECONDS
            if state == "lost" or (is_paused_long and "running" in states.values()):
                raise WorkerLost(f"the Dask worker {home} is {state}")

    def run_everywhere(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run a function on all workers at once, beside their tasks, with the session's key as its first argument."""
        self.client.run(function, self.key, *arguments, on_error="ignore")

    def close(self) -> None:
        """Close the client if it is our own."""
        # A client that is still open when it is forgotten closes itself, and blocks whichever thread forgets it.
        if self._owns_client:
            self.client.close()


def _find_memory(dask_worker: Any) -> int:
    """Return the memory limit of a worker, or the memory of its machine or container; runs on the worker."""
    limit: int | None = dask_worker.memory_manager.memory_limit
    return min(limit or available_memory(), available_memory())
