"""Arguments of `fit` that belong to the rows, and those that do not."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from fitwithin._core.target import Array
from fitwithin._pools.remote_table import RemoteColumn


def split_fit_params(params: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Array], dict[str, Any]]:
    """Split the arguments of `fit` into those with one entry for each row and all others.

    Returns
    -------
    row_params : dict of array
        Arguments with one entry for each row.
    fit_params : dict
        All other arguments, unchanged.

    Raises
    ------
    ValueError
        If `sample_weight` does not hold one finite number for each row, or sums to zero or less.
    TypeError
        If another argument with one entry for each row holds Python objects.

    Examples
    --------
    >>> split_fit_params({"region": ["a", "b"], "verbose": True}, 2)
    ({'region': array(['a', 'b'], dtype='<U1')}, {'verbose': True})
    """
    row_params: dict[str, Array] = {}
    fit_params: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, RemoteColumn):
            continue
        if name == "sample_weight":
            row_params[name] = _validate_weights(value, n_rows)
        elif isinstance(value, list | tuple | np.ndarray) and len(value) == n_rows:
            row_params[name] = _validate_row_param(name, value)
        else:
            fit_params[name] = value
    return row_params, fit_params


def refuse_row_params(params: Mapping[str, Any], n_rows: int) -> None:
    """Raise a TypeError if an argument has one entry for each row of a data set on disk, whose rows are shuffled.

    Examples
    --------
    >>> refuse_row_params({"verbose": True}, 2)
    """
    for name, value in params.items():
        if isinstance(value, list | tuple | np.ndarray) and len(value) == n_rows:
            raise TypeError(
                f"{name} has one entry for each row; with a data set on disk only sample_weight can, as the name of "
                "a column. Read the data set into memory, or leave this argument out."
            )


def _validate_row_param(name: str, value: Any) -> Array:
    column = np.asarray(value)
    if column.dtype.hasobject:
        raise TypeError(
            f"{name} holds Python objects; an argument with one entry for each row must hold numbers, or text only. "
            f"Convert it to an array of one type."
        )
    return column


def _validate_weights(sample_weight: Any, n_rows: int) -> Array:
    is_number = isinstance(sample_weight, Real)
    weights = np.full(n_rows, float(sample_weight)) if is_number else column_or_1d(sample_weight)
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight has {len(weights)} entries for {n_rows} rows; it must have one entry for each row."
        )
    weights = weights.astype(np.float64, copy=False)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        raise ValueError(
            f"sample_weight sums to {weights.sum()}; weights must be finite numbers with a sum greater than zero."
        )
    return weights
