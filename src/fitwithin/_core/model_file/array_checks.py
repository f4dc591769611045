"""Questions about arrays from a file, before compiled code follows them without bounds checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitwithin._core.target import Array


def is_plain_array(array: Any, n_dimensions: int, kinds: str = "") -> bool:
    """Return whether this is a NumPy array itself, of this number of dimensions and of one of these kinds.

    A masked array is none: comparisons skip what it hides, and compiled code does not.

    Parameters
    ----------
    array : object
        What a file holds in place of an array.
    n_dimensions : int
        Expected number of dimensions.
    kinds : str, default=""
        Letters of `numpy.dtype.kind`; any if empty.

    Examples
    --------
    >>> is_plain_array(np.zeros(3), 1, "f"), is_plain_array(np.ma.zeros(3), 1, "f"), is_plain_array([0.0], 1, "f")
    (True, False, False)
    """
    return type(array) is np.ndarray and array.ndim == n_dimensions and (not kinds or array.dtype.kind in kinds)


def are_within(indices: Array, end: int) -> bool:
    """Return whether all indices are at least 0 and less than the end.

    Examples
    --------
    >>> are_within(np.array([0, 2]), 3), are_within(np.array([-1, 2]), 3), are_within(np.array([0, 3]), 3)
    (True, False, False)
    """
    return type(indices) is np.ndarray and bool((indices >= 0).all() and (indices < end).all())


def is_count(value: Any) -> bool:
    """Return whether this is a whole number of at least 0, of Python or NumPy, and no other object that equals one.

    Examples
    --------
    >>> is_count(4), is_count(np.int64(4)), is_count(4.0), is_count(np.ma.array(4, mask=True))
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)
