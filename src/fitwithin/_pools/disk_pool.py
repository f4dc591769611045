"""Rows of a data set on disk, by number, as far as they have been read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import NoModelInTime, OutOfTime, ReadingFailed
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target, Values
from fitwithin._pools.decks.block_pile import BlockPile
from fitwithin._pools.decks.deck import Deck
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.reading_order import choose_reading_order
from fitwithin._pools.row_supply import RowSupply
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.spool import Spool
from fitwithin._pools.spool_file import SpoolFile
from fitwithin._pools.spool_format import ArrayFormat, ArrowFormat, SpoolFormat, SpoolReader
from fitwithin._pools.target_pass import TargetPass, read_target


class DiskPool:
    """Rows of a data set on disk, which are read in the background.

    A row's number says when it is read: blocks are read in random order, and the rows of each in random order too.

    Parameters
    ----------
    source : LabeledBlocks
        The data set.
    found : TargetPass
        Its target.
    seed : int
        Makes both orders random. The same seed gives the same numbers to the same rows.
    budget : Budget
        Ends waiting at the deadline.
    folder : str or None, default=None
        Where to put the spool; None is the temporary folder.

    Attributes
    ----------
    X : frame
        A frame without rows, with the columns and types of the features.
    y : Labels or Values
        The target of the rows that have been read.
    row_params : dict of array
        Their weights, if they have any.
    supply : RowSupply
        Which rows have been read.
    index : BlockIndex
        The blocks in the order of reading, and the rows of each.
    """

    def __init__(
        self, source: LabeledBlocks, found: TargetPass, seed: int, budget: Budget, folder: str | None = None
    ) -> None:
        self.source = source
        self._budget = budget
        self._seed = seed
        rng = np.random.default_rng(seed)
        self.index = choose_reading_order(
            found, rng, has_quick_heads=source.has_quick_heads, is_shuffled=source.is_shuffled
        )
        self.supply = RowSupply(self.index)
        self.X = source.to_frame(source.schema.empty_table())
        self.layout = choose_format(source, self.X)
        self._spool = Spool(source, found, self.supply, self.layout, seed, folder)
        self.y = _with_column(found.target, self._spool.target)
        self.row_params: Mapping[str, Array] = (
            {} if self._spool.weights is None else {"sample_weight": self._spool.weights}
        )

    @classmethod
    def open(
        cls, source: LabeledBlocks, *, regression: bool, seed: int, budget: Budget, folder: str | None = None
    ) -> DiskPool:
        """Read the target, and return the pool; `start` begins to read the rest.

        Raises
        ------
        NoModelInTime
            If reading the target takes longer than the time limit.
        """
        try:
            found = read_target(source, regression=regression, check=budget.raise_if_spent)
        except TimeoutError:
            raise NoModelInTime(
                "No model within the time limit: it was over before the labels of the data set were read.",
                "Allow more time.",
            ) from None
        return cls(source, found, seed, budget, folder)

    def __len__(self) -> int:
        return self.supply.n_rows

    @property
    def modules(self) -> tuple[str, ...]:
        """Libraries that a process needs to read rows."""
        library = type(self.X).__module__.partition(".")[0]
        return (library,) if isinstance(self.layout, ArrayFormat) else ("pyarrow", library)

    @property
    def files(self) -> dict[str, SpoolFile]:
        """The files of the spool: "target", "features", and "weight" if the rows have weights."""
        return self._spool.files

    @property
    def bounds(self) -> tuple[int, ...]:
        """Where the features lie of the blocks that have been read, in bytes: the end of each, after 0."""
        return tuple(self._spool.bounds)

    def start(self) -> None:
        """Begin to read in the background."""
        self._spool.start()

    def close(self) -> None:
        """Stop reading and let go of the spool, without waiting for either."""
        self._spool.close()

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

    def read(self, rows: Rows) -> LabeledRows:
        """Return a copy of these rows, once they have been read."""
        try:
            self.wait_for(rows)
        except TimeoutError:
            raise OutOfTime("the data set was still being read") from None
        row_params = {name: column[rows] for name, column in self.row_params.items()}
        codes: Array = self.y.column[rows]
        clusters = self.index.find_clusters(rows, codes)
        return LabeledRows(self._reader.read(rows, self.index, self.bounds), self.y.decode(codes), row_params, clusters)

    @property
    def training_table(self) -> Any:
        """A frame without rows, with the columns and types of the features."""
        return self.X

    @property
    def spooled(self) -> Self:
        """The pool itself: other processes map its spool."""
        return self

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

    @cached_property
    def _reader(self) -> SpoolReader:
        return self.layout.open(self.files["features"].fd)

    def describe(self) -> dict[str, str]:
        """Return what must be the same in a resumed fit, by a name for users."""
        described = {"rows of X": str(len(self)), "columns of X": str(self.X.shape[1])}
        return described | {f"data set: {name}": value for name, value in self.source.describe().items()}


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


def _with_column(target: Labels | Values, column: Array) -> Target:
    return Labels(target.classes, column, target.counts) if isinstance(target, Labels) else Values(column)
