"""The Dask backend: learners run on the workers of a cluster."""

from __future__ import annotations

import time
import uuid
from typing import Any

from fitwithin._core.budget import Budget, Clock
from fitwithin._core.install_command import require_libraries


class Dask:
    """Run learners on the workers of a Dask cluster, next to the rows.

    `fit` then takes Dask DataFrames and Arrays, and paths of parquet files that the workers can read. Rows go
    from the workers that hold them to the one that trains, never through this program. Arrays and frames of this
    program are sent to the workers once.

    Each learner runs in a process of its own on a worker, which is killed at the deadline. `fit` returns in time even
    if a worker or the scheduler hangs or is gone. If a worker is lost, its fit begins again on another one.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler such as ``"tcp://10.0.0.5:8786"``. A copy of the backend, such as
        `clone` and `pickle` make, has the address, and each of its fits connects anew.
    clock : callable, default=time.monotonic
        Returns the time in seconds; deadlines are kept by it.

    Examples
    --------
    >>> from fitwithin.backends import Dask
    >>> backend = Dask("tcp://10.0.0.5:8786")
    """

    def __init__(self, client: Any, *, clock: Clock = time.monotonic) -> None:
        self.client = client
        self.clock = clock

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes with the scheduler's address in the place of the client, which cannot be copied."""
        scheduler = getattr(self.client, "scheduler", None)
        return vars(self) | ({} if scheduler is None else {"client": scheduler.address})

    def open(self, budget: Budget) -> Any:
        """Return a runner for one session; the workers start their processes while `fit` checks its input."""
        require_libraries("The Dask backend", "dask", "distributed")
        from distributed import Client

        from fitwithin.backends._dask.cluster import Cluster
        from fitwithin.backends._dask.runner import DaskRunner
        from fitwithin.backends._dask.worker_session import start_session

        if not isinstance(self.client, str | Client):
            raise TypeError(
                f"Got a client of type {type(self.client).__name__}; expected a distributed.Client, or the address of "
                "a scheduler."
            )

        def connect() -> Cluster:
            cluster = Cluster.connect(self.client, f"fitwithin-{uuid.uuid4().hex}", budget)
            cluster.run_everywhere(start_session, budget.remaining())
            return cluster

        return DaskRunner(connect, budget)
