"""Files that hold the features as a matrix without names: arrays of NumPy, and lines of svmlight and libsvm."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.data_file import ColumnTypes, DataFile, TableChunk

_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""numpy's readers by version of the header; version 3 is for structured arrays only."""


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
        # By default without pickle: numbers do not need it, and a pickle of unknown origin can run any program.
        with np.load(self.path) as file:
            return TableChunk(pa.table({name: pa.array(file[name]) for name in columns}), file[X])

    def _find_arrays(self) -> list[str]:
        """Return the name of the features, then those of the arrays that have one value for each of their rows."""
        arrays = self._read_headers()
        matrices = [name for name, (shape, _) in arrays.items() if len(shape) == 2]
        if len(matrices) != 1:
            shapes = ", ".join(f"{name} {shape}" for name, (shape, _) in arrays.items())
            raise UserInputError(
                f"{self.path} has {len(matrices)} arrays of two dimensions; expected one, the features.",
                f"Its arrays: {shapes}. Write sparse rows to a svmlight file instead.",
            )
        shape, dtype = arrays[matrices[0]]
        if dtype.kind not in "fiub":
            raise UserInputError(
                f"The features of {self.path} are {dtype}; expected numbers.", "Use parquet or CSV for text."
            )
        return [*matrices, *(name for name, found in arrays.items() if found[0] == shape[:1])]

    def _read_headers(self) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """Return shape and type of each array; others than those of the rows may hold Python objects."""
        arrays = {}
        with zipfile.ZipFile(self.path) as file:
            for name in file.namelist():
                if name.endswith(".npy"):
                    with file.open(name) as stream:
                        shape, _, dtype = _HEADER_READERS[np.lib.format.read_magic(stream)](stream)
                    arrays[name.removesuffix(".npy")] = shape, dtype
        return arrays


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
