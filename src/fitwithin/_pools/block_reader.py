"""The thread that reads a data set in the background, block by block, and the rows that it has read so far."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass

from fitwithin._core.exceptions import UserInputError, shorten_reason
from fitwithin._pools.reading_order import BlockIndex

_CHECK_SECONDS = 0.05
"""Seconds between two looks at the time, while nothing is read."""

_LEAD = 2
"""How many times the rows in use are read without a pause, so that the next deals find theirs."""

_EXIT_SECONDS = 5.0
"""Seconds for which the end of the interpreter is put off until a block has been read."""

_ARROW_EXIT_SECONDS = 0.5
"""Seconds after that for threads of pyarrow, which nothing can join; without them two exits in five aborted."""

_OPEN_READERS: weakref.WeakSet[BlockReader] = weakref.WeakSet()
"""Readers whose threads may be at work."""

_HURRIED_BLOCKS = 16
"""Blocks, or their heads, that are read as fast as possible in any case, so that the first rows come from many."""


class RowSupply:
    """Rows that are read block by block: one thread reads, and others wait for rows.

    The rows of a cell are in random order: its first rows are a random sample of it. `cell_counts` are those that are
    not held out; `shares` the rows that each cell stands for: its own, and those of the rest of its block until that
    has been read. `is_over` tells that no further rows will come, and `failure` why reading ended before all blocks
    were read.

    Examples
    --------
    >>> import numpy as np
    >>> supply = RowSupply(BlockIndex(np.array([[2, 1], [3, 0]])))
    >>> supply.n_rows, supply.n_rows_read
    (6, 0)
    >>> supply.add_block()
    >>> supply.n_rows_read, supply.is_over
    (3, False)
    """

    def __init__(self, index: BlockIndex) -> None:
        self.index = index
        self.n_rows = int(index.row_starts[-1])
        self.cell_counts = index.training_counts
        self.shares = self.cell_counts.copy()
        for rest, head in index.heads.items():
            self.shares[head] += self.cell_counts[rest]
        self.failure: str | None = None
        self.n_places_read = 0
        self.is_over = not len(index.cell_counts)
        self._n_dealt = 0
        self._n_waiting = 0
        self._changed = threading.Condition()

    @property
    def n_rows_read(self) -> int:
        """Rows that have been read: those with smaller numbers."""
        return int(self.index.row_starts[self.n_places_read])

    def add_block(self) -> None:
        """Note that the next block has been read."""
        with self._changed:
            head = self.index.heads.get(self.n_places_read)
            if head is not None:
                self.shares[head] = self.cell_counts[head]
            self.n_places_read += 1
            self.is_over = self.n_places_read == len(self.cell_counts)
            self._changed.notify_all()

    def end(self, failure: str | None = None) -> None:
        """Note that no further block will be read, and why."""
        with self._changed:
            if not self.is_over:
                self.failure = failure
            self.is_over = True
            self._changed.notify_all()

    def wait(self, is_enough: Callable[[], bool], seconds_left: Callable[[], float]) -> bool:
        """Wait until enough has been read, nothing more will be, or no time is left; return whether it is enough."""
        with self._changed:
            self._n_waiting += 1
            self._changed.notify_all()
            try:
                while not is_enough():
                    seconds = seconds_left()
                    if self.is_over or seconds <= 0:
                        return False
                    self._changed.wait(min(_CHECK_SECONDS, seconds))
            finally:
                self._n_waiting -= 1
        return True

    def note_dealt(self, n_rows: int) -> None:
        """Note how many rows are in use."""
        with self._changed:
            self._n_dealt = n_rows
            self._changed.notify_all()

    def pause(self, seconds: float) -> bool:
        """Wait for the given time, or until more rows are wanted; return whether they are, or reading has ended.

        Reading and the learner share the processor, so rows that are not needed yet are read slowly.
        """
        with self._changed:
            return self._changed.wait_for(
                lambda: self.is_over or self._n_waiting > 0 or self.n_rows_read < _LEAD * self._n_dealt, seconds
            )


@dataclass(eq=False)
class BlockReader:
    """Read a data set in a thread, in the order of its index; slowly while the learner has rows enough.

    `read` reads the block at a place, and `release` is called once no further block will be read. `pause` is the pause
    after a block, relative to the time it took.
    """

    supply: RowSupply
    read: Callable[[int], None]
    pause: float
    release: Callable[[], None]

    def __post_init__(self) -> None:
        self._must_stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read in the background."""
        self._thread = threading.Thread(target=self._run, name="fitwithin-reader", daemon=True)
        _OPEN_READERS.add(self)
        self._thread.start()

    def close(self) -> None:
        """Stop reading, without waiting for the thread, which lets go of the rows within about a second."""
        self.supply.end()
        self._must_stop.set()
        if self._thread is None:
            self.release()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        try:
            self._read_blocks()
        except UserInputError as error:
            self.supply.end(str(error))
        except Exception as error:  # file systems and formats raise errors of many kinds
            self.supply.end(f"The data set could not be read further: {shorten_reason(error)}.")
        # Memory that the libraries keep for another block.
        with contextlib.suppress(Exception):
            sys.modules["pyarrow"].default_memory_pool().release_unused()
        self._must_stop.wait()
        self.release()

    def _read_blocks(self) -> None:
        pause = 0.0
        for place in range(len(self.supply.cell_counts)):
            if place >= _HURRIED_BLOCKS or place in self.supply.index.heads:
                self.supply.pause(pause)
            if self._must_stop.is_set():
                return
            start = time.monotonic()
            self.read(place)
            self.supply.add_block()
            pause = self.pause * (time.monotonic() - start)


@atexit.register
def _join_threads() -> None:
    """Let a thread that was stopped end before the interpreter does, which would abort in the middle of a block."""
    end = time.monotonic() + _EXIT_SECONDS
    for reader in list(_OPEN_READERS):
        reader.close()
        reader.join(max(0.0, end - time.monotonic()))
    if _OPEN_READERS:
        # Threads of pyarrow may still be in a call of a file system that is written in Python.
        time.sleep(_ARROW_EXIT_SECONDS)
