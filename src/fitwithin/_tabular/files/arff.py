"""Weka's ARFF files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
from scipy.io import arff

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.files.table_chunk import ROWS_AT_ONCE, Part


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
        with self.path.open(encoding="utf-8") as file:
            return list(self._part(_header(file), None).table.column_names)

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows."""
        return self._part(self.path.read_text(encoding="utf-8"), types)

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time, each time as a small file of their own."""
        with self.path.open(encoding="utf-8") as file:
            header = _header(file)
            while lines := list(islice(file, ROWS_AT_ONCE)):
                yield self._part(header + "".join(lines), types)

    def _part(self, text: str, types: Mapping[str, pa.DataType] | None) -> Part:
        try:
            rows, about = arff.loadarff(io.StringIO(text))
        except NotImplementedError as error:
            raise UserInputError(
                f"{self.path} has attributes that can't be read: {error}.", "Save it as CSV."
            ) from error
        kinds = dict(zip(about.names(), about.types(), strict=True))
        table = pa.table({name: _column(rows[name], kind) for name, kind in kinds.items()})
        return Part(table if types is None else table.select(list(types)))


def _header(file: TextIO) -> str:
    """All lines up to the one after which the data begin."""
    lines = []
    for line in file:
        lines.append(line)
        if line.strip().lower() == "@data":
            return "".join(lines)
    raise ValueError("it has no line @data")


def _column(values: Array, kind: str) -> Any:
    if kind != "nominal":
        return pa.array(values, from_pandas=True)
    words = pa.array(values.tolist(), pa.binary()).cast(pa.string())
    return pa.compute.if_else(pa.compute.equal(words, "?"), pa.scalar(None, pa.string()), words).dictionary_encode()
