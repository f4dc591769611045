"""The spool: temporary files that rows of a data set on disk are copied to, for every process to map."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._core.temporary_file import write_at
from fitwithin._pools.spool_format import SpoolFormat

if TYPE_CHECKING:
    import pyarrow as pa


class Spool:
    """Rows in files without a name, so that even a kill leaves nothing behind.

    Parameters
    ----------
    layout : SpoolFormat
        How features are written.
    n_rows : int
        Rows of the whole data set.
    dtypes : dict of dtype
        Type of each column that has a file of its own, such as "target".
    folder : str or None
        Where the files lie; None is the temporary folder.

    Attributes
    ----------
    files : dict of int
        Descriptors of the file of each column, and of the one of the "features".
    columns : dict of array
        The columns, mapped; complete as far as rows have been added.
    bounds : list of int
        Where the features lie of the blocks that were added, in bytes: the end of each, after 0.

    Raises
    ------
    UserInputError
        If the folder does not exist or cannot be written to.
    """

    def __init__(
        self, layout: SpoolFormat, n_rows: int, dtypes: Mapping[str, np.dtype[Any]], folder: str | None = None
    ) -> None:
        self._layout = layout
        self._folder = folder or tempfile.gettempdir()
        self.files: dict[str, int] = {}
        self.columns: dict[str, Array] = {}
        for name, dtype in dtypes.items():
            file, size = self._create_file(name), n_rows * dtype.itemsize
            os.ftruncate(file, size)
            mapped = mmap.mmap(file, size, access=mmap.ACCESS_READ)
            self.columns[name] = np.ndarray(n_rows, dtype, mapped)
        # Rows are added at its end, which takes a fifth of the time of filling a file that has its size.
        self._create_file("features")
        self.bounds = [0]

    def add(self, features: pa.Table, order: Rows, columns: Mapping[str, Array], first: int) -> None:
        """Write the rows of a block.

        Parameters
        ----------
        features : pyarrow.Table
            The features of the block.
        order : array of int
            Its rows in the order in which to write them.
        columns : dict of array
            The values of each other column, in this order.
        first : int
            Number of the first row.

        Raises
        ------
        UserInputError
            If there is no room.
        """
        try:
            for name, values in columns.items():
                body = np.ascontiguousarray(values.astype(self.columns[name].dtype, copy=False)).view(np.uint8).data
                write_at(self.files[name], body, first * self.columns[name].itemsize)
            write = partial(write_at, self.files["features"])
            self.bounds.append(self.bounds[-1] + self._layout.write(features, order, self.bounds[-1], write))
        except OSError as error:
            raise self._name_folder(error) from error

    def close(self) -> None:
        """Close the files; with many bytes in them this may take a second."""
        while self.files:
            os.close(self.files.popitem()[1])

    __del__ = close

    def _create_file(self, name: str) -> int:
        try:
            with tempfile.TemporaryFile(dir=self._folder, prefix="fitwithin-") as file:
                self.files[name] = os.dup(file.fileno())
        except OSError as error:
            raise self._name_folder(error) from error
        return self.files[name]

    def _name_folder(self, error: OSError) -> UserInputError:
        return UserInputError(
            f"The spool folder {self._folder} cannot be used: {error.strerror or error}.",
            "Make room in it, or pass another folder: backend=fitwithin.backends.Process(spool=FOLDER).",
        )
