"""The spool: a file that rows of a data set on disk are copied to in the background, in random order."""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.reading_order import BlockRows
from fitwithin._pools.row_supply import RowSupply
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.spool_file import SpoolFile, spool_error
from fitwithin._pools.spool_format import ALIGNMENT_BYTES, SpoolFormat, StoredBlock
from fitwithin._pools.target_pass import TargetPass, read_values

if TYPE_CHECKING:
    import pyarrow as pa

_EXIT_SECONDS = 5.0
"""Seconds for which the end of the interpreter is put off until a block has been read."""

_OPEN_SPOOLS: weakref.WeakSet[Spool] = weakref.WeakSet()
"""Spools whose threads may be at work."""

_HURRIED_PARTS = 16
"""Parts of blocks that are read as fast as possible in any case, so that the first rows come from many blocks."""

_PAUSE = 9.0
"""Pause after each part beyond those, relative to the time it took, while the learner has rows enough."""

_BACKGROUND_NICENESS = 10
"""How far the thread stands back for the learner after that; on Linux each thread has its own priority."""


@dataclass(frozen=True, eq=False)
class SpoolSource:
    """What is read, and in which order.

    Parameters
    ----------
    source : LabeledBlocks
        The data set.
    found : TargetPass
        Its target.
    parts : sequence of BlockRows
        All rows, in the order of reading.
    supply : RowSupply
        Told of each part that was read; its classes are those that rows are sorted by.
    layout : SpoolFormat
        How features are written.
    seed : int
        Makes the order of the rows in each block random.
    """

    source: LabeledBlocks
    found: TargetPass
    parts: Sequence[BlockRows]
    supply: RowSupply
    layout: SpoolFormat
    seed: int


class Spool:
    """Copy a data set on disk, block by block, to files that every process can map.

    Parameters
    ----------
    plan : SpoolSource
        What to read.
    folder : str or None
        Where the files lie; None is the temporary folder.

    Attributes
    ----------
    files : dict of SpoolFile
        "target" and "features", and "weight" if the rows have weights.
    target : array
        The target of each row that has been read.
    weights : array or None
        Their weights.
    segments : list of StoredBlock
        Where the features of the blocks lie that have been read.
    """

    def __init__(self, plan: SpoolSource, folder: str | None = None) -> None:
        self._plan = plan
        self._folder = folder
        n_rows, target = plan.supply.n_rows, plan.found.target.column.dtype
        self.files = {"target": SpoolFile.create(folder, n_rows * target.itemsize)}
        self.target = _map(self.files["target"], n_rows, target)
        self.weights: Array | None = None
        if plan.source.weight is not None:
            self.files["weight"] = SpoolFile.create(folder, n_rows * np.dtype(np.float64).itemsize)
            self.weights = _map(self.files["weight"], n_rows, np.dtype(np.float64))
        # Rows are added at its end, which takes a fifth of the time of filling a file that has its size.
        self.files["features"] = SpoolFile.create(folder)
        self.segments: list[StoredBlock] = []
        self._must_stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read in the background."""
        self._thread = threading.Thread(target=self._run, name="fitwithin-spool", daemon=True)
        _OPEN_SPOOLS.add(self)
        self._thread.start()

    def close(self) -> None:
        """Stop reading, without waiting for the thread, which closes the files within about a second."""
        self._plan.supply.end()
        self._must_stop.set()
        if self._thread is None:
            self._close_files()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        try:
            self._read_blocks()
        except UserInputError as error:
            self._plan.supply.end(str(error))
        except Exception as error:  # file systems and formats raise errors of many kinds
            self._plan.supply.end(f"The data set could not be read further: {_one_line(error)}")
        # Memory that the libraries keep for another block.
        with contextlib.suppress(Exception):
            sys.modules["pyarrow"].default_memory_pool().release_unused()
        self._must_stop.wait()
        self._close_files()

    def _read_blocks(self) -> None:
        plan = self._plan
        pause = 0.0
        for place, part in enumerate(plan.parts):
            if place == _HURRIED_PARTS:
                _lower_priority()
            if place >= _HURRIED_PARTS:
                plan.supply.pause(pause)
            if self._must_stop.is_set():
                return
            start = time.monotonic()
            table = self._read_part(part)
            try:
                self.segments.append(self._write_part(table, place, part))
            except OSError as error:
                raise spool_error(self._folder, error) from error
            plan.supply.add_block()
            pause = _PAUSE * (time.monotonic() - start)

    def _read_part(self, part: BlockRows) -> pa.Table:
        n_rows = int(self._plan.found.block_rows[part.block])
        table = self._plan.source.read_block(part.block, part.stop if part.stop < n_rows else None)
        if table.num_rows != part.stop:
            raise UserInputError(
                f"Block {part.block} of the data set has {table.num_rows:,} rows now and had {n_rows:,} when its "
                "labels were read: its files were changed during fit.",
                "Leave them in place until fit returns.",
            )
        return table.slice(part.start)

    def _write_part(self, table: pa.Table, place: int, part: BlockRows) -> StoredBlock:
        """Write some rows of a block in random order, class after class."""
        plan = self._plan
        first = int(plan.supply.block_starts[place])
        order = np.arange(table.num_rows, dtype=np.int32)
        np.random.default_rng((plan.seed, part.block, part.start)).shuffle(order)
        if plan.found.codes:
            codes = plan.found.codes[part.block][part.start : part.stop]
            if plan.supply.cell_counts.shape[1] > 1:
                order = order[np.argsort(codes[order], kind="stable")]
            values = codes[order]
            if part.stop == plan.found.block_rows[part.block]:
                # They are needed no more.
                plan.found.codes[part.block] = codes[:0]
        else:
            values = read_values(table, plan.source.target)[order]
        self._write_column("target", values.astype(self.target.dtype, copy=False), first)
        if plan.source.weight is not None:
            self._write_column("weight", read_values(table, plan.source.weight)[order].astype(np.float64), first)
        end = self.segments[-1].offset + self.segments[-1].n_bytes if self.segments else 0
        # Rows of one size follow each other without a gap.
        offset = end if plan.layout.row_bytes else end + -end % ALIGNMENT_BYTES
        n_bytes = plan.layout.write(table, order.astype(np.intp), offset, self.files["features"].write)
        return StoredBlock(first, len(order), offset, n_bytes)

    def _write_column(self, name: str, values: Array, first: int) -> None:
        self.files[name].write(np.ascontiguousarray(values).view(np.uint8).data, first * values.itemsize)

    def _close_files(self) -> None:
        for file in self.files.values():
            file.close()


@atexit.register
def _join_threads() -> None:
    """Let a thread that was stopped end before the interpreter does, which would abort in the middle of a block."""
    end = time.monotonic() + _EXIT_SECONDS
    for spool in list(_OPEN_SPOOLS):
        spool.close()
        spool.join(max(0.0, end - time.monotonic()))


def _map(file: SpoolFile, n_rows: int, dtype: np.dtype[Any]) -> Array:
    """Map a column of the spool, read-only."""
    return np.ndarray(n_rows, dtype, mmap.mmap(file.fd, n_rows * dtype.itemsize, access=mmap.ACCESS_READ))


def _lower_priority() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BACKGROUND_NICENESS)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith(".") else f"{text}."
