"""The memory of a process and everything it started, sampled from outside.

Proportional set size: a page that several processes share counts once. Run as a script it is the
sampler: it says when it has begun, and tells the peak when its standard input is closed.
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

_PERIOD = 0.02


@dataclass
class MemoryUsage:
    """Bytes of a family of processes.

    Parameters
    ----------
    pss : int
        All of it, each shared page once.
    own : int
        Of that what is not a file's: anonymous and shared memory.
    """

    pss: int = 0
    own: int = 0


@contextmanager
def measure_peak_memory() -> Iterator[MemoryUsage]:
    """Sample this process and its descendants; afterwards the peak beyond what there was at the start."""
    beyond = MemoryUsage()
    command = [sys.executable, __file__, str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sampler:
        assert sampler.stdout is not None
        before = MemoryUsage(**json.loads(sampler.stdout.readline()))
        yield beyond
        peak = MemoryUsage(**json.loads(sampler.communicate()[0]))
    beyond.pss, beyond.own = peak.pss - before.pss, peak.own - before.own


def main(pid: int) -> None:
    """Tell what there is, sample until the standard input ends, tell the peak."""
    process = psutil.Process(pid)
    peak = _sample(process)
    print(json.dumps(asdict(peak)), flush=True)
    while not select.select([sys.stdin], [], [], _PERIOD)[0]:
        now = _sample(process)
        peak = MemoryUsage(max(peak.pss, now.pss), max(peak.own, now.own))
    print(json.dumps(asdict(peak)), flush=True)


def _sample(process: psutil.Process) -> MemoryUsage:
    # Shares move while we read: a page that a new process begins to map after its parent was read
    # would count one and a half times. The smaller of two readings of the parent does not.
    first = _read(process.pid)
    children = [_read(child.pid) for child in process.children(recursive=True) if child.pid != os.getpid()]
    again = _read(process.pid)
    parent = MemoryUsage(min(first.pss, again.pss), min(first.own, again.own))
    return MemoryUsage(sum(one.pss for one in (parent, *children)), sum(one.own for one in (parent, *children)))


def _read(pid: int) -> MemoryUsage:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            lines = dict(line.split(":") for line in file.readlines()[1:])
    except OSError:
        return MemoryUsage()
    kilobytes = {name: int(text.split()[0]) for name, text in lines.items()}
    return MemoryUsage(1024 * kilobytes["Pss"], 1024 * (kilobytes["Pss_Anon"] + kilobytes["Pss_Shmem"]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
