"""Files that hold the features as a matrix without names: arrays of NumPy, and lines of svmlight and libsvm."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.files.data_file import ColumnTypes, DataFile, TableChunk


class NpzFile(DataFile):
    """One array of two dimensions, the features, and arrays of one dimension, one of them the target.

    Parameters
    ----------
    path : Path
        The file.
    """

    def _read_names(self) -> list[str]:
        """Return the names of the arrays of one dimension."""
        return self._find_arrays()[1:]

    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows; the file defines the types."""
        X, *columns = self._find_arrays()
        return TableChunk(pa.table({name: pa.array(self._arrays[name]) for name in columns}), self._arrays[X])

    @cached_property
    def _arrays(self) -> dict[str, Array]:
        # By default without pickle: numbers do not need it, and a pickle of unknown origin can run any program.
        with self.path.open("rb") as stream, np.lib.npyio.NpzFile(stream) as file:
            return dict(file)

    def _find_arrays(self) -> list[str]:
        """Return the name of the features, then those of the arrays that have one value for each of their rows."""
        arrays = self._arrays
        matrices = [name for name, array in arrays.items() if array.ndim == 2]
        if len(matrices) != 1:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise UserInputError(
                f"{self.path} has {len(matrices)} arrays of two dimensions; expected one, the features.",
                f"Its arrays: {shapes}. Write sparse rows to a svmlight file instead.",
            )
        X = arrays[matrices[0]]
        if X.dtype.kind not in "fiub":
            raise UserInputError(
                f"The features of {self.path} are {X.dtype}; expected numbers.", "Use parquet or CSV for text."
            )
        return [*matrices, *(name for name, array in arrays.items() if array.shape == X.shape[:1])]


LABEL = "label"
"""Column name of the first number of each line, which has no name in the file."""


class SvmlightFile(DataFile):
    """Lines with a label and pairs of feature and value.

    Features are numbered from 0 or from 1, and the file does not say which: feature 0 always exists and may be empty.

    Parameters
    ----------
    path : Path
        The file.
    """

    def _read_names(self) -> list[str]:
        """Return the one named column, the label."""
        return [LABEL]

    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows; the file defines the types."""
        X, y = load_svmlight_file(str(self.path), zero_based=True)
        are_whole = bool((y == np.round(y)).all())
        return TableChunk(pa.table({LABEL: y.astype(np.int64) if are_whole else y}), X)
