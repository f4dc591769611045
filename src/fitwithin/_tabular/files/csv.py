"""CSV files, compressed or not."""

from __future__ import annotations

import codecs
import csv
import io
import lzma
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.table_chunk import ColumnTypes, TableChunk

_DELIMITERS = ",;\t|"


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


_LINE_END = re.compile(r"[\r\n]")


_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Arrow's names of the compressions that it reads itself."""


_CHUNK_BYTES = 1 << 20
"""Bytes of a chunk; arrow needs every row to fit into one."""


_WHOLE_FILE_BLOCK_BYTES = 1 << 26
"""Bytes of a block when a file is read whole: a row with very long text must fit into one."""


_FIRST_ROWS_PER_CHUNK = 8
"""Rows of the length of the longest first row that must fit into a chunk."""


class CsvFile:
    """A CSV file with a header line; the delimiter is a comma, semicolon, tab or vertical bar.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        start = self._read_start()
        names = next(filter(None, csv.reader(io.StringIO(start), delimiter=_detect_delimiter(start))), [])
        if any(not name.strip() for name in names):
            raise UserInputError(
                f"{self.path} has a column without a name.",
                "Its first line must hold a name for every column; pandas' to_csv needs index=False.",
            )
        return names

    def read(self, types: ColumnTypes | None = None) -> TableChunk:
        """Read all rows."""
        read_options = _read_options(_WHOLE_FILE_BLOCK_BYTES, use_threads=True)
        with self._translate_arrow_errors(), self._open_stream() as stream:
            table = arrow_csv.read_csv(stream, read_options, self._parse_options(), _convert_options(types))
        self._refuse_other_encodings(table.schema)
        return TableChunk(table)

    def keep_leading_zeros(self, chunk: TableChunk, name: str) -> TableChunk:
        """Return the rows with a column as text if it holds numbers such as 007, which differ from 7."""
        written = self.read({name: pa.string()}).table[name]
        if not pc.any(pc.match_substring_regex(written, r"^[+-]?0[0-9]")).as_py():
            return chunk
        return TableChunk(chunk.table.set_column(chunk.table.column_names.index(name), name, written))

    def read_chunks(self, types: ColumnTypes | None = None) -> Iterator[TableChunk]:
        """Read all rows in chunks. Without types, all chunks must have those of the first."""
        read_options = _read_options(self._chunk_bytes())
        with (
            self._translate_arrow_errors(),
            self._open_stream() as stream,
            arrow_csv.open_csv(stream, read_options, self._parse_options(), _convert_options(types)) as reader,
        ):
            self._refuse_other_encodings(reader.schema)
            for batch in reader:
                if batch.num_rows:
                    yield TableChunk(pa.Table.from_batches([batch]))

    @contextmanager
    def _translate_arrow_errors(self) -> Iterator[None]:
        try:
            yield
        except pa.ArrowInvalid as error:
            translated = self._translate_arrow_error(error)
            if translated is None:
                raise
            raise translated from error

    def _translate_arrow_error(self, error: pa.ArrowInvalid) -> UserInputError | None:
        """Return an error in the user's words; None if arrow's own text is all that is known.

        Arrow raises the same type for all of them, without attributes: its text is the only source.
        """
        message = str(error)
        if "straddl" in message:  # "straddling object straddles two block boundaries"
            return UserInputError(
                f"{self.path} has a row that is too long to be read in chunks.", "Use parquet, or leave out long text."
            )
        bad_value = re.match(r"In CSV column #(?P<number>\d+): (?P<reason>.*)", message)
        if bad_value is None:
            return None
        name = self.column_names()[int(bad_value["number"])]
        return UserInputError(
            f"Column {name!r} of {self.path} holds a value of another type than the rows before it, or than the "
            f"training data: {bad_value['reason']}.",
            "Correct the value, or remove the row.",
        )

    def _open_stream(self) -> Any:
        if self.path.suffix.lower() == ".xz":
            return lzma.open(self.path)
        return pa.input_stream(str(self.path), compression=_COMPRESSIONS.get(self.path.suffix.lower()))

    def _read_start(self) -> str:
        """Read the start of the file, with at least the whole header, which may span several lines."""
        text, decoder = "", codecs.getincrementaldecoder("utf-8-sig")()
        with self._open_stream() as stream:
            while (block := bytes(stream.read(_CHUNK_BYTES))) and len(text) < _WHOLE_FILE_BLOCK_BYTES:
                try:
                    text = (text + decoder.decode(block)).lstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise self._encoding_error() from error
                if _LINE_END.search(_QUOTED.sub("", text)):
                    break
        return text

    def _chunk_bytes(self) -> int:
        """Return the size of a chunk that several rows like the first ones fit into."""
        longest = max(map(len, self._read_start().splitlines()), default=0)
        return max(_CHUNK_BYTES, _FIRST_ROWS_PER_CHUNK * longest)

    def _parse_options(self) -> arrow_csv.ParseOptions:
        return arrow_csv.ParseOptions(delimiter=_detect_delimiter(self._read_start()), newlines_in_values=True)

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
    line = _LINE_END.split(_QUOTED.sub("", start), 1)[0]
    return max(_DELIMITERS, key=line.count)


def _read_options(block_bytes: int, *, use_threads: bool = False) -> arrow_csv.ReadOptions:
    # With threads arrow reads ahead, and a slow consumer lets its memory grow.
    return arrow_csv.ReadOptions(block_size=block_bytes, use_threads=use_threads)


def _convert_options(types: ColumnTypes | None) -> arrow_csv.ConvertOptions:
    # Empty cells are missing values in text columns too.
    options = arrow_csv.ConvertOptions(strings_can_be_null=True)
    if types is not None:
        options.column_types = dict(types)
        options.include_columns = list(types)
    return options
