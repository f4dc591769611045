"""Rows by number, and some of them in the form that learners accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Target
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.tables import take_rows

if TYPE_CHECKING:
    from fitwithin._pools.disk_pool import DiskPool


@dataclass(frozen=True, eq=False)
class Clusters:
    """The blocks of a data set on disk that rows come from; rows of one block may be much alike.

    Parameters
    ----------
    blocks : array of int
        The block of each row.
    classes : array of int or None
        The class of each row, if the rows have classes.
    block_rows : array of int
        Rows of each block of the whole data set.
    """

    blocks: Array
    classes: Array | None
    block_rows: Array

    @classmethod
    def join(cls, clusters: Sequence[Clusters]) -> Clusters:
        """Return the clusters of several selections of rows, one after the other."""
        classes = [each.classes for each in clusters if each.classes is not None]
        return cls(
            np.concatenate([each.blocks for each in clusters]),
            np.concatenate(classes) if classes else None,
            clusters[0].block_rows,
        )

    def select(self, rows: Array) -> Clusters:
        """Return the clusters of these rows."""
        return Clusters(self.blocks[rows], None if self.classes is None else self.classes[rows], self.block_rows)


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Some rows of a pool, in the form that learners accept.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Features.
    y : array
        Labels or values, as the user gave them.
    row_params : dict of array
        Other arguments of `fit` with one entry for each row, such as `sample_weight`.
    clusters : Clusters or None
        The blocks that the rows come from, if they are read from a data set on disk.
    """

    X: Any
    y: Array
    row_params: Mapping[str, Array] = field(default_factory=dict)
    clusters: Clusters | None = None

    def __len__(self) -> int:
        return len(self.y)

    def split(self, size: int) -> Iterator[LabeledRows]:
        """Yield the same rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            row_params = {name: column[rows] for name, column in self.row_params.items()}
            yield LabeledRows(take_rows(self.X, rows), self.y[rows], row_params)

    @property
    def weights(self) -> Array | None:
        """`sample_weight` of these rows, or None."""
        return self.row_params.get("sample_weight")


class Pool(Protocol):
    """Rows that are read by number, as copies.

    Attributes
    ----------
    X : table
        The features; of a data set on disk, a frame without rows.
    y : Target
        The target of all rows; of a data set on disk, of those that have been read.
    row_params : dict of array
        Other arguments of `fit` with one entry for each row, such as `sample_weight`.
    n_given_rows : int
        Rows without those of a validation set.
    training_table : table
        X, without rows that no model is trained on.
    """

    X: Any
    y: Target
    row_params: Mapping[str, Array]
    n_given_rows: int
    training_table: Any

    def __len__(self) -> int:
        """Return the number of rows."""

    def read(self, rows: Rows) -> LabeledRows:
        """Return these rows in the form that learners accept."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Libraries that a process needs to read the rows."""

    @property
    def spooled(self) -> DiskPool | None:
        """The pool, if its rows lie in a spool that other processes map; None otherwise."""

    def start(self) -> None:
        """Begin to read rows in the background, if they are not in memory."""

    def close(self) -> None:
        """Stop reading, and let go of files."""

    def make_deck(self, rng: np.random.Generator, costs: CostEstimates, min_class_rows: int = 1) -> Deck:
        """Return the deck of the rows; see `Deck` for the parameters."""

    def describe(self) -> Mapping[str, str]:
        """Return what tells a data set on disk from another, by a name for users; nothing if only its rows do."""

    def describe_unread_rows(self) -> str | None:
        """Return a sentence about rows that could not be read; None if all could."""
