"""Arrays that are a part of a file, so that another process can map it instead of getting a copy.

The name of a file may lead to other rows than those that were mapped: the file was replaced, or
deleted, or cut short since then. Another process may only use the name if it leads to the same file.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array

_N_SAMPLES = 64
"""Places at which two files are compared, where the system does not tell which file is mapped."""

_SAMPLE_BYTES = 1024
"""Bytes compared at each place."""


@dataclass(frozen=True)
class MappedFile:
    """An array that is a part of a file.

    Parameters
    ----------
    path : str
        The file's name.
    identity : tuple of int
        Its device and inode: no other file has both while this one is mapped.
    offset, shape, strides, dtype
        Where the array lies in the file.
    """

    path: str
    identity: tuple[int, int]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def find(cls, X: Array) -> MappedFile | None:
        """Return the file that an array is a part of; None if another process would not see the same rows in it.

        Raises
        ------
        UserInputError
            If the file was cut short, so that reading the array would kill any process.
        """
        root: Any = X
        while isinstance(getattr(root, "base", None), np.ndarray):
            root = root.base
        if not isinstance(root, np.memmap) or not isinstance(root.base, mmap.mmap):
            return None
        start = root.offset + _address(X) - _address(root)
        _refuse_if_cut_short(str(root.filename), root.base.size(), start + _extent(X.shape, X.strides, X.itemsize))
        if root.mode == "c" or root.filename is None or min(X.strides) < 0:
            return None
        identity = _identify(root)
        return None if identity is None else cls(str(root.filename), identity, start, X.shape, X.strides, X.dtype)

    @property
    def _end(self) -> int:
        return self.offset + _extent(self.shape, self.strides, self.dtype.itemsize)

    def open(self) -> Array:
        """Map the array, read-only; raise UserInputError if the file is another one by now."""
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_dev, status.st_ino) != self.identity:
                    raise FileNotFoundError
                _refuse_if_cut_short(self.path, status.st_size, self._end)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise UserInputError(
                f"The file {self.path}, which X is mapped from, was replaced or deleted during fit.",
                "Leave it in place until fit returns.",
            ) from None
        return np.ndarray(self.shape, self.dtype, mapped, self.offset, self.strides)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the first element of an array to the end of the one that lies last."""
    return itemsize + sum((n - 1) * max(stride, 0) for n, stride in zip(shape, strides, strict=True))


def _refuse_if_cut_short(path: str, n_bytes: int, n_needed: int) -> None:
    if n_bytes < n_needed:
        raise UserInputError(
            f"The file {path}, which X is mapped from, has {n_bytes:,} bytes; X ends at byte {n_needed:,}. "
            "It was cut short after X was opened.",
            "Write the file anew and open X again.",
        )


def _identify(root: Any) -> tuple[int, int] | None:
    """Return device and inode of the file that is mapped; None if its name leads elsewhere by now."""
    try:
        descriptor = os.open(root.filename, os.O_RDONLY)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        return (status.st_dev, status.st_ino) if _is_mapped(root, descriptor, status) else None
    finally:
        os.close(descriptor)


def _is_mapped(root: Any, descriptor: int, status: os.stat_result) -> bool:
    """Whether an open file is the one that an array is mapped from."""
    mapped = _find_mapping(_address(root)) or (None, status.st_ino)
    # Layered file systems and volumes show one device to those who map a file and another to those who open it.
    return mapped == (status.st_dev, status.st_ino) or (
        mapped[1] == status.st_ino and _samples_agree(root, descriptor, status)
    )


def _find_mapping(address: int) -> tuple[int, int] | None:
    """Return device and inode of the file that is mapped at an address; None if the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/maps", "rb") as mappings:
        for line in mappings:
            span, _, _, device, inode = line.split(maxsplit=5)[:5]
            low, high = (int(end, 16) for end in span.split(b"-"))
            if low <= address < high:
                return os.makedev(*(int(part, 16) for part in device.split(b":"))), int(inode)
    return None


def _samples_agree(root: Any, descriptor: int, status: os.stat_result) -> bool:
    """Whether an open file has the size of the mapped one, and the same bytes in many places."""
    if root.base.size() != status.st_size:
        return False
    content = root.reshape(-1, order="A").view(np.ndarray).view(np.uint8)
    with os.fdopen(os.dup(descriptor), "rb", buffering=0) as file:
        for start in np.linspace(0, max(0, len(content) - _SAMPLE_BYTES), _N_SAMPLES, dtype=np.int64).tolist():
            file.seek(root.offset + start)
            expected = content[start : start + _SAMPLE_BYTES].tobytes()
            if file.read(len(expected)) != expected:
                return False
    return True
