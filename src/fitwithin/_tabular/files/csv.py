"""CSV files, compressed or not."""

from __future__ import annotations

import codecs
import csv
import io
import lzma
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.table_chunk import Part

_DELIMITERS = ",;\t|"


_COLUMN = re.compile(r"In CSV column #(?P<number>\d+): (?P<why>.*)")


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


_END = re.compile(r"[\r\n]")


_BLOCK = 1 << 20
"""Bytes at a time, in parts; a row must fit in."""


_WHOLE = 1 << 26
"""The same for a file that is read whole: it may have rows with very long texts in it."""


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
        head = self._head()
        names = next(filter(None, csv.reader(io.StringIO(head), delimiter=_delimiter(head))), [])
        if any(not name.strip() for name in names):
            raise UserInputError(
                f"{self.path} has a column without a name.",
                "Its first line must hold a name for every column; pandas' to_csv needs index=False.",
            )
        return names

    def read(self, types: Mapping[str, pa.DataType] | None = None) -> Part:
        """All rows."""
        with self._told(), self._stream() as stream:
            table = arrow_csv.read_csv(stream, _reading(_WHOLE, threads=True), self._parsing(), _converting(types))
        self._refuse_bytes(table.schema)
        return Part(table)

    def with_names(self, part: Part, name: str) -> Part:
        """The rows, with a column as it is written if it has numbers like 007: these are names, 7 is another."""
        written = self.read({name: pa.string()}).table[name]
        if not pc.any(pc.match_substring_regex(written, r"^[+-]?0[0-9]")).as_py():
            return part
        return Part(part.table.set_column(part.table.column_names.index(name), name, written))

    def parts(self, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Part]:
        """All rows, some at a time. Without types, those of the first part are expected of all."""
        with (
            self._told(),
            self._stream() as stream,
            arrow_csv.open_csv(stream, _reading(self._block()), self._parsing(), _converting(types)) as reader,
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
            if "straddl" in str(error):
                raise UserInputError(
                    f"{self.path} has a very long row.", "Use parquet, or leave long texts out."
                ) from error
            if found is None:
                raise
            raise UserInputError(
                f"Column {self.names()[int(found['number'])]!r} of {self.path} holds something else than the rows "
                f"before, or than those in training: {found['why']}.",
                "Correct the value, or leave the row out.",
            ) from error

    def _stream(self) -> Any:
        if self.path.suffix.lower() == ".xz":
            return lzma.open(self.path)
        return pa.input_stream(str(self.path), compression=_COMPRESSION.get(self.path.suffix.lower()))

    def _head(self) -> str:
        """The start of the file, with at least the whole record of its names."""
        text, decoder = "", codecs.getincrementaldecoder("utf-8-sig")()
        with self._stream() as stream:
            while (found := bytes(stream.read(_BLOCK))) and len(text) < _WHOLE:
                try:
                    text = (text + decoder.decode(found)).lstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise self._not_text() from error
                if _END.search(_QUOTED.sub("", text)):
                    break
        return text

    def _block(self) -> int:
        """Bytes at a time, of which several rows like the first ones fit in."""
        return max(_BLOCK, 8 * max(map(len, self._head().splitlines()), default=0))

    def _parsing(self) -> arrow_csv.ParseOptions:
        return arrow_csv.ParseOptions(delimiter=_delimiter(self._head()), newlines_in_values=True)

    def _refuse_bytes(self, schema: pa.Schema) -> None:
        """What is not text in UTF-8 comes as bytes."""
        if any(pa.types.is_binary(kind) for kind in schema.types):
            raise self._not_text()

    def _not_text(self) -> UserInputError:
        return UserInputError(f"{self.path} is not text in UTF-8.", "Save it as CSV with the encoding UTF-8.")


def _delimiter(head: str) -> str:
    """What separates the names in the first line: the sign that is there most often, outside of quotes.

    Examples
    --------
    >>> _delimiter('age;"city, country";label')
    ';'
    """
    line = _END.split(_QUOTED.sub("", head), 1)[0]
    return max(_DELIMITERS, key=line.count)


def _reading(block: int, *, threads: bool = False) -> arrow_csv.ReadOptions:
    """With threads arrow reads ahead, and has more in memory the slower the rows are used."""
    return arrow_csv.ReadOptions(block_size=block, use_threads=threads)


def _converting(types: Mapping[str, pa.DataType] | None) -> arrow_csv.ConvertOptions:
    """Empty cells are gaps in columns of words too."""
    options = arrow_csv.ConvertOptions(strings_can_be_null=True)
    if types is not None:
        options.column_types = dict(types)
        options.include_columns = list(types)
    return options
