"""Rows that the parent has shared: where they lie, and how the learner's process reads them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.records import Rows
from fitwithin._core.target import Target
from fitwithin._pools.decks.table_pile import RowSet, drop_repeats, sort_distinct, split_rows
from fitwithin._pools.pool import LabeledRows, StackedTable
from fitwithin._pools.reading_order import BlockIndex
from fitwithin._pools.spool import SpoolFormat
from fitwithin._pools.tables import concatenate, is_contiguous, take_rows
from fitwithin.backends._model_runner import rows_per_piece, split_exam
from fitwithin.backends._process.shared_memory import MappedFile, SharedColumn, load_pickle

# How many bits of each 16-bit number are set. NumPy 1.26 cannot count bits.
_BIT_COUNTS = np.unpackbits(np.arange(2**16, dtype=np.uint16).view(np.uint8).reshape(-1, 2), axis=1).sum(1, np.uint8)


@dataclass(frozen=True)
class RowBlock:
    """A part of a table, pickled at `offset` of the block file; it fills `n_rows` positions from `first` on."""

    offset: int
    first: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Where the rows of a fit or an exam lie."""

    index: range | Rows  # a range, which is read without a copy, or any positions in any order
    blocks: tuple[Any, ...] = ()  # where those of a table of frames lie, or the ends of those of a spool, after 0

    @classmethod
    def from_positions(cls, positions: Rows, blocks: tuple[Any, ...] = ()) -> RowSelection:
        """Return the rows at these positions, as a range if possible."""
        if is_contiguous(positions):
            return cls(range(int(positions[0]), int(positions[-1]) + 1), blocks)
        return cls(positions, blocks)

    @property
    def positions(self) -> Rows:
        return np.arange(self.index.start, self.index.stop) if isinstance(self.index, range) else self.index


class RowPositions:
    """The position of each row that has one, in a number for each of these, and 3 bits a row of the pool."""

    def __init__(self, n_rows: int) -> None:
        self._rows = RowSet(n_rows)
        row_type = np.int32 if n_rows < 2**31 else np.int64
        # Positions in the order of the rows, and how many of them are of rows before each word of the set.
        self._positions: Rows = np.zeros(0, dtype=row_type)
        self._n_before: Rows = np.zeros(len(self._rows.words), dtype=row_type)

    def find(self, rows: Rows) -> Rows:
        """Return the position of each of these rows; every one must have a position."""
        return np.concatenate([self._positions[self._count_before(part)] for part in split_rows(rows)])

    def find_new(self, rows: Rows) -> Rows:
        """Return those of these rows that have no position, each once, in their order."""
        new = rows[~self._rows.holds(rows)]
        return new if len(sort_distinct(new)) == len(new) else drop_repeats(new)

    def set(self, rows: Rows, positions: Rows) -> None:
        """Give these rows new positions; of a row that comes twice, the last counts."""
        new = sort_distinct(rows[~self._rows.holds(rows)])
        if len(new):
            self._positions = np.insert(self._positions, self._count_before(new), 0)
            self._rows.add(new)
            np.cumsum(_BIT_COUNTS[self._rows.words[:-1]], out=self._n_before[1:])
        self._positions[self._count_before(rows)] = positions

    def _count_before(self, rows: Rows) -> Rows:
        """Return how many rows before each of these have a position."""
        words = rows >> 4
        lower_bits = np.left_shift(np.uint16(1), (rows & 15).astype(np.uint16)) - np.uint16(1)
        n_before: Rows = self._n_before[words] + _BIT_COUNTS[self._rows.words[words] & lower_bits]
        return n_before


@dataclass(frozen=True, eq=False)
class RowLayout:
    """What a learner's process must know to read the shared files."""

    # One for each shared file: the target, the row_params, and the features if they are a plain array.
    columns: tuple[SharedColumn, ...]
    target: Target  # decodes the first column; holds no rows itself
    row_params: tuple[str, ...]
    tables: tuple[MappedFile, ...] = ()  # features in files that follow those of the columns; two of a `StackedTable`
    spool: SpoolFormat | None = None  # how the features of a data set on disk lie in the last file
    # The block of the data set of each row. Without a spool, a column of row numbers follows the row_params.
    index: BlockIndex | None = None


class RowReader:
    """Read shared rows in the learner's process."""

    def __init__(self, layout: RowLayout, files: tuple[int, ...]) -> None:
        self._layout = layout
        self._files = files
        # Features that have a file of their own.
        tables = [table.open(file) for table, file in zip(layout.tables, files[len(layout.columns) :], strict=False)]
        self._mapped: Any = StackedTable(*tables) if len(tables) == 2 else next(iter(tables), None)
        self._spool = None if layout.spool is None else layout.spool.open(files[-1])
        self._load_block = functools.partial(load_pickle, files[-1])

    def read(self, selection: RowSelection) -> LabeledRows:
        """Return the selected rows; whatever the learner writes into them, the next reading sees the pool's."""
        return self._read(selection, self._load_block, None)

    def _read(self, selection: RowSelection, load_block: Callable[[int], Any], index: BlockIndex | None) -> LabeledRows:
        found = selection.index
        where = slice(found.start, found.stop) if isinstance(found, range) else found
        stop = found.stop if isinstance(found, range) else int(found.max(initial=-1)) + 1
        shared = zip(self._layout.columns, self._files, strict=False)
        columns = [column.open(file, stop)[where] for column, file in shared]
        target, *others = columns
        row_params = dict(zip(self._layout.row_params, others, strict=False))
        if self._mapped is not None:
            X = self._mapped[selection.positions]
        elif self._spool is not None and self._layout.index is not None:
            X = self._spool.read(selection.positions, self._layout.index, selection.blocks)
        else:
            X = _read_blocks(selection, load_block) if selection.blocks else columns[-1]
        clusters = None
        if index is not None:
            numbers = others[len(row_params)] if self._spool is None else selection.positions
            clusters = index.find_clusters(numbers, target)
        return LabeledRows(X, self._layout.target.decode(target), row_params, clusters)

    def read_in_pieces(self, selection: RowSelection, seconds: float | None = None) -> Iterator[LabeledRows]:
        """Yield the selected rows piece by piece; a range at once if there is time, because that copies nothing."""
        n_rows = len(selection.index)
        size = n_rows if isinstance(selection.index, range) else rows_per_piece(self._row_bytes())
        # Pieces share blocks.
        load_block = functools.cache(self._load_block)
        for piece in split_exam(n_rows, size, seconds):
            # Only an interval needs the blocks that the rows come from.
            part = RowSelection(selection.index[piece], selection.blocks)
            yield self._read(part, load_block, self._layout.index)

    def _row_bytes(self) -> int:
        if self._mapped is not None:
            return SharedColumn.from_array(self._mapped).row_bytes
        if self._layout.spool is not None:
            return self._layout.spool.row_bytes
        return sum(column.row_bytes for column in self._layout.columns)


def _read_blocks(selection: RowSelection, load_block: Callable[[int], Any]) -> Any:
    positions = selection.positions
    parts, found = [], []
    for block in selection.blocks:
        here = np.flatnonzero((positions >= block.first) & (positions < block.first + block.n_rows))
        if len(here):
            part, rows = load_block(block.offset), positions[here] - block.first
            parts.append(part if np.array_equal(rows, np.arange(block.n_rows)) else take_rows(part, rows))
            found.append(here)
    order = np.concatenate(found)
    table = concatenate(parts)
    return table if is_contiguous(order) else take_rows(table, np.argsort(order))
