"""What every data set outside memory looks like to a fit: blocks of rows that are read whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa


@runtime_checkable
class BlockSource(Protocol):
    """Rows of a data set outside memory, in blocks (row groups) that are read whole.

    Blocks may be read by several threads at a time, in any order and more than once.

    Attributes
    ----------
    schema : pyarrow.Schema
        The features, in the order in which the learner gets them.
    target : str
        Name of the target column.
    weight : str or None
        Name of the column of sample weights.
    n_blocks : int
        How many blocks there are.
    is_shuffled : bool
        Whether the rows lie in random order, so that any prefix of the blocks is a uniform sample. They are then
        best read in order.
    has_quick_heads : bool
        Whether the first rows of a block are read in a fraction of the time that all of it takes.
    frame_maker : callable
        Does what ``to_frame`` does, in any process: it can be pickled, and holds nothing of the rows.
    """

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def target(self) -> str: ...

    @property
    def weight(self) -> str | None: ...

    @property
    def n_blocks(self) -> int: ...

    @property
    def is_shuffled(self) -> bool: ...

    @property
    def has_quick_heads(self) -> bool: ...

    @property
    def frame_maker(self) -> Callable[[pa.Table], Any]: ...

    def read_block(self, number: int, n_rows: int | None = None) -> pa.Table:
        """Read one block.

        Parameters
        ----------
        number : int
            Number of the block, from 0.
        n_rows : int, optional
            Read only this number of its first rows.

        Returns
        -------
        pyarrow.Table
            The features, then the target, then the weight, after the data set's own filters; any number of rows, even
            none. All blocks have the same types.
        """

    def read_columns(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read some columns of a block alone.

        Parameters
        ----------
        number : int
            Number of the block, from 0.
        names : sequence of str
            The columns, features, target or weight.

        Returns
        -------
        pyarrow.Table
            These columns, in this order; as many rows, in the same order, as ``read_block`` gives.
        """

    def to_frame(self, table: pa.Table) -> Any:
        """Return rows as the learner gets them.

        Parameters
        ----------
        table : pyarrow.Table
            Any columns and rows of this source's blocks.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The same dtypes for every block, whatever values are in it.
        """

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another, for the fingerprint of a checkpoint: files, sizes, times."""
