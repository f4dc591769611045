"""Weka's ARFF files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from scipy.io import arff

from .._exceptions import Unusable
from .._target import Array
from ._part import Part


class ArffFile:
    """Numbers, nominal values and dates; scipy reads neither texts nor sparse rows, and no compressed file.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Names of the attributes."""
        return list(self.read().table.column_names)

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows."""
        try:
            rows, about = arff.loadarff(self.path)
        except NotImplementedError as error:
            raise Unusable(f"{self.path} has attributes that can't be read: {error}.", "Save it as CSV.") from error
        kinds = dict(zip(about.names(), about.types(), strict=True))
        table = pa.table({name: _column(rows[name], kind) for name, kind in kinds.items()})
        return Part(table if types is None else table.select(list(types)))

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time, of a file that is read whole."""
        yield from self.read(types).split()


def _column(values: Array, kind: str) -> Any:
    if kind != "nominal":
        return pa.array(values, from_pandas=True)
    words = pa.array(values.tolist()).cast(pa.string())
    return pa.compute.if_else(pa.compute.equal(words, "?"), pa.scalar(None, pa.string()), words).dictionary_encode()
