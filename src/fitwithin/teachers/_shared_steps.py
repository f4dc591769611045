"""Steps that several teachers take: limits and sizes of lessons, and numbers of validation rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

SIZE_RATIO = 1.1
"""Ratio between two sizes that are considered."""

# Validation rows, which are not taught before the end. There are as many holdout rows.
_VALIDATION_ONE_IN = 40  # rows of the pool for each validation row
_MAX_VALIDATION_ROWS = 2_000  # the standard error of an accuracy is 1.1 % at most
_MIN_VALIDATION_ROWS = 500
_SMALL_POOL_VALIDATION_ONE_IN = 20  # rows of the pool for each one, where `_MIN_VALIDATION_ROWS` would be more


def make_limit(seconds: float) -> float | None:
    """Return the seconds of a lesson or an exam; None without a deadline.

    Examples
    --------
    >>> make_limit(2.0), make_limit(math.inf)
    (2.0, None)
    """
    return seconds if math.isfinite(seconds) else None


def list_sizes(largest: int, smallest: float = 1, ratio: float = SIZE_RATIO) -> Iterator[int]:
    """Yield sizes from the largest down to the smallest.

    Examples
    --------
    >>> list(list_sizes(100, 60, ratio=1.25))
    [100, 80, 64]
    """
    size = largest
    while size >= max(1, smallest):
        yield size
        size = min(size - 1, int(size / ratio))


def find_largest_size(
    largest: int, is_possible: Callable[[int], bool], smallest: float = 1, ratio: float = SIZE_RATIO
) -> int:
    """Return the largest possible size of those that `list_sizes` yields; 0 if none is.

    Examples
    --------
    >>> find_largest_size(1000, lambda size: size < 500, ratio=2.0)
    250
    """
    return next((size for size in list_sizes(largest, smallest, ratio) if is_possible(size)), 0)


def count_validation_rows(pool_size: int) -> int:
    """Return the number of validation rows, and of holdout rows, that Auto keeps back of a pool.

    Examples
    --------
    >>> [count_validation_rows(size) for size in (400, 4000, 40_000, 4_000_000)]
    [20, 200, 1000, 2000]
    """
    least = min(_MIN_VALIDATION_ROWS, pool_size // _SMALL_POOL_VALIDATION_ONE_IN)
    return min(_MAX_VALIDATION_ROWS, max(pool_size // _VALIDATION_ONE_IN, least))
