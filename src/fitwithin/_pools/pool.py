"""Rows by number, and some of them in the form that learners accept; rows of tables in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target, count_codes
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.decks.table_pile import drop_repeats
from fitwithin._pools.tables import concatenate, copy_if_view, is_frame, list_columns, take_rows

# Rows that are looked at: a value that is there once only is too rare to matter. It takes 50 ms for 20 columns.
_MAX_SAMPLE_ROWS = 20_000
_MAX_CELLS = 1_000_000
_MAX_GROWTH = 2  # rows that are added, for each row of the lesson; more would take longer than a first lesson should


@dataclass(frozen=True, eq=False)
class Clusters:
    """The blocks of a data set on disk that rows come from; rows of one block may be much alike."""

    blocks: Array  # of each row
    classes: Array | None  # of each row, if they have classes
    block_rows: Array  # rows of each block of the whole data set

    @classmethod
    def join(cls, clusters: Sequence[Clusters]) -> Clusters:
        """Return the clusters of several selections of rows, one after the other."""
        classes = [each.classes for each in clusters if each.classes is not None]
        blocks = np.concatenate([each.blocks for each in clusters])
        return cls(blocks, np.concatenate(classes) if classes else None, clusters[0].block_rows)

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
        For rows of a data set on disk, the blocks that they come from.
    """

    X: Any
    y: Array
    row_params: Mapping[str, Array] = field(default_factory=dict)
    clusters: Clusters | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Rows) -> LabeledRows:
        """Return some of these rows."""
        row_params = {name: column[rows] for name, column in self.row_params.items()}
        return LabeledRows(take_rows(self.X, rows), self.y[rows], row_params)

    def split(self, size: int) -> Iterator[LabeledRows]:
        """Yield the same rows in order, `size` at a time."""
        return (self.take(np.arange(start, min(start + size, len(self)))) for start in range(0, len(self), size))

    @property
    def weights(self) -> Array | None:
        """`sample_weight` of these rows, or None."""
        return self.row_params.get("sample_weight")


class Pool(Protocol):
    """Rows that are read by number, as copies. By default they are in memory from the beginning."""

    X: Any  # the features; of a data set on disk, a frame without rows
    y: Target  # of all rows; of a data set on disk, of those that have been read
    row_params: Mapping[str, Array]  # other arguments of `fit` with one entry for each row
    n_given_rows: int  # without those that no model is trained on
    training_table: Any  # X without these rows

    def __len__(self) -> int:
        """Return the number of rows."""

    def read(self, rows: Rows) -> LabeledRows:
        """Return these rows in the form that learners accept."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Libraries that a process needs to read the rows."""
        return ()

    def start(self) -> None:
        """Begin to read rows in the background, if they are not in memory."""
        return

    def close(self) -> None:
        """Stop reading, and let go of files."""
        return

    def make_deck(self, rng: np.random.Generator, costs: CostEstimates, min_class_rows: int = 1) -> Deck:
        """Return the deck of the rows; see `Deck`."""

    def describe(self) -> Mapping[str, str]:
        """Return what tells a data set on disk from another, by a name for users; nothing if only its rows do."""
        return {}

    def describe_unread_rows(self) -> str | None:
        """Return a sentence about rows that could not be read; None if all could."""
        return None


class TablePool(Pool):
    """Rows of a table, which is never copied as a whole: an array, a `numpy.memmap`, a sparse matrix or a frame."""

    def __init__(self, X: Any, y: Target, row_params: Mapping[str, Array] | None = None) -> None:
        self.X, self.y = X, y
        self.row_params: Mapping[str, Array] = dict(row_params or {})
        self.n_given_rows = len(self)
        self.training_table: Any = X.first if isinstance(X, StackedTable) else X

    def __len__(self) -> int:
        return len(self.y.column)

    def add_validation_rows(self, more: TablePool) -> TablePool:
        """Return a pool of these rows and, numbered after them, others of weight 1 that no model is trained on."""
        row_params = {}
        for name, column in self.row_params.items():
            # Arguments other than weights are used in training only.
            filled = np.full((len(more), *column.shape[1:]), name == "sample_weight", column.dtype)
            row_params[name] = np.concatenate([column, filled])
        return TablePool(StackedTable(self.X, more.X), self.y.extend(more.y), row_params)

    def read(self, rows: Rows) -> LabeledRows:
        """Return a copy of these rows."""
        row_params = {name: column[rows] for name, column in self.row_params.items()}
        return LabeledRows(copy_if_view(take_rows(self.X, rows)), self.y.decode(self.y.column[rows]), row_params)

    def make_deck(self, rng: np.random.Generator, costs: CostEstimates, min_class_rows: int = 1) -> Deck:
        """Return the deck of the rows."""
        strata = self.find_strata()
        codes, counts = (None, None) if strata is None else (strata.codes, strata.counts)
        return Deck(len(self), rng, codes, min_class_rows, costs, counts)

    def find_strata(self) -> Labels | None:
        """Return the classes to draw rows by; rows of weight 0 are classes of their own, so that others are drawn."""
        labels = self.y if isinstance(self.y, Labels) else None
        weights = self.row_params.get("sample_weight")
        if weights is None or weights.all():
            return labels
        classes = np.arange(1) if labels is None else labels.classes
        codes = (weights == 0) * np.uint32(len(classes)) + (0 if labels is None else labels.codes)
        return Labels(np.tile(classes, 2), codes, count_codes(codes, 2 * len(classes)))

    def find_missing_values(self, lesson: Rows, sample: Callable[[int], Rows]) -> Rows:
        """Return rows with values that are frequent in a sample, and missing in a lesson."""
        table = self.training_table
        if not (is_frame(table) or (isinstance(table, np.ndarray) and table.ndim > 1)):
            return lesson[:0]
        count = min(_MAX_SAMPLE_ROWS, _MAX_CELLS // max(1, int(np.prod(self.X.shape[1:]))))
        return find_missing_values(self.X, lesson, drop_repeats(sample(count)))


class StackedTable:
    """Rows of two tables with the same columns, numbered one table after the other; rows read have the first's type."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.shape: tuple[int, ...] = (first.shape[0] + second.shape[0], *first.shape[1:])
        # Frames have none.
        self.dtype = getattr(first, "dtype", None)

    def __getitem__(self, rows: Rows) -> Any:
        n_first = self.first.shape[0]
        is_second = rows >= n_first
        if not is_second.any():
            return take_rows(self.first, rows)
        second = take_rows(self.second, rows[is_second] - n_first)
        if not is_frame(self.first):
            second = second.astype(self.dtype, copy=False)
        if is_second.all():
            return second
        both = concatenate([take_rows(self.first, rows[~is_second]), second])
        # Back into the order of `rows`, in which rows of the two tables may alternate.
        return take_rows(both, np.argsort(np.argsort(is_second, kind="stable")))


def has_fixed_row_size(X: Any) -> bool:
    """Return whether X is a NumPy array, or two of them, whose rows all take the same number of bytes."""
    if isinstance(X, StackedTable):
        return has_fixed_row_size(X.first) and has_fixed_row_size(X.second)
    return isinstance(X, np.ndarray) and not X.dtype.hasobject


def knows_fitted_values_only(learner: Any) -> bool:
    """Return whether a part of a learner, such as an encoder, raises for a value that it was not fitted on."""
    parts = learner.get_params(deep=True).values() if hasattr(learner, "get_params") else ()
    return any(getattr(part, "handle_unknown", None) == "error" for part in (learner, *parts))


def find_missing_values(X: Any, lesson: Rows, sample: Rows) -> Rows:
    """Return rows of a sample with values that are frequent in it and missing in a lesson."""
    n_lesson = len(lesson)
    row_of_value: list[tuple[int, int]] = []
    for column in list_columns(take_rows(X, np.concatenate([lesson, sample]))):
        known, values = set(column[:n_lesson]), column[n_lesson:]
        first = {value: place for place, value in reversed(list(enumerate(values)))}
        counts = Counter(values)
        row_of_value += [(-count, first[value]) for value, count in counts.items() if count > 1 and value not in known]
    places = [place for _, place in sorted(row_of_value)[: _MAX_GROWTH * n_lesson]]
    return np.unique(sample[places])
