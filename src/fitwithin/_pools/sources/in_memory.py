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
    for role, name in named.items():
        if name not in names:
            raise no_such_column(name, role, names, "X")
    target = take_column(X, y) if isinstance(y, str) else y
    weights = take_column(X, sample_weight) if isinstance(sample_weight, str) else sample_weight
    return drop_columns(X, list(named.values())), target, weights
