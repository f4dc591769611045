"""CSV files, compressed or not."""

from __future__ import annotations

import csv
import lzma
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from .._exceptions import Unusable
from ._part import Part

_DELIMITERS = ",;\t|"
_COLUMN = re.compile(r"In CSV column #(?P<number>\d+): (?P<why>.*)")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_BLOCK = 1 << 20
"""Bytes at a time; a row must fit in, and arrow reads up to 32 of them ahead."""


class CsvFile:
    """A CSV file with a line of names; commas, semicolons, tabs or bars between the values.

    Parameters
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Names of the columns."""
        line = self._first_line()
        names = next(csv.reader([line], delimiter=_delimiter(line)), [])
        if any(not name.strip() for name in names):
            raise Unusable(
                f"{self.path} has a column without a name.", "Its first line must hold a name for every column."
            )
        return names

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows."""
        with self._told(), self._stream() as stream:
            table = arrow_csv.read_csv(stream, _reading(threads=True), self._parsing(), _converting(types))
        self._refuse_bytes(table.schema)
        return Part(table)

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time. Without types, those of the first part are expected of all."""
        with (
            self._told(),
            self._stream() as stream,
            arrow_csv.open_csv(stream, _reading(threads=False), self._parsing(), _converting(types)) as reader,
        ):
            self._refuse_bytes(reader.schema)
            for batch in reader:
                if batch.num_rows:
                    yield Part(pa.Table.from_batches([batch]))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Values that are not what was expected of their column, with the column's name."""
        try:
            yield
        except pa.ArrowInvalid as error:
            found = _COLUMN.match(str(error))
            if found is None:
                raise
            raise Unusable(
                f"Column {self.names()[int(found['number'])]!r} of {self.path} holds something else than the rows "
                f"before, or than those in training: {found['why']}.",
                "Correct the value, or leave the row out.",
            ) from error

    def _stream(self) -> Any:
        if self.path.suffix.lower() == ".xz":
            return lzma.open(self.path)
        return pa.input_stream(str(self.path), compression=_COMPRESSION.get(self.path.suffix.lower()))

    def _first_line(self) -> str:
        with self._stream() as stream:
            start = bytes(stream.read(_BLOCK))
        line = start.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"\n").partition(b"\n")[0]
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise self._not_text() from error

    def _parsing(self) -> arrow_csv.ParseOptions:
        return arrow_csv.ParseOptions(delimiter=_delimiter(self._first_line()), newlines_in_values=True)

    def _refuse_bytes(self, schema: pa.Schema) -> None:
        """What is not text in UTF-8 comes as bytes."""
        if any(pa.types.is_binary(kind) for kind in schema.types):
            raise self._not_text()

    def _not_text(self) -> Unusable:
        return Unusable(f"{self.path} is not text in UTF-8.", "Save it as CSV with the encoding UTF-8.")


def _delimiter(line: str) -> str:
    """What separates the names in a line: the sign that is there most often, outside of quotes.

    Examples
    --------
    >>> _delimiter('age;"city, country";label')
    ';'
    """
    bare = _QUOTED.sub("", line)
    return max(_DELIMITERS, key=bare.count)


def _reading(*, threads: bool) -> arrow_csv.ReadOptions:
    """With threads arrow reads ahead, and has more in memory the slower the rows are used."""
    return arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=threads)


def _converting(types: Mapping[str, pa.DataType] | None) -> arrow_csv.ConvertOptions:
    """Empty cells are gaps in columns of words too."""
    options = arrow_csv.ConvertOptions(strings_can_be_null=True)
    if types is not None:
        options.column_types = dict(types)
        options.include_columns = list(types)
    return options
