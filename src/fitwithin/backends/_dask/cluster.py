"""The workers of a Dask cluster: which are there, which is the least busy with us, and whether one was lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from distributed import Client, Future

from fitwithin._core.budget import Budget
from fitwithin.backends._dask.worker_session import close_session, open_session, stop_runner

_CONNECT_SECONDS = 10.0
"""Longest wait for a scheduler that does not answer; half of the time limit if that is less."""

_LOOK_SECONDS = 0.25
"""Seconds between two looks at the workers while a task runs."""

_PAUSED_SECONDS = 2.0
"""Seconds that a worker may be paused for want of memory before its work is begun again elsewhere."""

_SMALL_BYTES = 1 << 18
"""Bytes up to which an argument travels with its task, through the scheduler."""


class WorkerLost(Exception):
    """The worker of a task, or a partition that it needs, is gone; the text says which."""


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
        self._owns_client = owns_client
        self.key = key
        self._budget = budget
        self._homes: dict[str, int] = {}
        self._lock = threading.Lock()
        # Dask may forget a value that a task needs if its future is dropped before the scheduler knows the task. So
        # futures are kept until the call that made them is over; each runner makes its calls in a thread of its own.
        self._of_this_thread = threading.local()
        self._futures: weakref.WeakSet[Future] = weakref.WeakSet()

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

    def running_workers(self) -> list[str]:
        """Return the addresses of the workers that take tasks, in a fixed order."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return sorted(address for address, worker in workers.items() if worker.get("status", "running") == "running")

    def wait_for_workers(self) -> list[str]:
        """Return the workers, once there is one; raise TimeoutError at the deadline."""
        while not (workers := self.running_workers()):
            self._budget.raise_if_spent()
            time.sleep(_LOOK_SECONDS)
        return workers

    def open_everywhere(self) -> None:
        """Have every worker start its processes while the program is still checking its input."""
        self.client.run(_open, self.key, self._budget.remaining(), on_error="ignore")

    def choose_home(self) -> str:
        """Return the worker that trains for the fewest runners of this session."""
        workers = self.wait_for_workers()
        with self._lock:
            home = min(workers, key=lambda address: (self._homes.get(address, 0), address))
            self._homes[home] = self._homes.get(home, 0) + 1
        return home

    def leave_home(self, home: str) -> None:
        """Note that a runner trains elsewhere from now on."""
        with self._lock:
            self._homes[home] -= 1

    def submit(self, function: Callable[..., Any], *arguments: Any, home: str | None = None) -> Future:
        """Run a function on the worker `home`, or where its arguments are."""
        workers = None if home is None else [home]
        return self._keep(self.client.submit(function, *arguments, workers=workers, pure=False, priority=_PRIORITY))

    def _keep(self, future: Future) -> Future:
        self._futures.add(future)
        self._of_this_thread.__dict__.setdefault("futures", []).append(future)
        return future

    def end_call(self) -> None:
        """Let go of the futures that this thread has made, except for those that are held elsewhere."""
        self._of_this_thread.futures = []

    def scatter(self, value: Any, worker: str | None = None) -> Future:
        """Send a value to a worker, not by way of the scheduler."""
        workers = None if worker is None else [worker]
        return self._keep(self.client.scatter(value, workers=workers, direct=True, hash=False))

    def compute_parts(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run a function on parts of a collection, given as delayed values among its arguments."""
        from dask import delayed

        call = delayed(function, pure=False)
        futures = self.client.compute([call(*each) for each in arguments], priority=_PRIORITY)
        return [self._keep(future) for future in futures]

    def map(self, function: Callable[..., Any], futures: Sequence[Any], *arguments: Any) -> list[Any]:
        """Run a function on the result of each task, where it is."""
        return [self.submit(function, future, *arguments) for future in futures]

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks, or raise what one of them raised."""
        results: list[Any] = self.client.gather(list(futures))
        return results

    def pass_rows(self, rows: Any, worker: str | None = None) -> Any:
        """Return row numbers as an argument of a task: as they are if they are few."""
        return rows if rows is None or rows.nbytes <= _SMALL_BYTES else self.scatter(rows, worker)

    def result(self, future: Future, home: str) -> Any:
        """Return the result of a task.

        Raises
        ------
        WorkerLost
            If its worker or what it needs is gone.
        TimeoutError
            At the deadline.
        """
        # `Future.result` with a time-out breaks off a transfer under way, so that a large model would never arrive.
        arrival = self._fetch(future)
        paused_since: float | None = None
        try:
            while not self._wait(arrival):
                paused_since = self._check_home(home, paused_since)
            return arrival.result()
        except WorkerLost:
            raise
        except Exception as error:
            self._budget.raise_if_spent()
            # Whatever goes wrong in a learner is a value; what is raised here comes from Dask.
            if self.client.status != "running":
                raise WorkerLost("the Dask scheduler was lost") from error
            raise WorkerLost(f"Dask lost a task: {error!r}") from error
        finally:
            if not arrival.done():
                # It ends when its future is released. Cancelled, it would leave coroutines of Dask that log errors.
                future.release()

    def _check_home(self, home: str, paused_since: float | None) -> float | None:
        """Return since when a worker is paused, None if it is not; raise WorkerLost if it is lost or full."""
        worker = self.client.scheduler_info(n_workers=-1)["workers"].get(home)
        if worker is None:
            raise WorkerLost(f"the Dask worker {home} was lost")
        if worker.get("status", "running") == "running":
            return None
        if paused_since is None:
            return time.monotonic()
        if time.monotonic() - paused_since > _PAUSED_SECONDS and self.running_workers():
            raise WorkerLost(f"the Dask worker {home} takes no more work: it is {worker['status']}")
        return paused_since

    def _fetch(self, future: Future) -> concurrent.futures.Future[Any]:
        """Have the result of a task come from its worker, not by way of the scheduler, once it is there."""
        gathered = self.client.gather(future, direct=True, asynchronous=True)
        return asyncio.run_coroutine_threadsafe(gathered, self.client.loop.asyncio_loop)

    def _wait(self, arrival: concurrent.futures.Future[Any]) -> bool:
        """Wait for a result until the next look; raise TimeoutError after the deadline."""
        self._budget.raise_if_spent()
        # It does not wake up at the deadline itself: the session's thread leaves then, and needs the interpreter.
        return bool(concurrent.futures.wait([arrival], _LOOK_SECONDS).done)

    def stop_runner(self, number: int) -> None:
        """Kill what a runner of this session has on any worker."""
        self.client.run(stop_runner, self.key, number, on_error="ignore")

    def close(self) -> None:
        """End the session on all workers."""
        # `Client.cancel` may end the client's connection, if a task that depends on another one is not wanted any more.
        for future in list(self._futures):
            future.release()
        try:
            self.client.run(close_session, self.key, on_error="ignore")
        finally:
            # A client that is still open when it is forgotten closes itself, and blocks whichever thread forgets it.
            if self._owns_client:
                self.client.close()


_PRIORITY = 10
"""Priority of our tasks: they have a deadline."""


def _open(key: str, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        open_session(key, seconds)
