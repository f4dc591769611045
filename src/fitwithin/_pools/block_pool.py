"""Rows of a data set that is read block by block, by number, as far as they have been read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import NoModelInTime, OutOfTime, ReadingFailed, UserInputError
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target
from fitwithin._pools.block_reader import BlockReader, RowSupply
from fitwithin._pools.decks.block_pile import BlockPile
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.pool import LabeledRows, Pool
from fitwithin._pools.reading_order import choose_reading_order
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.sources.opening import open_source
from fitwithin._pools.spool import ArrayFormat, ArrowFormat, Spool, SpoolFormat, SpoolReader
from fitwithin._pools.target_pass import TargetPass, encode_labels, read_target, read_values, recode_labels

if TYPE_CHECKING:
    import pyarrow as pa

HoldOut = Callable[[TargetPass, Array | None, int], TargetPass]
"""Chooses validation and holdout rows, given the target, the group of each row or None, and the number of blocks at
the end that are a validation set."""

_PAUSE = 9.0
"""Pause after a block, relative to the time it took, while the learner, which shares the processor, has rows enough."""


@dataclass(frozen=True, eq=False)
class Place:
    """A block to read, and how its rows are numbered.

    `seed` makes their order random; they are sorted by class if `by_class`. `target` tells how labels are encoded,
    without rows. `parts` says which of the rows are validation and holdout rows; see `TargetPass`.
    """

    block: int
    n_rows: int
    seed: int
    target: Target
    by_class: bool
    parts: Array | None

    def arrange(
        self, table: pa.Table, target: str, weight: str | None, n_features: int, name: str
    ) -> tuple[Rows, Array, Array | None]:
        """Return the order in which the rows are numbered, with their encoded target and their weights in that order.

        `table` holds at least the columns `target` and `weight`, which is None without weights; `n_features` are the
        rows of the features, which may lie elsewhere; `name` is what errors call the block.
        """
        if isinstance(self.target, Labels):
            y = recode_labels(*encode_labels(table[target], target), self.target.classes)
        else:
            y = read_values(table, target).astype(self.target.column.dtype)
        if not n_features == len(y) == self.n_rows:
            raise UserInputError(
                f"{name} has {n_features:,} rows and {len(y):,} labels, and had {self.n_rows:,} labels before.",
                "X and y must have the same rows in the same order, and must not change during fit.",
            )
        cells = self.parts
        if self.by_class:
            cells = 3 * y.astype(np.uint8) + (0 if self.parts is None else self.parts)
        order = np.arange(self.n_rows)
        np.random.default_rng((self.seed, self.block)).shuffle(order)
        if cells is not None:
            order = order[np.argsort(cells[order], kind="stable")]
        return order, y[order], None if weight is None else read_values(table, weight)[order].astype(np.float64)


class ReadingTraits(Protocol):
    """A data set as far as the order of its rows needs it; see `LabeledBlocks`."""

    rests: frozenset[int]
    is_shuffled: bool
    n_validation_blocks: int

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""


class BlockPool(Pool):
    """Rows of a data set, which are read in the background.

    A row's number says when it is read: blocks are read in random order, and the rows of each in random order too. The
    same `seed` gives the same numbers to the same rows.

    `X` are the features without rows, `y` and `row_params` those of the rows that have been read, and `n_given_rows`
    the rows without the validation set. `held_out` are validation and holdout rows, in random order; None if the
    teacher chooses some.
    """

    def __init__(self, found: TargetPass, X: Any, seed: int, budget: Budget, source: ReadingTraits) -> None:
        self.X = self.training_table = X
        self._source = source
        self._budget = budget
        self._seed = seed
        self._parts = None if found.parts is None else found.split(found.parts)
        rng = np.random.default_rng(seed)
        n_given = len(found.block_rows) - source.n_validation_blocks
        self.index = choose_reading_order(found, rng, source.rests, is_shuffled=source.is_shuffled, n_given=n_given)
        self.supply = RowSupply(self.index)
        self.held_out = self.index.list_held_out(rng) if self.index.held_counts.any() else None
        self.n_given_rows = int(found.block_rows[:n_given].sum())
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

    def make_place(self, number: int) -> Place:
        """Return the block at a place of the order of reading."""
        index, block = self.index, int(self.index.numbers[number])
        n_rows = int(index.row_starts[number + 1] - index.row_starts[number])
        parts = None if self._parts is None else self._parts[block]
        by_class = index.cell_counts.shape[1] > 1
        return Place(block, n_rows, self._seed, self.y.with_column(self.y.column[:0]), by_class, parts)

    def make_deck(self, rng: np.random.Generator, costs: CostEstimates, min_class_rows: int = 1) -> Deck:
        """Return a deck that deals rows as they are read."""
        codes, counts = (self.y.codes, self.y.counts) if isinstance(self.y, Labels) else (None, None)
        pile = BlockPile(self.supply, rng, codes, counts, costs)
        return Deck(len(self), rng, min_class_rows=min_class_rows, costs=costs, pile=pile)

    def describe(self) -> dict[str, str]:
        """Return what must be the same in a resumed fit, by a name for users."""
        described = {"rows of X": str(len(self)), "columns of X": str(self.X.shape[1])}
        return described | {f"data set: {name}": value for name, value in self._source.describe().items()}

    def describe_unread_rows(self) -> str | None:
        """Return a sentence about the rows that could not be read; None if all could."""
        if self.supply.failure is None:
            return None
        return (
            f"{self.supply.failure} The model was trained on rows of the {self.supply.n_rows_read:,} of "
            f"{len(self):,} rows that could be read."
        )


class DiskPool(BlockPool):
    """Rows of a data set on disk, which a thread copies to a spool in `folder`; by default, the temporary folder."""

    def __init__(
        self, source: LabeledBlocks, found: TargetPass, seed: int, budget: Budget, folder: str | None = None
    ) -> None:
        X = source.to_frame(source.schema.empty_table())
        super().__init__(found, X, seed, budget, source)
        self.source = source
        self.layout = choose_format(source, X)
        dtypes = {"target": found.target.column.dtype}
        if source.weight is not None:
            dtypes["weight"] = np.dtype(np.float64)
        self.spool = Spool(self.layout, len(self), dtypes, folder)
        self._reader = BlockReader(self.supply, self._copy_block, _PAUSE, self.spool.close)
        self.y = found.target.with_column(self.spool.columns["target"])
        self.row_params = {} if source.weight is None else {"sample_weight": self.spool.columns["weight"]}

    @classmethod
    def open(
        cls,
        given: Mapping[str, Any],
        *,
        regression: bool,
        seed: int,
        budget: Budget,
        folder: str | None = None,
        hold_out: HoldOut | None = None,
    ) -> DiskPool:
        """Open a data set, read its target, and return the pool; `start` begins to read the rest.

        `given` are arguments of `open_source`; for the others see `DiskPool`, `read_target` and `HoldOut`. Raise
        `NoModelInTime` if that takes longer than the time limit.
        """

        def check() -> None:
            if budget.is_spent:
                raise NoModelInTime(
                    "No model within the time limit: it was over before the files or the query of the data set were "
                    "open and the labels were read.",
                    "Allow more time, or store the result of a slow query in a parquet file first.",
                )

        source = open_source(**given, spool=folder, check=check)
        found = read_target(source, regression=regression, check=check)
        if hold_out is not None:
            found = hold_out(found, found.groups, source.n_validation_blocks)
        return cls(source, found, seed, budget, folder)

    @property
    def modules(self) -> tuple[str, ...]:
        """Libraries that a process needs to read rows."""
        library = type(self.X).__module__.partition(".")[0]
        return (library,) if isinstance(self.layout, ArrayFormat) else ("pyarrow", library)

    def read(self, rows: Rows) -> LabeledRows:
        """Return a copy of these rows, once they have been read."""
        try:
            self.wait_for(rows)
        except TimeoutError:
            raise OutOfTime("the data set was still being read") from None
        row_params = {name: column[rows] for name, column in self.row_params.items()}
        codes: Array = self.y.column[rows]
        clusters = self.index.find_clusters(rows, codes)
        X = self._rows.read(rows, self.index, self.spool.bounds)
        return LabeledRows(X, self.y.decode(codes), row_params, clusters)

    @cached_property
    def _rows(self) -> SpoolReader:
        return self.layout.open(self.spool.files["features"])

    def _copy_block(self, number: int) -> None:
        """Read the rows at a place of the order, and copy them to the spool: class after class, in random order."""
        source, place = self.source, self.make_place(number)
        table, name = source.read_block(place.block), f"A block of {source.blocks.name_block(place.block)}"
        order, y, weights = place.arrange(table, source.target, source.weight, table.num_rows, name)
        columns = {"target": y} if weights is None else {"target": y, "weight": weights}
        self.spool.add(table, order, columns, int(self.index.row_starts[number]))


def choose_format(source: LabeledBlocks, frame: Any) -> SpoolFormat:
    """Return the format of the spool: plain rows if the learner gets a pandas frame of floats of one type.

    Parameters
    ----------
    source : LabeledBlocks
        The data set.
    frame : frame
        Its features without rows, as the learner gets them.
    """
    names = tuple(source.schema.names)
    if isinstance(frame, np.ndarray):
        return ArrayFormat(names, frame.dtype, as_array=True)
    dtype, *others = set(frame.dtypes)
    if not others and isinstance(dtype, np.dtype) and dtype in (np.float32, np.float64):
        return ArrayFormat(names, dtype)
    return ArrowFormat(names, source.to_frame)
