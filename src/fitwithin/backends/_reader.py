"""The learner's side of shared rows: rows by their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._messages import Rows
from .._pools import Portion
from .._tables import concatenate, take
from .._target import Array
from ._pickles import load
from ._places import Block, Column, Layout, Place, Span, Spots

_PIECE_BYTES = 16 << 20
_PIECE_ROWS = 1 << 17


class RowReader:
    """The learner's side: rows by their place.

    Parameters
    ----------
    layout : Layout
        What the rows look like.
    files : sequence of int
        Descriptors of the shared files.
    """

    def __init__(self, layout: Layout, files: tuple[int, ...]) -> None:
        self._layout = layout
        self._files = files
        self._file = layout.source.open() if layout.source is not None else None
        self._loaded: dict[int, Any] = {}

    def read(self, place: Place) -> Portion:
        """The rows at a place."""
        stop = place.stop if isinstance(place, Span) else int(place.at.max(initial=-1)) + 1
        columns = [self._column(number, stop)[_selection(place)] for number in range(len(self._layout.columns))]
        target, *others = columns
        extras = dict(zip(self._layout.extras, others, strict=False))
        return Portion(self._features(place, columns), self._layout.target.decode(target), extras)

    def read_in_pieces(self, place: Place) -> Iterator[Portion]:
        """The same, but never more than a piece of those rows at a time that must be gathered."""
        if isinstance(place, Span):
            yield self.read(place)
            return
        size = self._piece_rows()
        for start in range(0, len(place.at), size):
            yield self.read(Spots(place.at[start : start + size], place.blocks))

    def _piece_rows(self) -> int:
        if self._file is not None:
            return max(1, _PIECE_BYTES // max(1, Column.of(self._file).row_bytes))
        row_bytes = sum(column.row_bytes for column in self._layout.columns)
        return min(_PIECE_ROWS, max(1, _PIECE_BYTES // max(1, row_bytes)))

    def _column(self, number: int, stop: int) -> Array:
        return self._layout.columns[number].open(self._files[number], stop)

    def _features(self, place: Place, columns: list[Array]) -> Any:
        if self._file is not None:
            return self._file[_selection(place)]
        if not place.blocks:
            return columns[-1]
        return self._from_blocks(place)

    def _from_blocks(self, place: Place) -> Any:
        at = np.arange(place.start, place.stop) if isinstance(place, Span) else place.at
        parts, order = [], []
        for block in place.blocks:
            here = np.flatnonzero((at >= block.first) & (at < block.first + block.rows))
            if len(here):
                parts.append(self._part(block, at[here] - block.first))
                order.append(here)
        where = np.concatenate(order)
        whole = concatenate(parts)
        return whole if bool((np.diff(where) == 1).all()) else take(whole, np.argsort(where))

    def _part(self, block: Block, rows: Rows) -> Any:
        if block.offset not in self._loaded:
            self._loaded[block.offset] = load(self._files[-1], block.offset)
        table = self._loaded[block.offset]
        return table if np.array_equal(rows, np.arange(block.rows)) else take(table, rows)


def _selection(place: Place) -> slice | Rows:
    return slice(place.start, place.stop) if isinstance(place, Span) else place.at
