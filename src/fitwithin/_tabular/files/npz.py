"""Files of numpy arrays."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.files.table_chunk import CHUNK_ROWS, ColumnTypes, TableChunk

_SPARSE_ARRAYS = {"indices", "indptr", "format", "shape", "data"}
"""Arrays in a file of scipy.sparse.save_npz."""


_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""numpy's readers by version of the header; version 3 is for structured arrays only."""


@dataclass(frozen=True)
class _NpyHeader:
    """The header of an array in a file."""

    name: str
    shape: tuple[int, ...]
    is_column_major: bool
    dtype: np.dtype

    def read_rows(self, stream: IO[bytes], n_rows: int) -> Array:
        """Read the next rows of the array."""
        n_entries = n_rows * math.prod(self.shape[1:])
        content = stream.read(n_entries * self.dtype.itemsize)
        if len(content) < n_entries * self.dtype.itemsize:
            raise EOFError(f"the array {self.name} is shorter than its header says")
        return np.frombuffer(content, self.dtype, n_entries).reshape(n_rows, *self.shape[1:]).copy()


class NpzFile:
    """One array of two dimensions, the features, and arrays of one dimension, one of them the target.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Return the names of the arrays of one dimension."""
        return [array.name for array in self._find_arrays()[1:]]

    def read(self, types: ColumnTypes | None = None) -> TableChunk:
        """Read all rows; the file defines the types."""
        X, *columns = self._find_arrays()
        # Never with pickle: numbers do not need it, and a pickle of unknown origin can run any program.
        with np.load(self.path, allow_pickle=False) as file:
            return TableChunk(pa.table({array.name: pa.array(file[array.name]) for array in columns}), file[X.name])

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read all rows in chunks; only a matrix that is stored column by column must be read whole."""
        X, *columns = self._find_arrays()
        if X.is_column_major:
            yield from self.read().split()
            return
        with zipfile.ZipFile(self.path) as file, ExitStack() as stack:
            streams = {array: stack.enter_context(file.open(f"{array.name}.npy")) for array in (X, *columns)}
            for array, stream in streams.items():
                _read_array_header(array.name, stream)
            for start in range(0, X.shape[0], CHUNK_ROWS):
                n_rows = min(CHUNK_ROWS, X.shape[0] - start)
                rows = {array: array.read_rows(stream, n_rows) for array, stream in streams.items()}
                yield TableChunk(pa.table({array.name: pa.array(rows[array]) for array in columns}), rows[X])

    def _find_arrays(self) -> list[_NpyHeader]:
        """Return the features, then the arrays that have one value for each of their rows."""
        arrays = self._read_headers()
        if {array.name for array in arrays} == _SPARSE_ARRAYS:
            raise UserInputError(
                f"{self.path} is a sparse matrix without labels.",
                "Write features and labels into one file with sklearn.datasets.dump_svmlight_file.",
            )
        matrices = [array for array in arrays if len(array.shape) == 2]
        if len(matrices) != 1:
            raise UserInputError(
                f"{self.path} has {len(matrices)} arrays of two dimensions; expected one, the features.",
                f"Its arrays: {', '.join(f'{array.name} {array.shape}' for array in arrays)}.",
            )
        X = matrices[0]
        if X.dtype.kind not in "fiub":
            raise UserInputError(
                f"The features of {self.path} are {X.dtype}; expected numbers.", "Use parquet or CSV for text."
            )
        return [X, *(array for array in arrays if array.shape == X.shape[:1])]

    def _read_headers(self) -> list[_NpyHeader]:
        with zipfile.ZipFile(self.path) as file:
            names = [name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")]
            arrays = []
            for name in names:
                with file.open(f"{name}.npy") as stream:
                    arrays.append(_read_array_header(name, stream))
        return arrays


def _read_array_header(name: str, stream: IO[bytes]) -> _NpyHeader:
    """Read the header of an array; its entries come next in the stream."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADER_READERS:
        raise ValueError(f"the array {name} has a header of version {version}, which is for structured arrays")
    shape, is_column_major, dtype = _HEADER_READERS[version](stream)
    if dtype.hasobject:
        raise ValueError(f"the array {name} holds Python objects, which need pickle")
    return _NpyHeader(name, shape, is_column_major, dtype)
