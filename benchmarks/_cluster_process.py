"""A Dask cluster in processes of its own, whose scheduler and workers can be stopped, killed and filled."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

_SCRIPT = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    n_workers, memory_limit = int(sys.argv[1]), sys.argv[2]
    with LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=memory_limit, silence_logs=50
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@dataclass(frozen=True)
class ClusterProcess:
    """A scheduler with its workers, each in a process of its own.

    Parameters
    ----------
    pid : int
        The scheduler's process.
    address : str
        Its address.
    """

    pid: int
    address: str

    def stop_scheduler(self) -> None:
        """Stop the scheduler by a signal; it keeps its connections."""
        os.kill(self.pid, signal.SIGSTOP)

    def continue_scheduler(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def find_our_processes(self) -> list[int]:
        """Return the processes of learners on any worker."""
        found = []
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if "fitwithin" in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                        found.append(process.pid)
        return found


@contextlib.contextmanager
def start_cluster(n_workers: int, memory_limit: str = "0") -> Iterator[ClusterProcess]:
    """Start a cluster, and kill all of it at the end."""
    command = [sys.executable, "-c", _SCRIPT, str(n_workers), memory_limit]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        family = psutil.Process(process.pid)
        try:
            yield ClusterProcess(process.pid, address)
        finally:
            members = family.children(recursive=True)
            process.kill()
            for member in members:
                with contextlib.suppress(psutil.Error):
                    member.kill()
