"""Blocks of rows: all columns alike, or with the roles that they have in a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa


@runtime_checkable
class Blocks(Protocol):
    """Rows of a data set in blocks, whose columns have no roles yet."""

    @property
    def schema(self) -> pa.Schema:
        """All columns, with the types that every block has."""
        ...

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        ...

    @property
    def is_shuffled(self) -> bool:
        """Whether the rows lie in random order."""
        ...

    @property
    def has_quick_heads(self) -> bool:
        """Whether the first rows of a block are read in a fraction of the time that all of it takes."""
        ...

    def read(self, number: int, names: Sequence[str], n_rows: int | None = None) -> pa.Table:
        """Read these columns of one block, in this order; only its first rows if their number is given."""
        ...

    @property
    def to_frame(self) -> Callable[[pa.Table], Any]:
        """Makes of any columns and rows what the learner gets; can be pickled, and holds no rows."""
        ...

    def name_block(self, number: int) -> str:
        """Return the file that a block is in, or another name for errors."""
        ...

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        ...


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

    def __init__(
        self,
        blocks: Blocks,
        target: str,
        weight: str | None = None,
        group: str | None = None,
        n_validation_blocks: int = 0,
    ) -> None:
        self.blocks = blocks
        self.target = target
        self.weight = weight
        self.group = group
        self.n_validation_blocks = n_validation_blocks
        self.n_blocks = blocks.n_blocks
        self.is_shuffled = blocks.is_shuffled
        self.has_quick_heads = blocks.has_quick_heads
        self.to_frame = blocks.to_frame
        schema = blocks.schema
        for name in filter(None, (target, weight, group)):
            schema = schema.remove(schema.get_field_index(name))
        self.schema: pa.Schema = schema
        self._names = [*schema.names, target, *([] if weight is None else [weight])]

    def read_block(self, number: int, n_rows: int | None = None) -> pa.Table:
        """Read one block, or only its first rows: the features, then the target, then the weight."""
        return self.blocks.read(number, self._names, n_rows)

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        named = {"target": self.target, "weights": self.weight, "groups": self.group}
        roles = {role: name for role, name in named.items() if name is not None}
        return {**self.blocks.describe(), **roles}
