"""Parts of the blocks of a data set on disk: the first rows of every large block are read before the rest of any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.block_order import choose_block_order
from fitwithin._pools.pool import Clusters
from fitwithin._pools.target_pass import TargetPass

Counts = npt.NDArray[np.int64]

HEAD_ROWS = 1 << 16
"""Rows of a large block that are read first: few enough to be quick, many enough for the first fits."""

_LARGE_BLOCK_ROWS = 4 * HEAD_ROWS
"""Rows from which on a block counts as large: its head is decoded twice, which takes a quarter of its time at most."""


@dataclass(frozen=True)
class BlockPart:
    """Some rows of a block, side by side.

    Parameters
    ----------
    block : int
        Number of the block in the data set.
    start, stop : int
        The first row of the block, and the one after the last.
    """

    block: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class BlockIndex:
    """Finds the block that a row comes from.

    Parameters
    ----------
    part_starts : array of int
        Number of the first row of each part, in the order of reading, and the number of rows.
    part_blocks : array of int
        The block of each part.
    block_rows : array of int
        Rows of each block.
    """

    part_starts: Counts
    part_blocks: npt.NDArray[np.intp]
    block_rows: Counts

    def find_clusters(self, rows: Rows, codes: Array) -> Clusters:
        """Return the blocks that rows come from."""
        blocks = self.part_blocks[np.searchsorted(self.part_starts, rows, side="right") - 1]
        return Clusters(blocks, codes if codes.dtype.kind == "u" else None, self.block_rows)


@dataclass(frozen=True, eq=False)
class ReadingOrder:
    """What is read of a data set, one part after the other.

    Parameters
    ----------
    parts : sequence of BlockPart
        All rows, in the order of reading.
    cell_counts : array of int of shape (n_parts, n_classes)
        Rows of each class in each part; one column if the rows have no classes.
    """

    parts: Sequence[BlockPart]
    cell_counts: Counts

    @property
    def blocks(self) -> npt.NDArray[np.intp]:
        """The block of each part."""
        return np.array([part.block for part in self.parts], dtype=np.intp)


def choose_reading_order(
    found: TargetPass, rng: np.random.Generator, *, has_quick_heads: bool = False, is_shuffled: bool = False
) -> ReadingOrder:
    """Return the order in which to read a data set: blocks at random, the heads of large ones first.

    Parameters
    ----------
    found : TargetPass
        Rows and classes of each block.
    rng : numpy.random.Generator
        Makes the order random.
    has_quick_heads : bool, default=False
        Whether the first rows of a block are read in a fraction of the time that all of it takes.
    is_shuffled : bool, default=False
        Whether the rows lie in random order; then blocks are read whole, one after the other.
    """
    counts, rows = found.class_counts, found.block_rows
    heads = np.where(rows >= _LARGE_BLOCK_ROWS, HEAD_ROWS, rows) if has_quick_heads and not is_shuffled else rows
    head_counts = _count_heads(found, heads)
    order = choose_block_order(head_counts, rng, is_shuffled=is_shuffled)
    rest_order = choose_block_order(counts - head_counts, rng) if (heads < rows).any() else order[:0]
    parts = [BlockPart(block, 0, int(heads[block])) for block in order.tolist()]
    parts += [BlockPart(block, int(heads[block]), int(rows[block])) for block in rest_order.tolist()]
    return ReadingOrder(parts, np.concatenate([head_counts[order], (counts - head_counts)[rest_order]]))


def _count_heads(found: TargetPass, heads: Counts) -> Counts:
    """Return the rows of each class in the heads of all blocks."""
    n_classes = found.class_counts.shape[1]
    counts = found.class_counts.copy()
    for block in np.flatnonzero(heads < found.block_rows).tolist():
        if n_classes == 1:
            counts[block] = heads[block]
        else:
            counts[block] = np.bincount(found.codes[block][: heads[block]], minlength=n_classes)
    return counts
