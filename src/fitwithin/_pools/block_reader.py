"""The thread that reads a data set in the background, block by block."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.row_supply import RowSupply
from fitwithin._pools.sources.read_errors import shorten_reason

_EXIT_SECONDS = 5.0
"""Seconds for which the end of the interpreter is put off until a block has been read."""

_ARROW_EXIT_SECONDS = 0.5
"""Seconds after that for threads of pyarrow, which nothing can join; without them two exits in five aborted."""

_OPEN_READERS: weakref.WeakSet[BlockReader] = weakref.WeakSet()
"""Readers whose threads may be at work."""

_HURRIED_BLOCKS = 16
"""Blocks, or their heads, that are read as fast as possible in any case, so that the first rows come from many."""


@dataclass(eq=False)
class BlockReader:
    """Read a data set in a thread, in the order of its index; slowly while the learner has rows enough.

    Parameters
    ----------
    supply : RowSupply
        Is told of each block that was read.
    read : callable
        Reads the block at a place.
    pause : float
        Pause after a block while the learner has rows enough, relative to the time it took.
    release : callable
        Called once no further block will be read.
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
            if place >= _HURRIED_BLOCKS or self.supply.index.is_rest[place]:
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
