"""Dask collections as lists of partitions, and what the workers do with a partition before the first fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite

from fitwithin._core.exceptions import UserInputError, closest_match, join_names
from fitwithin._core.target import Array, _check_labels
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.tables import is_frame


@dataclass(frozen=True, eq=False)
class CollectionParts:
    """The partitions of a collection, not computed yet.

    Parameters
    ----------
    X, y, weights : list of Delayed
        Parts of the features, the target and the weights. Without weights the last list holds None.
    features : list of str or None
        The columns of X to learn from; None for an array.
    label, weight : str or None
        The columns of X that hold the target and the weights, if they do.
    empty : frame or array
        The features without rows.
    """

    X: list[Any]
    y: list[Any]
    weights: list[Any]
    features: list[Any] | None
    label: Any
    weight: Any
    empty: Any


@dataclass(frozen=True, eq=False)
class PartSummary:
    """What the program needs to know of a partition.

    Parameters
    ----------
    n_rows : int
        Rows.
    dtype : dtype or None
        Type of the features, if they are an array.
    target_dtype : dtype
        Type of the target.
    classes : array
        The distinct labels; none for regression.
    weight_sum : float
        Sum of the weights; NaN if one is not finite.
    """

    n_rows: int
    dtype: Any
    target_dtype: Any
    classes: Array
    weight_sum: float


def list_parts(X: Any, y: Any, sample_weight: Any) -> CollectionParts:
    """Return the partitions of a Dask DataFrame or Array, or of parquet files that the workers can read.

    Raises
    ------
    UserInputError
        If there is no such column, or if the collections do not go together.
    """
    import dask.dataframe as dd

    if isinstance(X, str | Path | list | tuple):
        X = dd.read_parquet([str(path) for path in X] if isinstance(X, list | tuple) else str(X))
    return (
        _list_frame_parts(X, y, sample_weight)
        if hasattr(X, "npartitions") and hasattr(X, "columns")
        else _list_array_parts(X, y, sample_weight)
    )


def _list_frame_parts(X: Any, y: Any, sample_weight: Any) -> CollectionParts:
    columns = list(X.columns)
    for name in (y, sample_weight):
        if isinstance(name, str) and name not in columns:
            guess = closest_match(name, map(str, columns))
            raise UserInputError(
                f"There is no column {name!r}; the columns are {join_names(columns, 10)}.",
                "" if guess is None else f"Did you mean {guess!r}?",
            )
    label, weight = (name if isinstance(name, str) else None for name in (y, sample_weight))
    features = [name for name in columns if name not in (label, weight)]
    unknown = [
        name for name in features if str(X.dtypes[name]) == "category" and not getattr(X[name].cat, "known", True)
    ]
    if unknown:
        raise UserInputError(
            f"The categories of {join_names(unknown, 5)} are not known, so partitions could not be joined.",
            "Call ddf.categorize() first.",
        )
    parts = X.to_delayed()
    return CollectionParts(
        list(parts),
        [None] * len(parts) if label is not None else _list_column(y, len(parts), "y"),
        [None] * len(parts)
        if weight is not None or sample_weight is None
        else _list_column(sample_weight, len(parts), "sample_weight"),
        features,
        label,
        weight,
        X._meta[features],
    )


def _list_array_parts(X: Any, y: Any, sample_weight: Any) -> CollectionParts:
    if getattr(X, "ndim", 0) != 2:
        raise UserInputError(f"X is a Dask array of {getattr(X, 'ndim', 0)} dimensions; expected rows and columns.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    parts = X.to_delayed().ravel().tolist()
    weights = (
        [None] * len(parts)
        if sample_weight is None
        else _list_column(_chunk_alike(sample_weight, X), len(parts), "sample_weight")
    )
    empty = np.empty((0, X.shape[1]), dtype=X.dtype)
    return CollectionParts(parts, _list_column(_chunk_alike(y, X), len(parts), "y"), weights, None, None, None, empty)


def _chunk_alike(column: Any, X: Any) -> Any:
    """Return a column in the chunks of X, as far as their sizes are known."""
    if not hasattr(column, "rechunk") or column.ndim != 1 or column.chunks[0] == X.chunks[0]:
        return column
    is_known = not np.isnan([*column.chunks[0], *X.chunks[0]]).any()
    return column.rechunk((X.chunks[0],)) if is_known and column.shape[0] == X.shape[0] else column


def _list_column(column: Any, n_parts: int, name: str) -> list[Any]:
    if not hasattr(column, "to_delayed"):
        raise UserInputError(
            f"X is a Dask collection, and {name} is of type {type(column).__name__}.",
            f"Pass {name} as a Dask collection too, or as the name of a column of X.",
        )
    parts = np.asarray(column.to_delayed(), dtype=object).ravel().tolist()
    if len(parts) != n_parts:
        raise UserInputError(
            f"X has {n_parts} partitions and {name} has {len(parts)}; both must have the same rows in the same order.",
            "Repartition one of them, or make them columns of one DataFrame.",
        )
    return parts


def make_partition(
    X: Any, y: Any, weights: Any, features: Sequence[Any] | None, label: Any, weight: Any
) -> LabeledRows:
    """Return a partition with its target and weights apart from its features; runs on the worker that has it."""
    target = np.asarray(X[label] if label is not None else y)
    if weight is not None:
        weights = X[weight]
    table = X[list(features)] if features is not None and is_frame(X) else X
    if len(target) != table.shape[0]:
        raise UserInputError(
            f"A partition of X has {table.shape[0]} rows, and the one of y has {len(target)}.",
            "Both must have the same rows in the same order.",
        )
    row_params = {} if weights is None else {"sample_weight": np.asarray(weights, dtype=np.float64)}
    return LabeledRows(table, target.ravel(), row_params)


def summarize_partition(partition: LabeledRows, regression: bool) -> PartSummary:
    """Count the rows and the classes of a partition, and check its target."""
    X, y = partition.X, partition.y
    weights = partition.weights
    if regression:
        if y.dtype.kind not in "fiub":
            y = y.astype(np.float64)
        assert_all_finite(y, input_name="y")
    elif len(y):
        _check_labels(y)
    return PartSummary(
        len(y),
        X.dtype if isinstance(X, np.ndarray) and not X.dtype.hasobject else None,
        y.dtype,
        np.zeros(0) if regression or not len(y) else np.unique(y),
        0.0 if weights is None else float(weights.sum()),
    )


def encode_partition(partition: LabeledRows, classes: Array | None, dtype: Any) -> LabeledRows:
    """Return a partition with an encoded target: numbers of classes, or values of one type."""
    y = partition.y if classes is None else np.searchsorted(classes, partition.y.astype(classes.dtype, copy=False))
    return LabeledRows(partition.X, np.asarray(y).astype(dtype), partition.row_params)


def read_codes(partition: LabeledRows) -> Array:
    """Return the encoded target of a partition, for the program."""
    return partition.y
