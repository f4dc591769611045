"""Blocks of rows: all columns alike, or with the roles that they have in a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa


Check = Callable[[], None]
"""Called now and then while a data set is opened; raises if the time is over."""


@runtime_checkable
class Blocks(Protocol):
    """Rows of a data set in blocks, whose columns have no roles yet.

    Attributes
    ----------
    schema : pyarrow.Schema
        All columns, with the types that every block has.
    n_blocks : int
        How many blocks there are.
    is_shuffled : bool
        Whether the rows lie in random order.
    rests : set of int
        Blocks that are the rest of the one before, the first rows of something large; read after all others.
    to_frame : callable
        Makes of any columns and rows what the learner gets; can be pickled, and holds no rows.
    """

    schema: pa.Schema
    n_blocks: int
    is_shuffled: bool
    rests: frozenset[int]
    to_frame: Callable[[pa.Table], Any]

    def read(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read these columns of one block, in this order."""

    def name_block(self, number: int) -> str:
        """Return the file that a block is in, or another name for errors."""

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""


@dataclass(eq=False)
class LabeledBlocks:
    """Blocks for a fit: features, a target, and weights.

    Blocks may be read by several threads at a time, in any order and more than once.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    target : str
        Name of the target column.
    weight : str, optional
        Name of the column of sample weights.
    group : str, optional
        Name of the column of groups, which is no feature.
    n_validation_blocks : int, default=0
        Blocks at the end that are a validation set.
    """

    blocks: Blocks
    target: str
    weight: str | None = None
    group: str | None = None
    n_validation_blocks: int = 0

    def __post_init__(self) -> None:
        self.n_blocks = self.blocks.n_blocks
        self.is_shuffled = self.blocks.is_shuffled
        self.rests = self.blocks.rests
        self.to_frame = self.blocks.to_frame
        schema = self.blocks.schema
        for name in filter(None, (self.target, self.weight, self.group)):
            schema = schema.remove(schema.get_field_index(name))
        self.schema: pa.Schema = schema
        self._names = [*schema.names, self.target, *([] if self.weight is None else [self.weight])]

    def read_block(self, number: int) -> pa.Table:
        """Read one block: the features, then the target, then the weight."""
        return self.blocks.read(number, self._names)

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        named = {"target": self.target, "weights": self.weight, "groups": self.group}
        roles = {role: name for role, name in named.items() if name is not None}
        return {**self.blocks.describe(), **roles}
