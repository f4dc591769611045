"""A copy of a data set with its rows in random order, in two passes and bounded memory.

First each row goes to a random bucket, then the rows of each bucket are permuted and written out, one bucket after the
other. Every order of all rows is equally likely.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.column_types import needs_null_count
from fitwithin._pools.sources.dataset_blocks import DatasetBlocks
from fitwithin._pools.sources.paths import open_paths
from fitwithin._pools.sources.read_errors import translate_write_errors
from fitwithin._pools.sources.shuffled_marker import MARKER_NAME, STATE_NAME, ShuffledMarker
from fitwithin._tabular.shuffling.bucket_files import append_rows, read_shuffled, split_rows
from fitwithin._tabular.shuffling.compression import choose_compression
from fitwithin._tabular.shuffling.shuffle_state import ShuffleState, load_state

_BUCKET_BYTES = 1 << 25
"""Bytes of a bucket in memory: its columns should fit into a cache, where a random order costs little."""

_MAX_BUCKETS = 4096
"""Most buckets; each takes a small write for every block."""

_PART_BYTES = 1 << 28
"""Bytes of an output file, about."""

_BATCH_ROWS = 1 << 17
"""Rows of a record batch in the output."""

_SAVE_SECONDS = 1.0
"""Seconds of work that a kill may cost, in the first pass."""

_THREADS = 2
"""Blocks at work at the same time; each takes about three times its own memory."""

_PART_THREADS = 3
"""Output files at work at the same time; while one waits for the disk, others go on."""

OnProgress = Callable[[int, int], None]
"""Called with the steps done and all steps."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class ShuffleResult:
    """What was written.

    Parameters
    ----------
    n_rows : int
        Rows in the copy.
    n_files : int
        Files in the folder.
    seconds : float
        How long it took.
    """

    n_rows: int
    n_files: int
    seconds: float


def shuffle_data_set(
    source: str | Path | list[str],
    out: Path,
    *,
    seed: int | None = None,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> ShuffleResult:
    """Write the rows of a data set to a folder, in random order.

    Parameters
    ----------
    source : str, Path or list of str
        Parquet or Arrow files, a folder of them, or a pattern.
    out : Path
        The folder to write. An unfinished shuffle in it goes on, if the source is the same.
    seed : int, optional
        Makes the order random; by default another one each time.
    force : bool, default=False
        Whether to replace another shuffled copy.
    on_progress : callable, optional
        Told after each step.

    Raises
    ------
    UserInputError
        If the source can't be read, or the folder holds anything else or can't be written to.
    """
    start = time.monotonic()
    _refuse_folder_in_source(source, out)
    blocks = open_paths(source, as_stored=True)
    with translate_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        with _locking(out):
            state = _open_state(blocks, out, seed, force=force)
            return _Shuffle(blocks, out, state, on_progress or _ignore).run(start)


@contextmanager
def _locking(out: Path) -> Iterator[None]:
    """Keep a second shuffle out of a folder."""
    lock = FileLock(out / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UserInputError(f"Another program writes to {out}.", "Wait for it, or choose another folder.") from error
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _refuse_folder_in_source(source: str | Path | list[str], out: Path) -> None:
    is_folder = isinstance(source, str | Path) and Path(source).is_dir()
    if is_folder and out.resolve().is_relative_to(Path(str(source)).resolve()):
        raise UserInputError(f"The folder {out} is part of the source.", "Choose one outside of it.")


def _ignore(done: int, total: int) -> None:
    pass


def _open_state(blocks: DatasetBlocks, out: Path, seed: int | None, *, force: bool) -> ShuffleState:
    """Return the state of the unfinished shuffle in the folder, or of a new one."""
    described = dict(blocks.describe())
    if not force:
        found = load_state(out)
        if found is not None and found.source == described and seed in (None, found.seed):
            return found
        if found is not None:
            raise UserInputError(
                f"{out} holds an unfinished shuffle of other rows, or with another seed.",
                "Choose another folder, or begin again with --force.",
            )
    _empty_folder(out, force=force)
    state = ShuffleState(described, secrets.randbits(32) if seed is None else seed, 1, blocks.n_blocks)
    state.n_buckets = _choose_bucket_count(blocks)
    state.sizes = [0] * state.n_buckets
    state.save(out)
    return state


def _choose_bucket_count(blocks: DatasetBlocks) -> int:
    if not blocks.n_blocks:
        raise UserInputError("The data set has no rows.", "Is it the right one?")
    first = blocks.read(0, blocks.schema.names).nbytes
    return int(np.clip(-(-first * blocks.n_blocks // _BUCKET_BYTES), 1, _MAX_BUCKETS))


def _empty_folder(out: Path, *, force: bool) -> None:
    """Delete what an earlier shuffle left; refuse anything else."""
    entries = [entry for entry in out.iterdir() if not entry.name.startswith(".")]
    ours = [entry for entry in entries if _is_ours(entry)]
    is_shuffle = any(entry.name in (MARKER_NAME, STATE_NAME) for entry in entries)
    if entries and (len(ours) < len(entries) or not is_shuffle):
        raise UserInputError(f"The folder {out} is not empty.", "Choose another one.")
    if entries and not force:
        raise UserInputError(f"{out} holds a shuffled copy already.", "Choose another folder, or replace it: --force.")
    # The names by which it is known go first: what a kill leaves must not look complete.
    for entry in sorted(ours, key=lambda entry: not entry.name.startswith("_")):
        entry.unlink()


def _is_ours(entry: Path) -> bool:
    return entry.name in (MARKER_NAME, STATE_NAME) or (
        entry.is_file() and entry.name.startswith(("part-", "_bucket-")) and entry.suffix in (".arrow", ".rows")
    )


class _Shuffle:
    """One shuffle at work."""

    def __init__(self, blocks: DatasetBlocks, out: Path, state: ShuffleState, on_progress: OnProgress) -> None:
        self._blocks = blocks
        self._out = out
        self._state = state
        self._names = blocks.schema.names
        self._nullable = [column.name for column in blocks.schema if needs_null_count(column.type)]
        self._on_progress = on_progress
        per_part = max(1, _PART_BYTES // _BUCKET_BYTES)
        self._parts = [
            range(first, min(first + per_part, state.n_buckets)) for first in range(0, state.n_buckets, per_part)
        ]

    def run(self, start: float) -> ShuffleResult:
        for unfinished in self._out.glob(".*.part"):
            unfinished.unlink()  # A killed run left it.
        self._fill_buckets()
        self._write_parts()
        names = [self._part_path(number).name for number in range(len(self._parts))]
        ShuffledMarker(names, self._state.n_rows, sorted(self._state.with_nulls)).write(self._out)
        (self._out / STATE_NAME).unlink()
        return ShuffleResult(self._state.n_rows, len(names), time.monotonic() - start)

    def _fill_buckets(self) -> None:
        """First pass: send the rows of each block to random buckets."""
        state = self._state
        if state.n_blocks_done == state.n_blocks:
            return
        self._cut_buckets()
        last_saved = time.monotonic()
        remaining = range(state.n_blocks_done, state.n_blocks)
        for n_rows, with_nulls, pieces in _map_ahead(self._split_block, remaining, _THREADS):
            for number, rows in pieces:
                state.sizes[number] = append_rows(self._bucket_path(number), rows)
            state.n_rows += n_rows
            state.with_nulls = sorted({*state.with_nulls, *with_nulls})
            state.n_blocks_done += 1
            if time.monotonic() - last_saved > _SAVE_SECONDS or state.n_blocks_done == state.n_blocks:
                state.save(self._out)
                last_saved = time.monotonic()
            self._report(0)

    def _split_block(self, number: int) -> tuple[int, list[str], list[tuple[int, pa.Buffer]]]:
        table = self._blocks.read(number, self._names)
        with_nulls = [name for name in self._nullable if table[name].null_count]
        rng = np.random.default_rng([self._state.seed, 0, number])
        return table.num_rows, with_nulls, split_rows(table, self._state.n_buckets, rng)

    def _cut_buckets(self) -> None:
        """Remove rows that a killed run wrote after its last note."""
        for number, size in enumerate(self._state.sizes):
            path = self._bucket_path(number)
            if (path.stat().st_size if path.exists() else 0) < size:
                raise UserInputError(f"{path} is shorter than it was.", "Begin again with --force.")
            if path.exists():
                with path.open("rb+") as file:
                    file.truncate(size)

    def _write_parts(self) -> None:
        """Second pass: write the rows of each bucket in random order."""
        missing = [number for number in range(len(self._parts)) if not self._part_path(number).exists()]
        n_written = len(self._parts) - len(missing)
        for number in _map_ahead(self._write_part, missing, _PART_THREADS):
            # Only what is written may be deleted.
            for bucket in self._parts[number]:
                self._bucket_path(bucket).unlink(missing_ok=True)
            n_written += 1
            self._report(n_written)
        for bucket in range(self._state.n_buckets):
            self._bucket_path(bucket).unlink(missing_ok=True)

    def _write_part(self, number: int) -> int:
        tables = map(self._read_bucket, self._parts[number])
        first = next(tables)
        with (
            atomic_write(self._part_path(number)) as temporary,
            pa.OSFile(str(temporary), "wb") as file,
            pa.ipc.new_file(file, first.schema, options=choose_compression(first)) as writer,
        ):
            for rows in chain([first], tables):
                writer.write_table(rows, max_chunksize=_BATCH_ROWS)
        return number

    def _read_bucket(self, number: int) -> pa.Table:
        rng = np.random.default_rng([self._state.seed, 1, number])
        rows = read_shuffled(self._bucket_path(number), self._blocks.schema, self._blocks.categories, rng)
        return rows.replace_schema_metadata(self._blocks.metadata)

    def _bucket_path(self, number: int) -> Path:
        return self._out / f"_bucket-{number:05}.rows"

    def _part_path(self, number: int) -> Path:
        return self._out / f"part-{number:05}.arrow"

    def _report(self, n_parts_written: int) -> None:
        """Count a pass over all blocks and one over all parts alike."""
        half = self._state.n_blocks_done / self._state.n_blocks
        other = n_parts_written / len(self._parts)
        self._on_progress(round(500 * half + 500 * other), 1000)


def _map_ahead(function: Callable[[_Item], _Result], items: Iterable[_Item], n_threads: int) -> Iterator[_Result]:
    """Yield the results in order; at most one more than `n_threads` of them are under way or wait."""
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(n_threads, thread_name_prefix="fitwithin-shuffle") as threads:
        try:
            for item in items:
                waiting.append(threads.submit(function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
