"""Frames in memory whose target and weights are columns."""

from __future__ import annotations

from typing import Any

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.read_errors import no_such_column
from fitwithin._pools.tables import drop_columns, is_frame, list_column_types, take_column


def split_frame(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return features, target and weights, where the last two may be names of columns of a frame.

    Parameters
    ----------
    X : frame
        All columns.
    y, sample_weight : str or array-like
        A column's name, or the values.

    Raises
    ------
    UserInputError
        If there is no such column, or X has no names.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y, _ = split_frame(pd.DataFrame({"age": [20, 40], "label": ["no", "yes"]}), "label", None)
    >>> X.columns.tolist(), y.tolist()
    (['age'], ['no', 'yes'])
    """
    named = {role: name for role, name in (("target", y), ("weights", sample_weight)) if isinstance(name, str)}
    if not named:
        return X, y, sample_weight
    if not is_frame(X):
        role, name = next(iter(named.items()))
        raise UserInputError(
            f"The {role} is {name!r}, the name of a column, but X is a {type(X).__name__}, which has no names.",
            "Pass the values, or a frame or a data set as X.",
        )
    names = [name for name, _ in list_column_types(X)]
    for name in named.values():
        if name not in names:
            raise no_such_column(name, names, "X")
    target = take_column(X, y) if isinstance(y, str) else y
    weights = take_column(X, sample_weight) if isinstance(sample_weight, str) else sample_weight
    return drop_columns(X, list(named.values())), target, weights


def split_validation_frame(X_val: Any, y_val: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return features and target of validation rows, where the target may be the name of a column.

    Parameters
    ----------
    X_val : frame
        All columns.
    y_val : str or array-like
        A column's name, or the values.
    sample_weight : str or array-like
        If it names a column of the training rows, that column is no feature here either.

    Raises
    ------
    UserInputError
        If there is no such column, or X_val has no names.
    """
    if isinstance(y_val, str) or isinstance(sample_weight, str):
        names = {name for name, _ in list_column_types(X_val)}
        weight = sample_weight if isinstance(sample_weight, str) and sample_weight in names else None
        X_val, y_val, _ = split_frame(X_val, y_val, weight)
    return X_val, y_val
