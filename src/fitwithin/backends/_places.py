"""Where rows lie that two processes share."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._messages import Rows
from .._target import Array, Target
from ._files import private_view


@dataclass(frozen=True)
class Block:
    """A part of a table, pickled into a file: where it lies, and which places of the map it fills."""

    offset: int
    first: int
    rows: int


@dataclass(frozen=True, eq=False)
class Span:
    """Rows that lie side by side in a map."""

    start: int
    stop: int
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, eq=False)
class Spots:
    """Rows that lie here and there in a map."""

    at: Rows
    blocks: tuple[Block, ...] = ()


Place = Span | Spots
"""Where the rows of a lesson or an exam are."""


@dataclass(frozen=True)
class MappedFile:
    """An array that is a part of a file."""

    path: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def open(self) -> Array:
        """The array, read-only, not in memory."""
        with open(self.path, "rb") as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)


@dataclass(frozen=True)
class Column:
    """A column of the map: of what type, and how much of it a row has."""

    dtype: np.dtype[Any]
    tail: tuple[int, ...]

    @classmethod
    def of(cls, source: Array) -> Column:
        """The column that holds rows of this array."""
        return cls(source.dtype, source.shape[1:])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.tail, dtype=np.int64)) * self.dtype.itemsize

    def open(self, fd: int, stop: int) -> Array:
        """The rows before `stop`, private to this process."""
        return private_view(fd, (stop, *self.tail), self.dtype)


@dataclass(frozen=True, eq=False)
class Layout:
    """What a learner's process must know to read the rows.

    Parameters
    ----------
    columns : tuple of Column
        One for each shared file: the target, the extras, and the features where they are plain.
    target : Target
        How to read the first of them, without its rows.
    extras : tuple of str
        Names of the following ones.
    source : MappedFile or None
        The features' own file, if they have one.
    """

    columns: tuple[Column, ...]
    target: Target
    extras: tuple[str, ...]
    source: MappedFile | None = None
