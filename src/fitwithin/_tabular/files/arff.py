"""Weka's ARFF files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
from scipy.io import arff

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.files.table_chunk import CHUNK_ROWS, ColumnTypes, TableChunk


class ArffFile:
    """An ARFF file of numbers, nominal values and dates; scipy reads neither text nor sparse rows.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Return the names of the attributes."""
        with self.path.open(encoding="utf-8") as file:
            return list(self._parse(_read_header_lines(file), None).table.column_names)

    def read(self, types: ColumnTypes | None = None) -> TableChunk:
        """Read all rows."""
        return self._parse(self.path.read_text(encoding="utf-8"), types)

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read all rows in chunks, each parsed as a small file with the same header."""
        with self.path.open(encoding="utf-8") as file:
            header = _read_header_lines(file)
            while lines := list(islice(file, CHUNK_ROWS)):
                yield self._parse(header + "".join(lines), types)

    def _parse(self, text: str, types: ColumnTypes | None) -> TableChunk:
        try:
            rows, attributes = arff.loadarff(io.StringIO(text))
        except NotImplementedError as error:
            raise UserInputError(
                f"{self.path} has attributes that can't be read: {error}.", "Save it as CSV."
            ) from error
        attribute_types = dict(zip(attributes.names(), attributes.types(), strict=True))
        table = pa.table({name: _to_arrow_column(rows[name], type_) for name, type_ in attribute_types.items()})
        return TableChunk(table if types is None else table.select(list(types)))


def _read_header_lines(file: TextIO) -> str:
    """Read all lines up to and including @data."""
    lines = []
    for line in file:
        lines.append(line)
        if line.strip().lower() == "@data":
            return "".join(lines)
    raise ValueError("it has no line @data")


def _to_arrow_column(values: Array, type_: str) -> Any:
    if type_ != "nominal":
        return pa.array(values, from_pandas=True)
    text = pa.array(values.tolist(), pa.binary()).cast(pa.string())
    return pa.compute.if_else(pa.compute.equal(text, "?"), pa.scalar(None, pa.string()), text).dictionary_encode()
