"""Memory of a process that the system cannot take back: anonymous memory, and named blocks of shared memory."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import psutil

_FIELD = re.compile(rb"^(VmHWM|VmRSS|RssAnon|RssFile|RssShmem|VmSwap):\s*(\d+) kB", re.MULTILINE)

_EXACT_FIELD = re.compile(rb"^(?:Pss_Anon|SwapPss):\s*(\d+) kB", re.MULTILINE)

_SHARED_MEMORY = "/dev/shm"
"""Where Linux shows named blocks of shared memory, such as those of `multiprocessing.shared_memory`."""

_MAPPED_INODE = re.compile(rb" (\d+) +/dev/shm/")


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of anonymous memory of one process, swapped out or not.

    Parameters
    ----------
    now : int
        At present.
    peak_resident : int
        At most since the process started, or since `reset_peak`, memory with a file behind it included.
    file_backed : int
        Resident memory with a file behind it at present: programs, and rows that processes share.
    """

    now: int
    peak_resident: int
    file_backed: int


def read_memory_use(pid: int) -> MemoryUse | None:
    """Return the anonymous memory of a process, in about 50 microseconds on Linux; None if the process is gone."""
    if sys.platform != "linux":
        return _read_by_psutil(pid)
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            fields = {name: int(number) << 10 for name, number in _FIELD.findall(file.read())}
    except OSError:
        return None
    if b"VmRSS" not in fields:
        # A process that has ended, and was not waited for yet.
        return None
    # A sandbox such as gVisor does not tell anonymous memory from other memory.
    now = fields.get(b"RssAnon", fields[b"VmRSS"]) + fields.get(b"VmSwap", 0)
    return MemoryUse(now, fields.get(b"VmHWM", 0), fields.get(b"RssFile", 0) + fields.get(b"RssShmem", 0))


def _read_by_psutil(pid: int) -> MemoryUse | None:
    try:
        # The memory that no other process shares.
        now = int(psutil.Process(pid).memory_full_info().uss)
    except psutil.Error:
        return None
    return MemoryUse(now, now, 0)


def read_exact_memory(pid: int) -> int:
    """Return the anonymous memory of a process, pages that several processes share divided among them.

    It takes a few milliseconds for each GB. Where the system cannot tell, it is the plain memory.
    """
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
    """Return the memory that blocks take together."""
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
