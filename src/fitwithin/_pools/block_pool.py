"""Rows of a data set that is read block by block, by number, as far as they have been read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import ReadingFailed
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools.block_reader import BlockReader, RowSupply
from fitwithin._pools.decks.block_pile import BlockPile
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.reading_order import choose_reading_order
from fitwithin._pools.target_pass import TargetPass

HoldOut = Callable[[TargetPass, Array | None, int], TargetPass]
"""Chooses validation and holdout rows, given the target, the group of each row or None, and the number of blocks at
the end that are a validation set."""


class ReadingTraits(Protocol):
    """What the order of reading depends on; see `LabeledBlocks`."""

    rests: frozenset[int]
    is_shuffled: bool
    n_validation_blocks: int


class BlockPool:
    """Rows of a data set, which are read in the background.

    A row's number says when it is read: blocks are read in random order, and the rows of each in random order too.

    Parameters
    ----------
    found : TargetPass
        The target of all rows.
    X : frame or array
        The features without rows.
    seed : int
        Makes both orders random. The same seed gives the same numbers to the same rows.
    budget : Budget
        Ends waiting at the deadline.
    source : ReadingTraits
        The data set.

    Attributes
    ----------
    y : Labels or Values
        The target of the rows that have been read.
    row_params : dict of array
        Their weights, if they have any.
    supply : RowSupply
        Which rows have been read.
    index : BlockIndex
        The blocks in the order of reading, and the rows of each.
    n_given_rows : int
        Rows of the data set without the validation set.
    held_out : tuple of array or None
        Validation and holdout rows, in random order; None if the teacher chooses some.
    """

    y: Target
    row_params: Mapping[str, Array]

    def __init__(self, found: TargetPass, X: Any, seed: int, budget: Budget, source: ReadingTraits) -> None:
        self.X = self.training_table = X
        self._budget = budget
        self._seed = seed
        rng = np.random.default_rng(seed)
        self.index = choose_reading_order(found, rng, source.rests, is_shuffled=source.is_shuffled)
        self.supply = RowSupply(self.index)
        self.held_out = self.index.list_held_out(rng) if self.index.held_counts.any() else None
        self.n_given_rows = int(found.block_rows[: len(found.block_rows) - source.n_validation_blocks].sum())
        self._reader: BlockReader

    def __len__(self) -> int:
        return self.supply.n_rows

    def start(self) -> None:
        """Begin to read in the background."""
        self._reader.start()

    def close(self) -> None:
        """Stop reading and let go of the rows, without waiting for either."""
        self._reader.close()

    def wait_for(self, rows: Rows) -> None:
        """Wait until these rows have been read.

        Raises
        ------
        TimeoutError
            If the deadline comes before.
        ReadingFailed
            If they will never be read.
        """
        last = int(rows.max(initial=-1))
        if self.supply.wait(lambda: last < self.supply.n_rows_read, self._budget.remaining):
            return
        self._budget.raise_if_spent()
        raise ReadingFailed(self.supply.failure or "The data set is no longer read.")

    def make_deck(self, rng: np.random.Generator, costs: CostEstimates, min_class_rows: int = 1) -> Deck:
        """Return a deck that deals rows as they are read."""
        codes, counts = (self.y.codes, self.y.counts) if isinstance(self.y, Labels) else (None, None)
        pile = BlockPile(self.supply, rng, codes, counts, costs)
        return Deck(len(self), rng, min_class_rows=min_class_rows, costs=costs, pile=pile)

    def describe_unread_rows(self) -> str | None:
        """Return a sentence about the rows that could not be read; None if all could."""
        if self.supply.failure is None:
            return None
        return (
            f"{self.supply.failure} The model was trained on rows of the {self.supply.n_rows_read:,} of "
            f"{len(self):,} rows that could be read."
        )
