"""The spool: a file that rows of a data set on disk are copied to in the background, in random order."""

from __future__ import annotations

import atexit
import contextlib
import mmap
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.row_supply import RowSupply
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.sources.read_errors import shorten_reason
from fitwithin._pools.spool_file import SpoolFile, spool_error
from fitwithin._pools.spool_format import SpoolFormat
from fitwithin._pools.target_pass import TargetPass, read_values

if TYPE_CHECKING:
    import pyarrow as pa

_EXIT_SECONDS = 5.0
"""Seconds for which the end of the interpreter is put off until a block has been read."""

_ARROW_EXIT_SECONDS = 0.5
"""Seconds after that for threads of pyarrow, which nothing can join; without them two exits in five aborted."""

_OPEN_SPOOLS: weakref.WeakSet[Spool] = weakref.WeakSet()
"""Spools whose threads may be at work."""

_HURRIED_BLOCKS = 16
"""Blocks that are read as fast as possible in any case, so that the first rows come from many blocks."""

_PAUSE = 9.0
"""Pause after each block beyond those, relative to the time it took, while the learner has rows enough."""


class Spool:
    """Copy a data set on disk, block by block, to files that every process can map.

    Parameters
    ----------
    source : LabeledBlocks
        The data set.
    found : TargetPass
        Its target.
    supply : RowSupply
        Knows the order of reading, and is told of each block that was read.
    layout : SpoolFormat
        How features are written.
    seed : int
        Makes the order of the rows in each block random.
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
    bounds : list of int
        Where the features lie of the blocks that have been read, in bytes: the end of each, after 0.
    """

    def __init__(
        self,
        source: LabeledBlocks,
        found: TargetPass,
        supply: RowSupply,
        layout: SpoolFormat,
        seed: int,
        folder: str | None = None,
    ) -> None:
        self._source = source
        self._found = found
        self._supply = supply
        self._layout = layout
        self._seed = seed
        self._folder = folder
        self.files: dict[str, SpoolFile] = {}
        self.target = self._create_column("target", found.target.column.dtype)
        self.weights = None if source.weight is None else self._create_column("weight", np.dtype(np.float64))
        # Rows are added at its end, which takes a fifth of the time of filling a file that has its size.
        self.files["features"] = SpoolFile.create(folder)
        self.bounds = [0]
        self._must_stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read in the background."""
        self._thread = threading.Thread(target=self._run, name="fitwithin-spool", daemon=True)
        _OPEN_SPOOLS.add(self)
        self._thread.start()

    def close(self) -> None:
        """Stop reading, without waiting for the thread, which closes the files within about a second."""
        self._supply.end()
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
            self._supply.end(str(error))
        except Exception as error:  # file systems and formats raise errors of many kinds
            self._supply.end(f"The data set could not be read further: {shorten_reason(error)}.")
        # Memory that the libraries keep for another block.
        with contextlib.suppress(Exception):
            sys.modules["pyarrow"].default_memory_pool().release_unused()
        self._must_stop.wait()
        self._close_files()

    def _read_blocks(self) -> None:
        pause = 0.0
        for place in range(len(self._supply.cell_counts)):
            if place >= _HURRIED_BLOCKS:
                self._supply.pause(pause)
            if self._must_stop.is_set():
                return
            start = time.monotonic()
            table = self._read_block(place)
            try:
                self.bounds.append(self._write_block(table, place))
            except OSError as error:
                raise spool_error(self._folder, error) from error
            self._supply.add_block()
            pause = _PAUSE * (time.monotonic() - start)

    def _read_block(self, place: int) -> pa.Table:
        index = self._supply.index
        block, n_before = int(index.numbers[place]), int(index.offsets[place])
        n_rows, stop = int(index.block_rows[block]), n_before + int(index.cell_counts[place].sum())
        table = self._source.read_block(block, stop if stop < n_rows else None)
        if table.num_rows != stop:
            raise UserInputError(
                f"Block {block} of the data set has {table.num_rows:,} rows now and had {n_rows:,} when its "
                "labels were read: its files were changed during fit.",
                "Leave them in place until fit returns.",
            )
        return table.slice(n_before)

    def _write_block(self, table: pa.Table, place: int) -> int:
        """Write the rows of a block in random order, class after class; return where they end."""
        index = self._supply.index
        block, n_before, first = int(index.numbers[place]), int(index.offsets[place]), int(index.row_starts[place])
        order = np.arange(table.num_rows)
        np.random.default_rng((self._seed, block, n_before)).shuffle(order)
        if self._found.codes:
            codes = self._found.codes[block][n_before : n_before + len(order)]
            if index.cell_counts.shape[1] > 1:
                order = order[np.argsort(codes[order], kind="stable")]
            values = codes[order]
            if n_before + len(order) == index.block_rows[block]:
                # They are needed no more.
                self._found.codes[block] = codes[:0]
        else:
            values = read_values(table, self._source.target)[order]
        self._write_column("target", values.astype(self.target.dtype, copy=False), first)
        if self._source.weight is not None:
            self._write_column("weight", read_values(table, self._source.weight)[order].astype(np.float64), first)
        return self.bounds[-1] + self._layout.write(table, order, self.bounds[-1], self.files["features"].write)

    def _create_column(self, name: str, dtype: np.dtype[Any]) -> Array:
        """Create the file of a column, and return it mapped, read-only."""
        n_rows = self._supply.n_rows
        file = self.files[name] = SpoolFile.create(self._folder, n_rows * dtype.itemsize)
        return np.ndarray(n_rows, dtype, mmap.mmap(file.fd, n_rows * dtype.itemsize, access=mmap.ACCESS_READ))

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
    if _OPEN_SPOOLS:
        # Threads of pyarrow may still be in a call of a file system that is written in Python.
        time.sleep(_ARROW_EXIT_SECONDS)
