"""Files of numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from .._exceptions import Unusable
from .._target import Array
from ._part import Part

_SPARSE = {"indices", "indptr", "format", "shape", "data"}


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
        return list(self.read().table.column_names)

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows; the types say nothing that the arrays don't."""
        # Never with pickle: a file of numbers needs none, and one of a stranger could do anything.
        with np.load(self.path, allow_pickle=False) as file:
            if set(file.files) == _SPARSE:
                raise Unusable(
                    f"{self.path} is a sparse matrix without labels.",
                    "Write features and labels into one file with sklearn.datasets.dump_svmlight_file.",
                )
            arrays: dict[str, Array] = {name: file[name] for name in file.files}
        tables = [name for name, array in arrays.items() if array.ndim == 2]
        if len(tables) != 1:
            raise Unusable(
                f"{self.path} has {len(tables)} arrays of two dimensions; it takes one, the features.",
                f"Its arrays: {', '.join(f'{name} {array.shape}' for name, array in arrays.items())}.",
            )
        X = arrays[tables[0]]
        if X.dtype.kind not in "fiub":
            raise Unusable(
                f"The features of {self.path} are no numbers but {X.dtype}.", "Use parquet or CSV for words."
            )
        columns = {name: pa.array(array) for name, array in arrays.items() if array.shape == X.shape[:1]}
        return Part(pa.table(columns), X)

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time, of arrays that are read whole."""
        yield from self.read().split()
