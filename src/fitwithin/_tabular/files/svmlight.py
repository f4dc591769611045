"""Sparse rows as text: the format of svmlight and libsvm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from fitwithin._tabular.files.table_chunk import Part

LABEL = "label"
"""What the first number of each line is called."""


_BYTES_AT_ONCE = 1 << 24


_ANY = np.iinfo(np.int32).max
"""Features, for scikit-learn, which wants to be told how many there are in a part."""


class SvmlightFile:
    """Lines of a label and pairs of feature and value.

    Features are numbered from 0 or from 1, and some files say not which: number 0 is always there, and may be empty.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """The label has no name in the file."""
        return [LABEL]

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows; the types say nothing that the lines don't."""
        return self._part()

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time; each part has as many columns as its own rows need."""
        size = self.path.stat().st_size
        for start in range(0, size, _BYTES_AT_ONCE):
            # A line belongs to the part in which it begins; scikit-learn sees to that.
            part = self._part(offset=start, length=_BYTES_AT_ONCE, n_features=_ANY)
            part.matrix.resize((len(part), int(part.matrix.indices.max(initial=-1)) + 1))
            yield part

    def _part(self, **where: Any) -> Part:
        X, y = load_svmlight_file(str(self.path), zero_based=True, **where)
        is_whole = bool((y == np.round(y)).all())
        return Part(pa.table({LABEL: y.astype(np.int64) if is_whole else y}), X)
