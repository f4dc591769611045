"""A file of checked records: replaced as a whole by a rename, or extended by one record at its end.

Layout: a line with the file's kind and version, a slot for one number that is overwritten in place, and records. A
record is JSON text and arrays or bytes, with its length and checksum before it. A program that is killed while it
extends the file leaves a part of a record at the end, which readers ignore.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fitwithin._core.atomic_write import atomic_write

_HEADER = struct.Struct("<4sQI")
"""Before each record: its kind, bytes and checksum."""

_TEXT_LENGTH = struct.Struct("<I")
"""First in each record: the bytes of its JSON text."""

_SLOT_BYTES = 32
"""Bytes of the number that is overwritten in place: one block of any disk, so that it is old or new."""

MAX_TEXT_BYTES = 1 << 26
"""Larger JSON texts are refused; a history of 100,000 rounds has half of that."""

_COPIED_BYTES = 1 << 20
"""Bytes that are read at a time."""


class DamagedFile(Exception):
    """The file is damaged; the text says how."""


class OtherKind(Exception):
    """The file is of another kind."""


class NewerVersion(Exception):
    """The file was written by a newer version."""


@dataclass(frozen=True, eq=False)
class Record:
    """A record to write.

    Parameters
    ----------
    kind : bytes
        Four letters.
    values : dict
        Anything that JSON can hold.
    parts : dict of bytes-like or Path, optional
        Larger parts by name; a path stands for the content of that file.
    """

    kind: bytes
    values: Mapping[str, Any]
    parts: Mapping[str, bytes | memoryview | Path]


@dataclass(frozen=True)
class RecordPosition:
    """Where a record lies in a file."""

    kind: bytes
    start: int
    size: int
    checksum: int

    @property
    def end(self) -> int:
        """Position after the record."""
        return self.start + self.size


class RecordFile:
    """Write and read the records of one file.

    Parameters
    ----------
    path : Path
        The file.
    title : str
        Kind of the file, its first words.
    version : int
        Version of its layout.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = RecordFile(Path(folder.name) / "a", "example", 1)
    >>> file.replace([Record(b"NOTE", {"n": 1}, {})], 2.5)
    >>> file.append(Record(b"NOTE", {"n": 2}, {"x": b"abc"}))
    >>> [file.read(position)[0]["n"] for position in file.positions()]
    [1, 2]
    >>> file.read_slot()
    2.5
    >>> folder.cleanup()
    """

    def __init__(self, path: Path, title: str, version: int) -> None:
        self.path = path
        self._title = title
        self._version = version
        self._first_line = f"{title} {version}\n".encode("ascii")
        self._known_end: int | None = None

    def replace(self, records: list[Record | RecordPosition], slot: float) -> None:
        """Write a new file beside the old one and rename it; a position stands for a record of the old file."""
        with atomic_write(self.path) as temporary, temporary.open("wb") as out:
            out.write(self._first_line + _format_slot(slot))
            for record in records:
                if isinstance(record, Record):
                    _write_record(out, record)
                else:
                    with self.path.open("rb") as old:
                        _copy_record(old, record, out)
            self._known_end = out.tell()

    def append(self, record: Record) -> None:
        """Write a record after the last whole one."""
        with self.path.open("r+b") as file:
            end = os.fstat(file.fileno()).st_size
            if end != self._known_end:
                # Written by an earlier program, which may have been killed meanwhile.
                end = max((position.end for position in self.positions()), default=self._body_start)
            file.truncate(end)
            file.seek(end)
            try:
                _write_record(file, record)
                file.flush()
            except (OSError, TypeError, ValueError):
                file.truncate(end)
                raise
            self._known_end = file.tell()

    def write_slot(self, number: float) -> None:
        """Overwrite the number in place."""
        with self.path.open("r+b", buffering=0) as file:
            file.seek(len(self._first_line))
            file.write(_format_slot(number))

    def read_slot(self) -> float:
        """Return the number; 0.0 if it is damaged."""
        with self.path.open("rb") as file:
            self._check_first_line(file)
            text, _, checksum = file.read(_SLOT_BYTES).strip().partition(b" ")
        if checksum != _checksum_text(text):
            return 0.0
        try:
            number = float(text)
        except ValueError:
            return 0.0
        return number if math.isfinite(number) else 0.0

    def positions(self) -> Iterator[RecordPosition]:
        """Yield the position of every record that lies in the file completely.

        Raises
        ------
        OtherKind, NewerVersion
            If the file does not begin as it should.
        """
        with self.path.open("rb") as file:
            self._check_first_line(file)
            n_bytes = os.fstat(file.fileno()).st_size
            start = self._body_start
            while start + _HEADER.size <= n_bytes:
                file.seek(start)
                kind, size, checksum = _HEADER.unpack(file.read(_HEADER.size))
                position = RecordPosition(kind, start + _HEADER.size, size, checksum)
                if not kind.isalpha() or position.end > n_bytes:
                    # The header is written last: without it, the record is not whole.
                    return
                yield position
                start = position.end

    def is_intact(self, position: RecordPosition) -> bool:
        """Whether the content of a record has its checksum."""
        with self.path.open("rb") as file:
            file.seek(position.start)
            checksum, left = 0, position.size
            while left and (piece := file.read(min(left, _COPIED_BYTES))):
                checksum, left = zlib.crc32(piece, checksum), left - len(piece)
        return not left and checksum == position.checksum

    def read(self, position: RecordPosition) -> tuple[dict[str, Any], dict[str, slice]]:
        """Return the values of a record, and where in the file each of its parts lies.

        Raises
        ------
        DamagedFile
            If it does not hold what `Record` holds.
        """
        with self.path.open("rb") as file:
            file.seek(position.start)
            try:
                (n_text,) = _TEXT_LENGTH.unpack(file.read(_TEXT_LENGTH.size))
                if n_text > min(position.size - _TEXT_LENGTH.size, MAX_TEXT_BYTES):
                    raise ValueError("its text is too long")
                content = json.loads(file.read(n_text))
                values, sizes = dict(content["values"]), dict(content["parts"])
                parts, start = {}, position.start + _TEXT_LENGTH.size + n_text
                for name, size in sizes.items():
                    if not isinstance(size, int) or not 0 <= size <= position.end - start:
                        raise ValueError(f"its part {name} has no valid size")
                    parts[name] = slice(start, start + size)
                    start += size
            except (struct.error, ValueError, TypeError, KeyError, RecursionError) as error:
                raise DamagedFile(str(error)) from error
        return values, parts

    def read_part(self, part: slice) -> bytes:
        """Return the bytes of a part."""
        with self.path.open("rb") as file:
            file.seek(part.start)
            return file.read(part.stop - part.start)

    def extract_part(self, part: slice, path: Path) -> None:
        """Write a part to a file of its own."""
        with self.path.open("rb") as file, path.open("wb") as out:
            file.seek(part.start)
            _copy_bytes(file, part.stop - part.start, out)

    @property
    def _body_start(self) -> int:
        return len(self._first_line) + _SLOT_BYTES

    def _check_first_line(self, file: BinaryIO) -> None:
        line = file.readline(len(self._first_line) + 8)
        if line == self._first_line:
            return
        title, _, version = line.rstrip(b"\n").rpartition(b" ")
        if title == self._title.encode("ascii") and version.isdigit() and int(version) > self._version:
            raise NewerVersion
        raise OtherKind(f"it does not begin with {self._title!r}")


def _format_slot(number: float) -> bytes:
    text = f"{number:.6f}".encode("ascii")
    return (text + b" " + _checksum_text(text)).ljust(_SLOT_BYTES - 1) + b"\n"


def _checksum_text(text: bytes) -> bytes:
    return f"{zlib.crc32(text):08x}".encode("ascii")


def _write_record(out: BinaryIO, record: Record) -> None:
    """Write a record without a copy of its parts in memory: its header comes last, in its place."""
    sizes = {name: part.stat().st_size if isinstance(part, Path) else len(part) for name, part in record.parts.items()}
    text = json.dumps({"values": record.values, "parts": sizes}, default=_to_python).encode("ascii")
    if len(text) > MAX_TEXT_BYTES:
        raise ValueError(f"it would hold {len(text):,} bytes of text; expected {MAX_TEXT_BYTES:,} at most")
    head = _TEXT_LENGTH.pack(len(text)) + text
    start = out.tell()
    out.write(bytes(_HEADER.size))
    checksum, size = zlib.crc32(head), len(head)
    out.write(head)
    for part in record.parts.values():
        for piece in _read_pieces(part):
            checksum, size = zlib.crc32(piece, checksum), size + len(piece)
            out.write(piece)
    out.seek(start)
    out.write(_HEADER.pack(record.kind, size, checksum))
    out.seek(0, os.SEEK_END)


def _to_python(value: Any) -> Any:
    """Return a number of NumPy as Python's own."""
    if not hasattr(value, "item"):
        raise TypeError(f"{type(value).__name__} is neither text nor a number")
    return value.item()


def _read_pieces(part: bytes | memoryview | Path) -> Iterator[bytes | memoryview]:
    if not isinstance(part, Path):
        yield part
        return
    with part.open("rb") as file:
        while piece := file.read(_COPIED_BYTES):
            yield piece


def _copy_record(source: BinaryIO, position: RecordPosition, out: BinaryIO) -> None:
    out.write(_HEADER.pack(position.kind, position.size, position.checksum))
    source.seek(position.start)
    _copy_bytes(source, position.size, out)


def _copy_bytes(source: BinaryIO, size: int, out: BinaryIO) -> None:
    while size and (piece := source.read(min(size, _COPIED_BYTES))):
        out.write(piece)
        size -= len(piece)
