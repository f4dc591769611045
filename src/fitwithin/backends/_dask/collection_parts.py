"""Dask collections as lists of partitions, and what the workers do with a partition before the first fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite

from fitwithin._core.exceptions import UserInputError, join_names
from fitwithin._core.target import Array, read_labels
from fitwithin._pools.input_kind import is_path, is_path_list
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._dask.estimator_inputs import check_columns


@dataclass(frozen=True, eq=False)
class CollectionParts:
    """The partitions of a collection, not computed yet.

    Parameters
    ----------
    X : list of Delayed
        Parts of the features.
    y, weights : list of Delayed or str
        Parts of the target and the weights, or the name of their column in X. Without weights a list of None.
    features : list of str or None
        The columns of X to learn from; None for an array.
    empty : frame or array
        The features without rows.
    """

    X: list[Any]
    y: list[Any]
    weights: list[Any]
    features: list[Any] | None
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

    if is_path(X) or is_path_list(X):
        X = dd.read_parquet(str(X) if is_path(X) else list(map(str, X)))
    features = _choose_features(X, y, sample_weight) if hasattr(X, "columns") else None
    if features is None:
        if getattr(X, "ndim", 0) != 2:
            raise UserInputError(f"X is a Dask array of {getattr(X, 'ndim', 0)} dimensions; expected rows and columns.")
        X = X.rechunk({1: -1})
        y, sample_weight = _chunk_alike(y, X), _chunk_alike(sample_weight, X)
    parts = np.asarray(X.to_delayed(), dtype=object).ravel().tolist()
    named = features is not None
    return CollectionParts(
        parts,
        _list_column(y, len(parts), "y", named=named),
        [None] * len(parts)
        if sample_weight is None
        else _list_column(sample_weight, len(parts), "sample_weight", named=named),
        features,
        np.empty((0, X.shape[1]), dtype=X.dtype) if features is None else X._meta[features],
    )


def _choose_features(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return the columns of a frame that are not the target or the weights."""
    named = check_columns(X, y, sample_weight)
    features = [name for name in X.columns if name not in named]
    unknown = [
        name for name in features if str(X.dtypes[name]) == "category" and not getattr(X[name].cat, "known", True)
    ]
    if unknown:
        raise UserInputError(
            f"The categories of {join_names(unknown, 5)} are not known, so partitions could not be joined.",
            "Call ddf.categorize() first.",
        )
    return features


def _chunk_alike(column: Any, X: Any) -> Any:
    """Return a column in the chunks of X, as far as their sizes are known."""
    if not hasattr(column, "rechunk") or column.ndim != 1 or column.chunks[0] == X.chunks[0]:
        return column
    is_known = not np.isnan([*column.chunks[0], *X.chunks[0]]).any()
    return column.rechunk((X.chunks[0],)) if is_known and column.shape[0] == X.shape[0] else column


def _list_column(column: Any, n_parts: int, name: str, *, named: bool) -> list[Any]:
    """Return a column's parts, or its name for each part."""
    if named and isinstance(column, str):
        return [column] * n_parts
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


def make_partition(X: Any, y: Any, weights: Any, features: Sequence[Any] | None) -> LabeledRows:
    """Return a partition with its target and weights apart from its features; runs on the worker that has it."""
    target, weights = (X[column] if isinstance(column, str) else column for column in (y, weights))
    target = np.asarray(target)
    table = X if features is None else X[list(features)]
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
        read_labels(y)
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
