"""The memory limit: text to bytes, and the memory of the machine or of the memory group that we are in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

import psutil

from fitwithin._core.budget import read_quantity

MemoryLimit = float | str
"""Bytes, or text such as "8GB", "512MiB", "50%"."""


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|(?:([kmgt])(i?))?b)")

_PREFIXES = "kmgt"
"""Each stands for 1,000 times the one before, or 1,024 times with an i."""


_ACCEPTED = 'bytes (8_000_000_000), text such as "8GB" or "512MiB", or "50%" of the memory'


def parse_memory_limit(memory_limit: MemoryLimit, find_total: Callable[[], int] | None = None) -> int:
    """Return the bytes of a memory limit.

    Parameters
    ----------
    memory_limit : int, float or str
        For example 8_000_000_000, ``"8GB"``, ``"512MiB"``, or ``"50%"`` of the memory.
    find_total : callable, optional
        Returns the memory that a share is a share of; `available_memory` by default.

    Returns
    -------
    int
        A positive number of bytes.

    Raises
    ------
    ValueError
        If the limit is not positive and finite, cannot be read, or is above 100 %.

    Examples
    --------
    >>> parse_memory_limit("8GB"), parse_memory_limit("1.5 MiB")
    (8000000000, 1572864)
    """
    read_text = partial(_read_text, find_total=find_total or available_memory)
    return int(read_quantity(memory_limit, read_text, "memory_limit", _ACCEPTED, least=1))


def _read_text(text: str, find_total: Callable[[], int]) -> float | None:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    number, prefix, is_binary = float(match[1]), match[2], bool(match[3])
    if text.endswith("%"):
        return find_total() * number / 100 if number <= 100 else None
    return float(number * (1_024 if is_binary else 1_000) ** (_PREFIXES.index(prefix) + 1 if prefix else 0))


def format_bytes(n_bytes: float) -> str:
    """Write a number of bytes with two or three significant figures.

    Examples
    --------
    >>> format_bytes(512), format_bytes(1_234_000), format_bytes(24e9)
    ('512 B', '1.2 MB', '24 GB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while n_bytes >= 999.5 and len(units) > 1:
        n_bytes /= 1_000
        del units[0]
    unit = units[0]
    return f"{n_bytes:.1f} {unit}" if n_bytes < 9.95 and unit != "B" else f"{n_bytes:.0f} {unit}"


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes of the machine's memory, or the limit of the memory group that we are in, if that is less.

    Groups are nested: the smallest limit on the way up counts. Other systems than Linux have none.

    Parameters
    ----------
    root : Path
        Where to look for `proc` and for the files of the groups.
    """
    return min([int(psutil.virtual_memory().total), *_group_limits(root)])


def _group_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the memory group of this process and of the groups above it, cgroup versions 1 and 2."""
    for line in _read_lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        folder, file = ("memory", "memory.limit_in_bytes") if controllers else (".", "memory.max")
        # A container may see its own group as the top one: then the folders of the path are not there.
        group = PurePosixPath(path.lstrip("/"))
        for place in (group, *group.parents):
            # Without a limit the file says "max" (version 2) or a number beyond every memory (version 1).
            lines = _read_lines(root / "sys/fs/cgroup" / folder / place / file)
            yield from (int(text) for text in lines if text.isdigit())


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
