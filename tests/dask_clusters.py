"""Real clusters: workers in processes of their own, and a look at what a fit leaves on them."""

import contextlib
import logging
import os
import subprocess
import sys

import psutil
from distributed import Client, LocalCluster

SCHEDULER_SCRIPT = """
import sys, time
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextlib.contextmanager
def local_cluster(n_workers=2, *, processes=True):
    """Start workers with one thread each, and end them; those that are threads of this process start at once."""
    with (
        LocalCluster(
            n_workers=n_workers,
            processes=processes,
            protocol="tcp://",  # threads too are sent everything as bytes
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            memory_limit=None,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextlib.contextmanager
def scheduler_process(folder):
    """Start a scheduler and two workers in processes of their own; yield the scheduler's process and address."""
    script = folder / "scheduler.py"
    script.write_text(SCHEDULER_SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    family = []
    try:
        address = process.stdout.readline().strip()
        family = psutil.Process(process.pid).children(recursive=True)
        yield process, address
    finally:
        process.kill()
        process.communicate()
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.kill()


def find_worker_pids(client):
    """Return the process number of each worker, by its address."""
    return client.run(os.getpid)


def find_our_processes(worker_pids):
    """Return the processes that learners run in, on all workers."""
    ours = []
    for pid in worker_pids:
        with contextlib.suppress(psutil.Error):
            ours += psutil.Process(pid).children(recursive=True)
    return [process for process in ours if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
