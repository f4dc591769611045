"""The spool: a file that rows of a data set on disk are copied to, in random order."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.reading_order import order_rows
from fitwithin._pools.row_supply import RowSupply
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.spool_file import SpoolFile, spool_error
from fitwithin._pools.spool_format import SpoolFormat
from fitwithin._pools.target_pass import TargetPass, read_values

if TYPE_CHECKING:
    import pyarrow as pa


class Spool:
    """Copy a data set on disk, block by block, to files that every process can map.

    Parameters
    ----------
    source : LabeledBlocks
        The data set.
    found : TargetPass
        Its target.
    supply : RowSupply
        Knows the order of reading.
    layout : SpoolFormat
        How features are written.
    seed : int
        Makes the order of the rows in each block random.
    folder : str or None
        Where the files lie; None is the temporary folder.

    Attributes
    ----------
    files : dict of SpoolFile
        "target" and "features", and "weight" if the rows have weights.
    target : array
        The target of each row that has been read.
    weights : array or None
        Their weights.
    bounds : list of int
        Where the features lie of the blocks that have been read, in bytes: the end of each, after 0.
    """

    def __init__(
        self,
        source: LabeledBlocks,
        found: TargetPass,
        supply: RowSupply,
        layout: SpoolFormat,
        seed: int,
        folder: str | None = None,
    ) -> None:
        self._source = source
        self._found = found
        self._supply = supply
        self._layout = layout
        self._seed = seed
        self._folder = folder
        self.files: dict[str, SpoolFile] = {}
        self.target = self._create_column("target", found.target.column.dtype)
        self.weights = None if source.weight is None else self._create_column("weight", np.dtype(np.float64))
        # Rows are added at its end, which takes a fifth of the time of filling a file that has its size.
        self.files["features"] = SpoolFile.create(folder)
        self.bounds = [0]

    def copy_block(self, place: int) -> None:
        """Read the block at a place of the order, and write its rows."""
        table = self._read_block(place)
        try:
            self.bounds.append(self._write_block(table, place))
        except OSError as error:
            raise spool_error(self._folder, error) from error

    def _read_block(self, place: int) -> pa.Table:
        index = self._supply.index
        block, n_before = int(index.numbers[place]), int(index.offsets[place])
        n_rows, stop = int(index.block_rows[block]), n_before + int(index.cell_counts[place].sum())
        table = self._source.read_block(block, stop if stop < n_rows else None)
        if table.num_rows != stop:
            raise UserInputError(
                f"{self._source.blocks.name_block(block)} has a block of {table.num_rows:,} rows now, which had "
                f"{n_rows:,} when its labels were read: it was changed during fit.",
                "Leave them in place until fit returns.",
            )
        return table.slice(n_before)

    def _write_block(self, table: pa.Table, place: int) -> int:
        """Write the rows of a block in random order, class after class; return where they end."""
        index = self._supply.index
        block, n_before, first = int(index.numbers[place]), int(index.offsets[place]), int(index.row_starts[place])
        stop = n_before + table.num_rows
        order = order_rows(self._seed, block, n_before, table.num_rows, self._found.find_cells(block, n_before, stop))
        if self._found.codes:
            values = self._found.codes[block][n_before:stop][order]
        else:
            values = read_values(table, self._source.target)[order]
        if stop == index.block_rows[block]:
            self._found.forget(block)
        self._write_column("target", values.astype(self.target.dtype, copy=False), first)
        if self._source.weight is not None:
            self._write_column("weight", read_values(table, self._source.weight)[order].astype(np.float64), first)
        return self.bounds[-1] + self._layout.write(table, order, self.bounds[-1], self.files["features"].write)

    def _create_column(self, name: str, dtype: np.dtype[Any]) -> Array:
        """Create the file of a column, and return it mapped, read-only."""
        n_rows = self._supply.n_rows
        file = self.files[name] = SpoolFile.create(self._folder, n_rows * dtype.itemsize)
        return np.ndarray(n_rows, dtype, mmap.mmap(file.fd, n_rows * dtype.itemsize, access=mmap.ACCESS_READ))

    def _write_column(self, name: str, values: Array, first: int) -> None:
        self.files[name].write(np.ascontiguousarray(values).view(np.uint8).data, first * values.itemsize)

    def close(self) -> None:
        """Close the files."""
        for file in self.files.values():
            file.close()
