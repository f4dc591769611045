"""What goes into `fit` beside X and y."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ._target import Array


def by_rows(params: Mapping[str, Any], rows: int) -> tuple[dict[str, Array], dict[str, Any]]:
    """Which arguments go with their rows, and which go as they are.

    Raises
    ------
    ValueError, TypeError
        If weights are not finite numbers, one for each row, or something that goes with rows holds objects.

    Examples
    --------
    >>> by_rows({"groups": ["a", "b"], "verbose": True}, 2)
    ({'groups': array(['a', 'b'], dtype='<U1')}, {'verbose': True})
    """
    extras: dict[str, Array] = {}
    options: dict[str, Any] = {}
    for name, value in params.items():
        if name == "sample_weight":
            extras[name] = _weights(value, rows)
        elif isinstance(value, list | tuple | np.ndarray) and len(value) == rows:
            extras[name] = _plain_column(name, value)
        else:
            options[name] = value
    return extras, options


def _plain_column(name: str, value: Any) -> Array:
    column = np.asarray(value)
    if column.dtype.hasobject:
        raise TypeError(f"{name} goes with the rows, so it must hold numbers or text of one type; got objects.")
    return column


def _weights(sample_weight: Any, rows: int) -> Array:
    one_for_all = isinstance(sample_weight, Real)
    weights = np.full(rows, float(sample_weight)) if one_for_all else column_or_1d(sample_weight)
    if len(weights) != rows:
        raise ValueError(f"sample_weight must have one entry for each row: {rows} rows, {len(weights)} weights.")
    weights = weights.astype(np.float64, copy=False)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        raise ValueError(f"sample_weight must be finite, and not all zero; its sum is {weights.sum()}.")
    return weights
