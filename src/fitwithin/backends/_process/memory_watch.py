"""Watch the memory of a learner's process and of everything that it started, and the seconds of its requests."""

from __future__ import annotations

import time

from fitwithin._core.exceptions import LearnerDied, OutOfMemory
from fitwithin.backends._memory_use import (
    count_block_bytes,
    find_descendants,
    find_mapped_blocks,
    list_shared_blocks,
    read_exact_memory,
    read_memory_use,
    reset_peak,
)

_LOOK_SECONDS = 0.1
"""Seconds between two looks at a learner that is far from its limit, or has none."""

_MIN_LOOK_SECONDS = 0.005
"""Seconds between two looks at a learner that is close to its limit; a look takes 0.1 ms without children."""

_MAX_BYTES_PER_SECOND = 10e9
"""Fastest growth that is expected: one core fills 2 to 4 GB of new memory in a second, two fill 6."""

_EFFORT_SHARE = 0.05
"""Largest share of the time that goes into searches for children, and into exact measurements. Both take 0.1 ms or
much more, by the number of threads, of processes and of pages."""


class MemoryWatch:
    """Measure a process and its descendants while they work, and say when they take too much.

    Parameters
    ----------
    pid : int
        The learner's process.
    limit : int or None, default=None
        Bytes that they may take together.
    others_blocks : frozenset of str, default=frozenset()
        Blocks of shared memory that were there before: they are not theirs.

    Attributes
    ----------
    peak : int or None
        Most bytes since `begin`; None before the first look, or if the process could not be measured.
    before : int or None
        Bytes at `begin`.
    """

    def __init__(self, pid: int, limit: int | None = None, others_blocks: frozenset[str] = frozenset()) -> None:
        self.pid = pid
        self.limit = limit
        self.peak: int | None = None
        self.before: int | None = None
        self._now = 0
        self._file_backed = 0
        self._children: list[int] = []
        self._next_search = 0.0
        self._next_exact = 0.0
        # Share of the memory that remains if each page counts once.
        self._counted_once = 1.0
        self._seconds: float | None = None
        self._request_start = 0.0
        self._others_blocks = self._listed_blocks = others_blocks
        self._blocks: set[str] = set()

    def begin(self, seconds: float | None = None) -> None:
        """Begin anew: what follows has a peak of its own, and takes at most `seconds` for each request."""
        self._seconds = seconds
        reset_peak(self.pid)
        self.peak, self._file_backed, self._counted_once = None, 0, 1.0
        self.measure()
        self.before = self.peak

    def begin_request(self) -> None:
        """Begin to count the seconds of a request."""
        self._request_start = time.monotonic()

    @property
    def look_seconds(self) -> float:
        """Seconds until the next look: fewer as the memory, or the time of the request, comes closer to its limit."""
        seconds = _LOOK_SECONDS
        if self.limit is not None:
            seconds = min(seconds, (self.limit - self._now) / _MAX_BYTES_PER_SECOND)
        if self._seconds is not None:
            seconds = min(seconds, self._request_start + self._seconds - time.monotonic())
        return max(seconds, _MIN_LOOK_SECONDS)

    def look(self) -> None:
        """Measure once, and compare.

        Raises
        ------
        OutOfMemory
            If the processes take more than the limit.
        LearnerDied
            If the request takes more than its seconds; the runner then kills the process.
        """
        if self._seconds is not None and time.monotonic() - self._request_start > self._seconds:
            raise LearnerDied(f"it was stopped after {self._seconds:.3g} s, its share of the time")
        self.measure()
        if self.limit is not None and self._now > self.limit:
            raise OutOfMemory(self._now, self.limit)

    def measure(self) -> None:
        """Measure once."""
        own = read_memory_use(self.pid)
        if own is None:
            return
        children = [memory.now for pid in self._find_children() if (memory := read_memory_use(pid)) is not None]
        counted = own.now + sum(children)
        if children and self.limit is not None and counted > self.limit:
            # Children that were forked share pages with the process, and each counts them.
            self._measure_sharing(counted)
        if (listed := list_shared_blocks()) != self._listed_blocks:
            self._listed_blocks = listed
            self.find_blocks()
        self._now = (int(self._counted_once * counted) if children else counted) + count_block_bytes(self._blocks)
        self._file_backed = max(self._file_backed, own.file_backed)
        # The kernel's peak shows what came and went between two looks.
        self.peak = max(self.peak or 0, self._now, own.peak_resident - self._file_backed)

    def find_blocks(self) -> frozenset[str]:
        """Return the blocks of shared memory that the processes have, or had, mapped; others than those of before.

        A kill waits for this: for some microseconds, or some milliseconds if there are blocks that it does not know.
        """
        new = list_shared_blocks() - self._others_blocks - self._blocks
        if new:
            self._blocks |= find_mapped_blocks(new, [self.pid, *find_descendants(self.pid)])
        return frozenset(self._blocks)

    def _find_children(self) -> list[int]:
        start = time.monotonic()
        if start >= self._next_search:
            self._children = find_descendants(self.pid)
            self._next_search = _next_turn(start)
        return self._children

    def _measure_sharing(self, counted: int) -> None:
        """Measure exactly how much of the counted memory is there, unless the last exact measurement was just now."""
        start = time.monotonic()
        if start < self._next_exact:
            return
        self._counted_once = min(1.0, sum(map(read_exact_memory, [self.pid, *self._children])) / counted)
        self._next_exact = _next_turn(start)


def _next_turn(start: float) -> float:
    """Return when work that began at `start` and ends now may be done again."""
    end = time.monotonic()
    return end + (end - start) / _EFFORT_SHARE
