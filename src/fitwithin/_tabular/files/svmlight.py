"""Sparse rows as text: the format of svmlight and libsvm."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from fitwithin._tabular.files.data_file import ColumnTypes, DataFile, TableChunk

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
