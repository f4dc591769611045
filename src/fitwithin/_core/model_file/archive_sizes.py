"""Sizes in a zip file, checked before memory is taken for what it holds.

A zip file can unpack to a thousand times its size, or to more if its directory lies. Every entry is therefore
unpacked once in small pieces that are thrown away, and must have exactly the size that the directory says.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np

from fitwithin._core.exceptions import UserInputError

_PIECE_BYTES = 1 << 20
"""Bytes that are unpacked at a time."""


_LOCAL_HEADER = struct.Struct("<26x2H")
"""The header before an entry's bytes: 26 bytes, then the lengths of its name and of its extra field."""


_FLAGS_REFUSED = 0x1 | 0x20 | 0x40
"""Flags of entries that are encrypted or patches."""


_MAX_EMPTY_DIMENSION = 1 << 26
"""Largest other dimension of an array without elements: sums over it would take memory."""


@dataclass(frozen=True)
class ArrayHeader:
    """Shape and element type that a .npy file declares.

    Parameters
    ----------
    shape : tuple of int
        Its dimensions.
    dtype : numpy.dtype
        Type of its elements.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


def damaged(detail: str) -> UserInputError:
    """Return the error for a file that can't be what it says it is."""
    return UserInputError(f"{detail}: the file is damaged or malicious.", "Do not use it; train the model again.")


def validate_entries(archive: zipfile.ZipFile, max_bytes: int) -> None:
    """Check the sizes of all entries of a zip file; takes little memory whatever the file holds.

    Parameters
    ----------
    archive : zipfile.ZipFile
        Open for reading.
    max_bytes : int
        Most bytes that its entries may have together.

    Raises
    ------
    UserInputError
        If the entries have more bytes, or other sizes than the directory says.
    """
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) < len(entries):
        raise damaged("Two of its entries have the same name")
    total = sum(entry.file_size for entry in entries)
    if total > max_bytes:
        raise damaged(f"It would unpack to {total:,} bytes, {max_bytes:,} are expected at most")
    for entry in entries:
        if not _has_declared_size(archive, entry):
            raise damaged(f"Its entry {entry.filename!r} is not of the size that the directory says")


def _has_declared_size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    if entry.flag_bits & _FLAGS_REFUSED:
        return False
    if entry.compress_type == zipfile.ZIP_STORED:
        return entry.file_size == entry.compress_size
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return False
    n_bytes = 0
    for piece in _inflate(_packed_pieces(archive, entry)):
        n_bytes += piece
        if n_bytes > entry.file_size:
            return False
    return n_bytes == entry.file_size


def _packed_pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    file: IO[bytes] | None = archive.fp
    if file is None:
        return
    file.seek(entry.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size:
        return
    file.seek(sum(_LOCAL_HEADER.unpack(header)), 1)
    left = entry.compress_size
    while left > 0:
        piece = file.read(min(left, _PIECE_BYTES))
        if not piece:
            return
        left -= len(piece)
        yield piece


def _inflate(pieces: Iterator[bytes]) -> Iterator[int]:
    """Yield the sizes of the unpacked pieces."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for packed in pieces:
            rest = packed
            while rest and not unpacker.eof:
                yield len(unpacker.decompress(rest, _PIECE_BYTES))
                rest = unpacker.unconsumed_tail
        while not unpacker.eof and (size := len(unpacker.decompress(b"", _PIECE_BYTES))):
            yield size
    except zlib.error:
        # No size is smaller than any declared one.
        yield 1 << 62


def read_entry(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Return the bytes of an entry, in memory for no more than the given number.

    Raises
    ------
    UserInputError
        If the entry has more bytes, or is not there.
    """
    try:
        with archive.open(name) as entry:
            content = entry.read(max_bytes + 1)
    except (KeyError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(f"Its entry {name!r} can't be read ({error})") from error
    if len(content) > max_bytes:
        raise damaged(f"Its entry {name!r} has more than {max_bytes:,} bytes")
    return content


def read_array_header(archive: zipfile.ZipFile, name: str) -> ArrayHeader:
    """Return shape and element type of a .npy entry, which must hold exactly the bytes that they need.

    Raises
    ------
    UserInputError
        If the header is invalid, or the entry is of another size.
    """
    try:
        with archive.open(name) as entry:
            version = np.lib.format.read_magic(entry)
            read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = read_header[version](entry)
            n_left = archive.getinfo(name).file_size - entry.tell()
    except Exception as error:  # NumPy evaluates the header, and may raise anything.
        raise damaged(f"Its array {name!r} can't be read ({error})") from error
    n_elements = math.prod(shape)
    is_plain = not dtype.hasobject and dtype.itemsize > 0 and all(type(size) is int and size >= 0 for size in shape)
    if not is_plain or n_elements * dtype.itemsize != n_left:
        raise damaged(f"Its array {name!r} says that it has the shape {shape} of {dtype}, and holds {n_left:,} bytes")
    if n_elements == 0 and max(shape, default=0) > _MAX_EMPTY_DIMENSION:
        raise damaged(f"Its array {name!r} is empty, and says that it has the shape {shape}")
    return ArrayHeader(shape, dtype)
