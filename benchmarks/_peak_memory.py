"""Peak memory of a process and its descendants, sampled by another process.

The measure is proportional set size: a page that several processes share counts once. As a script, this file is
the sampler. It prints the first sample, and prints the peak when its standard input closes.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import psutil

# Seconds between samples, by default.
_PERIOD_SECONDS = 0.02


@dataclass
class MemoryUsage:
    """Memory in bytes of a process and its descendants.

    Parameters
    ----------
    pss : int
        Proportional set size: all memory, each shared page once.
    own : int
        The part that is not backed by a file: anonymous and shared memory.
    """

    pss: int = 0
    own: int = 0


@contextmanager
def measure_peak_memory(period: float = _PERIOD_SECONDS) -> Iterator[MemoryUsage]:
    """Sample this process and its descendants; on exit, the yielded object has the peak above the start."""
    beyond = MemoryUsage()
    command = [sys.executable, __file__, str(os.getpid()), str(period)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sampler:
        assert sampler.stdout is not None
        before = MemoryUsage(**json.loads(sampler.stdout.readline()))
        yield beyond
        peak = MemoryUsage(**json.loads(sampler.communicate()[0]))
    beyond.pss, beyond.own = peak.pss - before.pss, peak.own - before.own


def main(pid: int, period: float) -> None:
    """Print a first sample, sample until standard input closes, and print the peak."""
    process = psutil.Process(pid)
    peak = _sample(process)
    print(json.dumps(asdict(peak)), flush=True)
    while not select.select([sys.stdin], [], [], period)[0]:
        now = _sample(process)
        peak = MemoryUsage(max(peak.pss, now.pss), max(peak.own, now.own))
    print(json.dumps(asdict(peak)), flush=True)


def _sample(process: psutil.Process) -> MemoryUsage:
    # Shares change while we read: a page that a new child maps after its parent was read would count one and a
    # half times. The smaller of two readings of the parent avoids this.
    first = read_memory(process.pid)
    children = [read_memory(child.pid) for child in process.children(recursive=True) if child.pid != os.getpid()]
    again = read_memory(process.pid)
    parent = MemoryUsage(min(first.pss, again.pss), min(first.own, again.own))
    return MemoryUsage(sum(one.pss for one in (parent, *children)), sum(one.own for one in (parent, *children)))


def read_memory(pid: int) -> MemoryUsage:
    """Return the memory of one process; nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            lines = dict(line.split(":") for line in file.readlines()[1:])
    except OSError:
        return MemoryUsage()
    kilobytes = {name: int(text.split()[0]) for name, text in lines.items()}
    return MemoryUsage(1024 * kilobytes["Pss"], 1024 * (kilobytes["Pss_Anon"] + kilobytes["Pss_Shmem"]))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
