"""Sparse rows as text: the format of svmlight and libsvm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from fitwithin._tabular.files.data_file import DataFile
from fitwithin._tabular.files.table_chunk import ColumnTypes, TableChunk

LABEL = "label"
"""Column name of the first number of each line, which has no name in the file."""


_CHUNK_BYTES = 1 << 24
"""Bytes of a chunk."""


_MAX_FEATURES = np.iinfo(np.int32).max
"""Features of a chunk: scikit-learn asks for a bound before it has read them."""


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
        return self._load_rows()

    def _read_chunks(self, types: ColumnTypes | None) -> Iterator[TableChunk]:
        """Read all rows in chunks, each as wide as its own rows need."""
        size = self.path.stat().st_size
        for start in range(0, size, _CHUNK_BYTES):
            # scikit-learn counts a line to the chunk in which it begins.
            chunk = self._load_rows(offset=start, length=_CHUNK_BYTES, n_features=_MAX_FEATURES)
            chunk.matrix.resize((len(chunk), int(chunk.matrix.indices.max(initial=-1)) + 1))
            yield chunk

    def _load_rows(self, **options: Any) -> TableChunk:
        X, y = load_svmlight_file(str(self.path), zero_based=True, **options)
        are_whole = bool((y == np.round(y)).all())
        return TableChunk(pa.table({LABEL: y.astype(np.int64) if are_whole else y}), X)
