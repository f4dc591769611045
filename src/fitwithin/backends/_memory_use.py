"""Memory of a process that the system cannot take back, anonymous or in named shared blocks, and the watch over it."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import psutil

from fitwithin._core.exceptions import LearnerDied, OutOfMemory

_FIELD = re.compile(rb"^(VmHWM|VmRSS|RssAnon|RssFile|RssShmem|VmSwap):\s*(\d+) kB", re.MULTILINE)
_EXACT_FIELD = re.compile(rb"^(?:Pss_Anon|SwapPss):\s*(\d+) kB", re.MULTILINE)
_MAPPED_INODE = re.compile(rb" (\d+) +/dev/shm/")

_SHARED_MEMORY = "/dev/shm"
"""Where Linux shows named blocks of shared memory, such as those of `multiprocessing.shared_memory`."""


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of memory of one process: anonymous memory `now`, swapped out or not."""

    now: int
    peak_resident: int  # since the process started, or since `reset_peak`, memory with a file behind it included
    file_backed: int  # at present: programs, and rows that processes share


def read_memory_use(pid: int) -> MemoryUse | None:
    """Return the anonymous memory of a process, in about 50 microseconds on Linux; None if the process is gone."""
    try:
        if sys.platform != "linux":
            # The memory that no other process shares.
            now = int(psutil.Process(pid).memory_full_info().uss)
            return MemoryUse(now, now, 0)
        with open(f"/proc/{pid}/status", "rb") as file:
            fields = {name: int(number) << 10 for name, number in _FIELD.findall(file.read())}
    except (OSError, psutil.Error):
        return None
    if not fields.get(b"VmRSS", 0) + fields.get(b"VmSwap", 0):
        # A process that has ended, and was not waited for yet; gVisor gives it 0 bytes.
        return None
    # A sandbox such as gVisor does not tell anonymous memory from other memory.
    now = fields.get(b"RssAnon", fields[b"VmRSS"]) + fields.get(b"VmSwap", 0)
    return MemoryUse(now, fields.get(b"VmHWM", 0), fields.get(b"RssFile", 0) + fields.get(b"RssShmem", 0))


def read_exact_memory(pid: int) -> int:
    """Return the anonymous memory of a process, shared pages divided among those that share them; some ms for a GB."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        return sum(int(number) << 10 for number in _EXACT_FIELD.findall(file.read()))
    memory = read_memory_use(pid)
    return 0 if memory is None else memory.now


def reset_peak(pid: int) -> None:
    """Let `MemoryUse.peak_resident` begin anew, on Linux; for a process of ours."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "wb", buffering=0) as file:
        file.write(b"5")


def find_descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started; some 2 ms for 100 processes."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def list_shared_blocks() -> frozenset[str]:
    """Return the names of all blocks of shared memory, in some microseconds; none where the system shows none."""
    try:
        return frozenset(os.listdir(_SHARED_MEMORY))
    except OSError:
        return frozenset()


def find_mapped_blocks(names: Collection[str], pids: Iterable[int]) -> set[str]:
    """Return those of these blocks that the processes have mapped; 2 ms for a process with many libraries."""
    inodes: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as file:
            # A semaphore is mapped under another name than its last one.
            inodes.update(map(int, _MAPPED_INODE.findall(file.read())))
    with os.scandir(_SHARED_MEMORY) as entries:
        return {entry.name for entry in entries if entry.name in names and entry.inode() in inodes}


def count_block_bytes(names: Iterable[str]) -> int:
    """Return the bytes of these blocks of shared memory that are still there."""
    n_bytes = 0
    for name in names:
        with contextlib.suppress(OSError):
            n_bytes += 512 * os.stat(f"{_SHARED_MEMORY}/{name}").st_blocks
    return n_bytes


def remove_abandoned_blocks(names: Collection[str]) -> None:
    """Remove those of these blocks that no process has mapped."""
    for name in set(names) - find_mapped_blocks(names, psutil.pids()):
        with contextlib.suppress(OSError):
            os.unlink(f"{_SHARED_MEMORY}/{name}")


LOOK_SECONDS = 0.1
"""Seconds between two looks at a learner that is far from its limit, or has none, and at the budget."""

_MIN_LOOK_SECONDS = 0.005
"""Seconds between two looks at a learner that is close to its limit; a look takes 0.1 ms without children."""

_MAX_BYTES_PER_SECOND = 10e9
"""Fastest growth that is expected: one core fills 2 to 4 GB of new memory in a second, two fill 6."""

_EFFORT_SHARE = 0.05
"""Largest share of the time for searches for children, and for exact measurements: both take 0.1 ms or much more."""


class MemoryWatch:
    """Measure a process and its descendants, without `others_blocks`, and say when they take over `limit` bytes."""

    def __init__(self, pid: int, limit: int | None = None, others_blocks: frozenset[str] = frozenset()) -> None:
        self.pid = pid
        self.limit = math.inf if limit is None else limit
        # Most bytes since `begin`, and those at `begin`; None if the process could not be measured.
        self.peak: int | None = None
        self.before: int | None = None
        self._now = 0
        self._file_backed = 0
        self._children: list[int] = []
        self._next_search = 0.0
        self._next_exact = 0.0
        self._counted_once = 1.0  # share of the memory that remains if each page counts once
        self._seconds = math.inf
        self._request_start = 0.0
        self._others_blocks = self._listed_blocks = others_blocks
        self._blocks: frozenset[str] = frozenset()

    def begin(self, seconds: float | None = None) -> None:
        """Begin anew: what follows has a peak of its own, and takes at most `seconds` for each request."""
        self._seconds = math.inf if seconds is None else seconds
        reset_peak(self.pid)
        self.peak, self._file_backed, self._counted_once = None, 0, 1.0
        self.measure()
        self.before = self.peak

    def begin_request(self) -> None:
        self._request_start = time.monotonic()

    @property
    def look_seconds(self) -> float:
        """Seconds until the next look: fewer as the memory, or the time of the request, comes closer to its limit."""
        of_memory = (self.limit - self._now) / _MAX_BYTES_PER_SECOND
        of_request = self._request_start + self._seconds - time.monotonic()
        return max(_MIN_LOOK_SECONDS, min(LOOK_SECONDS, of_memory, of_request))

    def look(self) -> None:
        """Measure once; raise OutOfMemory above the limit, or LearnerDied after the seconds of the request."""
        if time.monotonic() - self._request_start > self._seconds:
            raise LearnerDied(f"it was stopped after {self._seconds:.3g} s, its share of the time")
        self.measure()
        if self._now > self.limit:
            raise OutOfMemory(self._now, int(self.limit))

    def measure(self) -> None:
        own = read_memory_use(self.pid)
        if own is None:
            return
        start = time.monotonic()
        if start >= self._next_search:
            self._children = find_descendants(self.pid)
            self._next_search = _next_turn(start)
        children = [memory.now for pid in self._children if (memory := read_memory_use(pid)) is not None]
        counted = own.now + sum(children)
        start = time.monotonic()
        if children and counted > self.limit and start >= self._next_exact:
            # Children that were forked share pages with the process, and each counts them.
            self._counted_once = min(1.0, sum(map(read_exact_memory, [self.pid, *self._children])) / counted)
            self._next_exact = _next_turn(start)
        if (listed := list_shared_blocks()) != self._listed_blocks:
            self._listed_blocks = listed
            self.find_blocks()
        self._now = (int(self._counted_once * counted) if children else counted) + count_block_bytes(self._blocks)
        self._file_backed = max(self._file_backed, own.file_backed)
        # The kernel's peak shows what came and went between two looks.
        self.peak = max(self.peak or 0, self._now, own.peak_resident - self._file_backed)

    def find_blocks(self) -> frozenset[str]:
        """Return the new blocks of shared memory that the processes have, or had, mapped; some ms for unknown ones."""
        if new := list_shared_blocks() - self._others_blocks - self._blocks:
            self._blocks |= find_mapped_blocks(new, [self.pid, *find_descendants(self.pid)])
        return self._blocks


def _next_turn(start: float) -> float:
    """Return when work that began at `start` and ends now may be done again."""
    end = time.monotonic()
    return end + (end - start) / _EFFORT_SHARE
