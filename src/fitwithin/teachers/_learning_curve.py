"""Errors by the rows of a fit: they fall with a power of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

ERROR_EXPONENT = 0.25
"""Errors fall with the rows to the power of minus this, before two sizes are known."""

# The same at most, whatever two sizes show.
_MAX_EXPONENT = 0.75


def find_error_exponent(less: int, error: float, more: int, smaller_error: float) -> float:
    """Return the exponent by which errors fell from one size to a larger one.

    Examples
    --------
    >>> find_error_exponent(10_000, 0.2, 40_000, 0.1)
    0.5
    >>> find_error_exponent(10_000, 0.2, 40_000, 0.0), find_error_exponent(10_000, 0.2, 40_000, 0.3)
    (0.75, 0.0)
    """
    if smaller_error <= 0 or error <= 0:
        return _MAX_EXPONENT
    return min(_MAX_EXPONENT, max(0.0, math.log(error / smaller_error) / math.log(more / less)))


def find_error_share(less: int, more: int, exponent: float = ERROR_EXPONENT) -> float:
    """Return the share of the errors that is left on more rows.

    Examples
    --------
    >>> find_error_share(10_000, 160_000)
    0.5
    """
    return math.pow(max(less, more) / max(1, less), -exponent)


def find_promising_size(
    sizes: Iterable[int], trained: int, find_chance: Callable[[int], float], least_chance: float
) -> int:
    """Return the size of a fit with the largest expected gain over `trained` rows; 0 if none is likely to end."""
    chances = {n_rows: find_chance(n_rows) for n_rows in sizes}

    def gain(n_rows: int) -> float:
        return chances[n_rows] * (1 - find_error_share(trained, n_rows))

    return max((n_rows for n_rows, chance in chances.items() if chance >= least_chance), key=gain, default=0)
