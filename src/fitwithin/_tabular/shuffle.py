"""A copy of a data set with its rows in random order, in two passes and bounded memory.

First the rows of each block go to random parts, then the rows of each part are permuted and written out. Every order of
all rows is equally likely. Each step writes one file, so that a shuffle resumes with the files that are missing.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock, Timeout

from fitwithin._core.atomic_write import atomic_write
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.column_types import needs_null_count
from fitwithin._pools.sources.dataset_blocks import DatasetBlocks
from fitwithin._pools.sources.paths import MARKER_NAME, STATE_NAME, ShuffledMarker, open_paths
from fitwithin._pools.sources.read_errors import translate_read_errors, translate_write_errors

_PART_BYTES = 1 << 26
"""Bytes of a part in memory: a random order costs less in a cache."""

_MAX_PARTS = 4096
"""Most parts; each is a small read from every block file."""

_BATCH_ROWS = 1 << 17
"""Rows of a record batch in the output."""

_THREADS = 2
"""Files at work at the same time; each takes about three times the memory of its rows."""

_OWN_FILE = re.compile(rf"(part|_block)-\d+\.arrow|{re.escape(MARKER_NAME)}|{re.escape(STATE_NAME)}")
"""Names of the files in the output."""

OnProgress = Callable[[int, int], None]
"""Called with the steps done and all steps."""


@dataclass(frozen=True)
class ShuffleState:
    """Source and order of an unfinished shuffle; the files that are there say how far it has come.

    Parameters
    ----------
    source : dict of str
        What tells the data set from another.
    seed : int
        Makes every order random; the same seed gives the same order.
    n_parts : int
        Files of the copy.
    """

    source: Mapping[str, str]
    seed: int
    n_parts: int


def shuffle_data_set(
    source: str | Path,
    out: Path,
    *,
    seed: int | None = None,
    force: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> ShuffledMarker:
    """Write the rows of a data set to a folder, in random order; return what its marker says.

    Parameters
    ----------
    source : str or Path
        Parquet or Arrow files, a folder of them, or a pattern.
    out : Path
        The folder to write. An unfinished shuffle in it is resumed, if the source is the same.
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
    if Path(source).is_dir() and out.resolve().is_relative_to(Path(source).resolve()):
        raise UserInputError(f"The folder {out} is part of the source.", "Choose one outside of it.")
    blocks = open_paths(source, as_stored=True)
    with translate_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        lock_file = out / ".lock"
        try:
            with FileLock(lock_file, timeout=0), ExitStack() as stack:
                stack.callback(lock_file.unlink, missing_ok=True)
                state = _open_state(blocks, out, seed, force=force)
                return _Shuffle(blocks, out, state, on_progress).run()
        except Timeout as error:
            raise UserInputError(
                f"Another program writes to {out}.", "Wait for it, or choose another folder."
            ) from error


def _open_state(blocks: DatasetBlocks, out: Path, seed: int | None, *, force: bool) -> ShuffleState:
    """Return the state of the unfinished shuffle in the folder, or of a new one."""
    described, path = dict(blocks.describe()), out / STATE_NAME
    if not force and path.is_file():
        try:
            found = ShuffleState(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise UserInputError(f"{path} is damaged: {error}.", "Begin again with --force.") from error
        if found.source == described and seed in (None, found.seed):
            return found
        raise UserInputError(
            f"{out} holds an unfinished shuffle of other rows, or with another seed.",
            "Choose another folder, or begin again with --force.",
        )
    _empty_folder(out, force=force)
    if not blocks.n_blocks:
        raise UserInputError("The data set has no rows.", "Is it the right one?")
    n_bytes = blocks.read(0, blocks.schema.names).nbytes * blocks.n_blocks
    n_parts = int(np.clip(-(-n_bytes // _PART_BYTES), 1, _MAX_PARTS))
    state = ShuffleState(described, secrets.randbits(32) if seed is None else seed, n_parts)
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(asdict(state)), encoding="utf-8")
    return state


def _empty_folder(out: Path, *, force: bool) -> None:
    """Delete what an earlier shuffle left; refuse anything else."""
    # The names by which it is known go first: what a kill leaves must not look complete.
    entries = sorted(entry for entry in out.iterdir() if not entry.name.startswith("."))
    is_shuffle = any(entry.name in (MARKER_NAME, STATE_NAME) for entry in entries)
    if entries and not (is_shuffle and all(entry.is_file() and _OWN_FILE.fullmatch(entry.name) for entry in entries)):
        raise UserInputError(f"The folder {out} is not empty.", "Choose another one.")
    if entries and not force:
        raise UserInputError(f"{out} holds a shuffled copy already.", "Choose another folder, or replace it: --force.")
    for entry in entries:
        entry.unlink()


@dataclass(eq=False)
class _Shuffle:
    """One shuffle at work."""

    blocks: DatasetBlocks
    out: Path
    state: ShuffleState
    on_progress: OnProgress

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._block_files: list[pa.ipc.RecordBatchFileReader] = []
        self._block_paths = [self.out / f"_block-{number:05}.arrow" for number in range(self.blocks.n_blocks)]
        self._part_paths = [self.out / f"part-{number:05}.arrow" for number in range(self.state.n_parts)]

    def run(self) -> ShuffledMarker:
        for unfinished in self.out.glob(".*.part"):
            unfinished.unlink()  # A killed run left it.
        self._make_files(self._write_block, self._block_paths)
        self._block_files = [_open_block(path) for path in self._block_paths]
        self._make_files(self._write_part, self._part_paths)
        n_rows = sum(int(block.schema.metadata[b"n_rows"]) for block in self._block_files)
        shared = pa.unify_schemas([block.schema for block in self._block_files])
        with_nulls = {
            stored.name
            for stored, source in zip(shared, self.blocks.schema, strict=True)
            if stored.nullable and needs_null_count(source.type)
        }
        marker = ShuffledMarker([path.name for path in self._part_paths], n_rows, sorted(with_nulls))
        marker.write(self.out)
        (self.out / STATE_NAME).unlink()
        self._block_files.clear()  # Windows does not remove a mapped file.
        for path in self._block_paths:
            path.unlink()
        return marker

    def _make_files(self, write: Callable[[int], None], paths: list[Path]) -> None:
        """Write the files of a pass that are missing."""
        missing = [number for number, path in enumerate(paths) if not path.exists()]
        n_before = len(paths) - len(missing) + (0 if paths is self._block_paths else len(self._block_paths))
        # An error ends the loop, and its end cancels the files that are not begun.
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="fitwithin-shuffle") as threads:
            for n_done, _ in enumerate(threads.map(write, missing), n_before + 1):
                self.on_progress(n_done, len(self._block_paths) + len(self._part_paths))

    def _write_block(self, number: int) -> None:
        """Send the rows of a block to random parts: one record batch for each part."""
        table = self.blocks.read(number, self.blocks.schema.names)
        n_parts = self.state.n_parts
        parts = np.random.default_rng([self.state.seed, 0, number]).integers(0, n_parts, len(table), dtype=np.uint16)
        rows = _take(table, np.argsort(parts, kind="stable"))
        # A column is nullable in the file if a value is missing in the block.
        fields = [field.with_nullable(rows[field.name].null_count > 0) for field in rows.schema]
        schema = pa.schema(fields, {"n_rows": str(len(table))})
        rows = pa.RecordBatch.from_arrays(rows.columns, schema=schema)
        ends = np.bincount(parts, minlength=n_parts).cumsum().tolist()
        with atomic_write(self._block_paths[number]) as temporary, pa.ipc.new_file(str(temporary), schema) as writer:
            for start, end in pairwise([0, *ends]):
                writer.write_batch(rows.slice(start, end - start))

    def _write_part(self, number: int) -> None:
        """Write the rows of a part in random order."""
        with self._lock:  # A reader is not made for several threads.
            batches = [block.get_batch(number) for block in self._block_files]
        labels = self.blocks.categories
        table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="default")
        rows = _take(table, np.random.default_rng([self.state.seed, 1, number]).permutation(len(table)))
        columns = [
            pa.DictionaryArray.from_arrays(values, labels[field.name], ordered=field.type.ordered)
            if field.name in labels
            else values
            for values, field in zip(rows.columns, self.blocks.schema, strict=True)
        ]
        schema = self.blocks.schema.with_metadata(self.blocks.metadata)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            atomic_write(self._part_paths[number]) as temporary,
            pa.ipc.new_file(str(temporary), schema, options=options) as writer,
        ):
            writer.write_table(pa.table(columns, schema=schema), max_chunksize=_BATCH_ROWS)


def _open_block(path: Path) -> pa.ipc.RecordBatchFileReader:
    """Map a block file into memory; it takes no file descriptor."""
    with translate_read_errors(path), pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(pa.BufferReader(file.read_buffer()))


def _take(table: pa.Table, rows: Array) -> pa.RecordBatch:
    """Return rows in this order, categorical columns by their codes: all blocks have the same categories."""
    # Row numbers in the smallest type are followed faster.
    order = pa.array(rows.astype(np.min_scalar_type(len(rows))))
    columns = []
    for column in table.columns:
        # Arrow would copy a single chunk.
        values = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        codes = values.indices if pa.types.is_dictionary(values.type) else values
        columns.append(pc.take(codes, order, boundscheck=False))
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)
