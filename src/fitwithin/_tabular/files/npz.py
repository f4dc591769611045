"""Files of numpy arrays."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.files.table_chunk import ROWS_AT_ONCE, Part

_SPARSE = {"indices", "indptr", "format", "shape", "data"}


_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class _Stored:
    """An array in a file, by what its header says."""

    name: str
    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype

    def rows(self, stream: IO[bytes], count: int) -> Array:
        """The next rows of it."""
        entries = count * math.prod(self.shape[1:])
        found = stream.read(entries * self.dtype.itemsize)
        if len(found) < entries * self.dtype.itemsize:
            raise EOFError(f"the array {self.name} is shorter than it says")
        return np.frombuffer(found, self.dtype, entries).reshape(count, *self.shape[1:]).copy()


class NpzFile:
    """One array of two dimensions, the features, and arrays of one dimension, one of which is to be learned.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Names of the arrays of one dimension."""
        return [array.name for array in self._stored()[1:]]

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows; the types say nothing that the arrays don't."""
        X, *columns = self._stored()
        # Never with pickle: a file of numbers needs none, and one of a stranger could do anything.
        with np.load(self.path, allow_pickle=False) as file:
            return Part(pa.table({array.name: pa.array(file[array.name]) for array in columns}), file[X.name])

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time; only arrays that are stored column by column must be read whole for that."""
        X, *columns = self._stored()
        if X.by_columns:
            yield from self.read().split()
            return
        with zipfile.ZipFile(self.path) as file, ExitStack() as stack:
            streams = {array: stack.enter_context(file.open(f"{array.name}.npy")) for array in (X, *columns)}
            for array, stream in streams.items():
                _header(array.name, stream)
            for start in range(0, X.shape[0], ROWS_AT_ONCE):
                count = min(ROWS_AT_ONCE, X.shape[0] - start)
                rows = {array: array.rows(stream, count) for array, stream in streams.items()}
                yield Part(pa.table({array.name: pa.array(rows[array]) for array in columns}), rows[X])

    def _stored(self) -> list[_Stored]:
        """The features, and the arrays that have a value for each of their rows."""
        arrays = self._headers()
        if {array.name for array in arrays} == _SPARSE:
            raise UserInputError(
                f"{self.path} is a sparse matrix without labels.",
                "Write features and labels into one file with sklearn.datasets.dump_svmlight_file.",
            )
        tables = [array for array in arrays if len(array.shape) == 2]
        if len(tables) != 1:
            raise UserInputError(
                f"{self.path} has {len(tables)} arrays of two dimensions; it takes one, the features.",
                f"Its arrays: {', '.join(f'{array.name} {array.shape}' for array in arrays)}.",
            )
        X = tables[0]
        if X.dtype.kind not in "fiub":
            raise UserInputError(
                f"The features of {self.path} are no numbers but {X.dtype}.", "Use parquet or CSV for words."
            )
        return [X, *(array for array in arrays if array.shape == X.shape[:1])]

    def _headers(self) -> list[_Stored]:
        with zipfile.ZipFile(self.path) as file:
            names = [name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")]
            arrays = []
            for name in names:
                with file.open(f"{name}.npy") as stream:
                    arrays.append(_header(name, stream))
        return arrays


def _header(name: str, stream: IO[bytes]) -> _Stored:
    """What the first bytes of an array say; its numbers come next."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"the array {name} is of version {version}, which is for records")
    shape, by_columns, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise ValueError(f"the array {name} holds objects of Python, which would take pickle")
    return _Stored(name, shape, by_columns, dtype)
