"""CSV files, compressed or not."""

from __future__ import annotations

import csv
import io
import lzma
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.data_file import ColumnTypes, DataFile, TableChunk

_DELIMITERS = ",;\t|"


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Arrow's names of the compressions that it reads itself."""


_CHUNK_BYTES = 1 << 24
"""Bytes that arrow parses at a time; every row must fit into them."""


_HEADER_LENGTH = 1 << 22
"""Characters that the header may have."""


class CsvFile(DataFile):
    """A CSV file with a header line; the delimiter is a comma, semicolon, tab or vertical bar.

    Parameters
    ----------
    path : Path
        The file.
    """

    def _read_names(self) -> list[str]:
        """Return the names of the columns."""
        start = self._read_start()
        names = next(filter(None, csv.reader(io.StringIO(start), delimiter=_detect_delimiter(start))), [])
        if any(not name.strip() for name in names):
            raise UserInputError(
                f"{self.path} has a column without a name.",
                "Its first line must hold a name for every column; pandas' to_csv needs index=False.",
            )
        return names

    def _read_rows(self, types: ColumnTypes | None, label: str | None) -> TableChunk:
        """Read all rows."""
        with self._translate_arrow_errors(), self._open_stream() as stream:
            table = arrow_csv.read_csv(stream, *self._arrow_options(types, use_threads=True))
        self._refuse_other_encodings(table.schema)
        if label is not None and pa.types.is_integer(table[label].type):
            # Numbers such as 007 differ from 7.
            written = self._read_rows({label: pa.string()}, None).table[label]
            if pc.any(pc.match_substring_regex(written, r"^[+-]?0[0-9]")).as_py():
                table = table.set_column(table.column_names.index(label), label, written)
        return TableChunk(table)

    def _read_chunks(self, types: ColumnTypes | None) -> Iterator[TableChunk]:
        """Read all rows in chunks. Without types, all chunks must have those of the first."""
        with (
            self._translate_arrow_errors(),
            self._open_stream() as stream,
            # With threads arrow reads ahead, and a slow consumer lets its memory grow.
            arrow_csv.open_csv(stream, *self._arrow_options(types, use_threads=False)) as reader,
        ):
            self._refuse_other_encodings(reader.schema)
            for batch in reader:
                yield from TableChunk(pa.Table.from_batches([batch])).split()

    @contextmanager
    def _translate_arrow_errors(self) -> Iterator[None]:
        """Raise an error in the user's words where arrow's text is known: it raises one type without attributes."""
        try:
            yield
        except pa.ArrowInvalid as error:
            bad_value = re.match(r"In CSV column #(?P<number>\d+): (?P<reason>.*)", str(error))
            if bad_value is not None:
                name = self._read_names()[int(bad_value["number"])]
                raise UserInputError(
                    f"Column {name!r} of {self.path} holds a value of another type than the rows before it, or than "
                    f"the training data: {bad_value['reason']}.",
                    "Correct the value, or remove the row.",
                ) from error
            raise

    def _open_stream(self) -> Any:
        if self.path.suffix.lower() == ".xz":
            return lzma.open(self.path)
        return pa.input_stream(str(self.path), compression=_COMPRESSIONS.get(self.path.suffix.lower()))

    def _read_start(self) -> str:
        """Read the start of the file, with the whole header, which may span several lines."""
        with io.TextIOWrapper(self._open_stream(), "utf-8-sig", newline="") as stream:
            try:
                return stream.read(_HEADER_LENGTH).lstrip("\r\n")
            except UnicodeDecodeError as error:
                raise self._encoding_error() from error

    def _arrow_options(self, types: ColumnTypes | None, *, use_threads: bool) -> tuple[Any, Any, Any]:
        # Empty cells are missing values in text columns too.
        convert = arrow_csv.ConvertOptions(strings_can_be_null=True)
        if types is not None:
            convert.column_types = dict(types)
            convert.include_columns = list(types)
        delimiter = _detect_delimiter(self._read_start())
        return (
            arrow_csv.ReadOptions(block_size=_CHUNK_BYTES, use_threads=use_threads),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert,
        )

    def _refuse_other_encodings(self, schema: pa.Schema) -> None:
        """Raise for columns of bytes: arrow reads text as bytes if it is not UTF-8."""
        if any(pa.types.is_binary(type_) for type_ in schema.types):
            raise self._encoding_error()

    def _encoding_error(self) -> UserInputError:
        return UserInputError(f"{self.path} is not encoded in UTF-8.", "Save it as CSV with the encoding UTF-8.")


def _detect_delimiter(start: str) -> str:
    """Return the most frequent delimiter of the first line, outside of quotes.

    Examples
    --------
    >>> _detect_delimiter('age;"city, country";label')
    ';'
    """
    line = _QUOTED.sub("", start).replace("\r", "\n").partition("\n")[0]
    return max(_DELIMITERS, key=line.count)
