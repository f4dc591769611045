"""The kinds of X that the methods of an estimator take."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal

import numpy as np
from scipy import sparse

from fitwithin._pools.sources.blocks import Blocks

InputKind = Literal["table", "data set", "collection"]
"""A table in memory; a data set on disk; a Dask collection, whose rows are on a cluster."""


def find_input_kind(X: Any) -> InputKind:
    """Return the kind of X; whatever is no data set and no collection counts as a table.

    Examples
    --------
    >>> find_input_kind("rows.parquet"), find_input_kind(["a.parquet", "b.parquet"]), find_input_kind([[1, 2]])
    ('data set', 'data set', 'table')
    """
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return "table"
    if is_path(X) or is_path_list(X) or is_lazy_frame(X) or is_dataset(X) or isinstance(X, Blocks):
        return "data set"
    return "collection" if is_dask_collection(X) else "table"


def is_path(X: Any) -> bool:
    """Return whether X is a path."""
    return isinstance(X, str | os.PathLike)


def is_path_list(X: Any) -> bool:
    """Return whether X is a list of paths."""
    return isinstance(X, list | tuple) and bool(X) and all(map(is_path, X))


def is_lazy_frame(X: Any) -> bool:
    """Return whether X is a lazy frame of polars, without importing it."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(X, polars.LazyFrame)


def is_dataset(X: Any) -> bool:
    """Return whether X is a data set of pyarrow, without importing it."""
    dataset = sys.modules.get("pyarrow.dataset")
    return dataset is not None and isinstance(X, dataset.Dataset)


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask DataFrame, Series or Array, without importing Dask."""
    dask = sys.modules.get("dask.base")
    return dask is not None and bool(dask.is_dask_collection(X))
