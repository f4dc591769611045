"""The checked input of a fit, and the deck of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.target import Labels
from fitwithin._pools.decks.block_pile import BlockPile
from fitwithin._pools.disk_pool import DiskPool
from fitwithin._pools.table_pool import StackedTable, TablePool
from fitwithin._session.fingerprint import Fingerprint
from fitwithin._session.held_out_rows import HeldOutRows
from fitwithin.backends import FitSettings
from fitwithin.teachers import Deck

# Least rows of the rarest class in a first subset, for metrics other than accuracy, which are often undefined on fewer.
_MIN_CLASS_ROWS = 20


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The checked input of `fit`.

    Parameters
    ----------
    learner : estimator
        A clone of the user's learner, with its random states filled.
    pool : TablePool or DiskPool
        The rows of X and, after them, those of X_val.
    settings : FitSettings
        How to fit and score the learner.
    labels : Labels or None
        The class of each row; None for regression.
    rng : numpy.random.Generator
        For every choice of rows.
    fingerprint : dict or None
        The rows and the learner, to compare with an earlier fit; None if there is none to compare with.
    held_out : HeldOutRows or None
        Validation and holdout rows that the user chose; None if the teacher chooses them.
    """

    learner: Any
    pool: TablePool | DiskPool
    settings: FitSettings
    labels: Labels | None
    rng: np.random.Generator
    fingerprint: Fingerprint | None = None
    held_out: HeldOutRows | None = None

    @property
    def training_table(self) -> Any:
        """X, without X_val; of a data set on disk, a frame without rows."""
        return self.pool.X.first if isinstance(self.pool.X, StackedTable) else self.pool.X

    def make_deck(self, costs: CostEstimates) -> Deck:
        """Return the deck that deals the rows."""
        codes, counts = (None, None) if self.labels is None else (self.labels.codes, self.labels.counts)
        min_class_rows = 1 if self.settings.scoring.is_accuracy else _MIN_CLASS_ROWS
        if isinstance(self.pool, DiskPool):
            pile = BlockPile(self.pool.supply, self.rng, codes, counts, costs)
            return Deck(len(self.pool), self.rng, None, min_class_rows, costs, pile=pile)
        deck = Deck(len(self.pool), self.rng, codes, min_class_rows, costs, counts)
        if self.held_out is not None:
            deck.hold_out(self.held_out.validation, self.held_out.holdout, can_refit=self.held_out.can_refit)
        return deck

    def start_reading(self) -> None:
        """Begin to read a data set on disk in the background."""
        if isinstance(self.pool, DiskPool):
            self.pool.start()

    def close(self) -> None:
        """Stop reading a data set on disk, and let go of its spool."""
        if isinstance(self.pool, DiskPool):
            self.pool.close()

    def describe_unread_rows(self) -> str | None:
        """Return a sentence about rows of a data set on disk that could not be read; None if all could."""
        if not isinstance(self.pool, DiskPool) or self.pool.supply.failure is None:
            return None
        return self.pool.describe_failure()
