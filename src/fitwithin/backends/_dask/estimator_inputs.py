"""Dask collections as arguments of an estimator's methods. Importing this does not import Dask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.exceptions import require_columns

_KEPT_ATTRIBUTES = ("best_estimator_", "classes_", "n_features_in_", "feature_names_in_")
"""What a fitted estimator needs to predict."""


def check_columns(X: Any, *columns: Any) -> list[str]:
    """Return those of the columns that are given by name; raise UserInputError if a collection has no such column."""
    names = [name for name in columns if isinstance(name, str)]
    require_columns(names, getattr(X, "columns", ()), "X")
    return names


def list_partitions(collection: Any) -> list[Any]:
    """Return the partitions of a collection as tasks, as many as it says that it has."""
    is_frame = hasattr(collection, "simplify")
    # Dask's own optimization reads several files in one task where few of their columns are needed.
    parts = collection.simplify().to_delayed(optimize_graph=False) if is_frame else collection.to_delayed()
    tasks: list[Any] = np.asarray(parts, dtype=object).ravel().tolist()
    return tasks


@dataclass(frozen=True, eq=False)
class ScoredCollection:
    """Features on a cluster whose predictions are brought here at once, because a score needs them all."""

    features: Any

    def __dask_graph__(self) -> Any:
        """Return the graph of the features, which makes this a Dask collection."""
        return self.features.__dask_graph__()


def read_collection_scores(X: Any, y: Any, sample_weight: Any, names: Any) -> tuple[ScoredCollection, Any, Any]:
    """Return the arguments of `score`: target and weights in memory, and features that stay on the cluster.

    Parameters
    ----------
    X : Dask collection
        The rows.
    y, sample_weight : str, array-like or Dask collection
        Names of columns of X, or the values.
    names : sequence of str or None
        The features of the model.

    Raises
    ------
    UserInputError
        If X has no such column.
    """
    import dask

    named = check_columns(X, y, sample_weight)
    target, weights = (X[value] if isinstance(value, str) else value for value in (y, sample_weight))
    features = X.drop(columns=named) if named and names is None else X
    target, weights = dask.compute(target, weights)
    return ScoredCollection(features), np.asarray(target), None if weights is None else np.asarray(weights)


def predict_collection(estimator: Any, method: str, X: Any) -> Any:
    """Return the answers of a fitted estimator as a Dask array, which the workers compute when it is asked for."""
    if isinstance(X, ScoredCollection):
        return predict_collection(estimator, method, X.features).compute()
    import dask.array as da
    from dask import delayed

    # Parameters such as a client stay here.
    fitted = type(estimator)(estimator.best_estimator_)
    vars(fitted).update({name: value for name, value in vars(estimator).items() if name in _KEPT_ATTRIBUTES})
    shared = delayed(fitted, pure=False, traverse=False)
    if hasattr(X, "columns"):
        sizes, two_rows = [np.nan] * X.npartitions, X._meta_nonempty
    else:
        X = X.rechunk({1: -1})
        sizes, two_rows = X.chunks[0], np.zeros((2, X.shape[1]), dtype=X.dtype)
    parts = list_partitions(X)
    call = delayed(_predict_part, pure=False)
    empty = _predict_part(fitted, method, two_rows)[:0]
    blocks = [
        da.from_delayed(call(shared, method, part, empty), (size, *empty.shape[1:]), dtype=empty.dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _predict_part(estimator: Any, method: str, X: Any, empty: Any = None) -> Any:
    """Return the answers to a partition; `empty` to one without rows."""
    if not X.shape[0]:
        return empty
    names = getattr(estimator, "feature_names_in_", None)
    table = X[list(names)] if names is not None and hasattr(X, "columns") else X
    return np.asarray(getattr(estimator, method)(table))
