"""Rows of a Dask collection as a pool: counted and encoded by the workers; only label codes come to the program."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from dask import delayed
from distributed import wait

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target, Values
from fitwithin._pools.remote_table import RemoteColumn, RemoteTable
from fitwithin.backends._dask.cluster import PRIORITY, Cluster
from fitwithin.backends._dask.collection_parts import (
    CollectionParts,
    PartSummary,
    encode_partition,
    list_parts,
    make_partition,
    summarize_partition,
)
from fitwithin.backends._dask.partitions import Partitions
from fitwithin.backends._dask.received_rows import RowSchema, join_rows
from fitwithin.backends._process.shared_memory import SharedColumn


def read_collection(
    cluster: Cluster, X: Any, y: Any, sample_weight: Any, *, regression: bool
) -> tuple[RemoteTable, Target, RemoteColumn | None]:
    """Count and encode the rows of a collection where they are.

    Returns
    -------
    tuple
        What stands for X, y and sample_weight in this program.

    Raises
    ------
    UserInputError, ValueError
        If a column is missing, or if the target cannot be learned.
    """
    parts = list_parts(X, y, sample_weight)
    columns = zip(parts.X, parts.y, parts.weights, strict=True)
    make = delayed(make_partition, pure=False)
    raw = cluster.client.compute([make(*part, parts.features) for part in columns], priority=PRIORITY)
    summaries: list[PartSummary] = cluster.client.gather(cluster.map(summarize_partition, raw, regression=regression))
    sizes = np.array([summary.n_rows for summary in summaries])
    classes = None if regression else _join_classes(summaries)
    dtype = _find_value_type(summaries) if classes is None else np.min_scalar_type(len(classes) - 1)
    futures = cluster.map(encode_partition, raw, classes=classes, dtype=dtype)
    # Dask may forget `raw` if it is dropped before the scheduler knows these tasks.
    with cluster.client.as_current():
        wait(futures)
    is_weighted = sample_weight is not None
    if is_weighted:
        _check_weights(summaries)
    if classes is None:
        # The values stay where they are: this array has one number for all rows, and takes no memory.
        target: Target = Values(np.broadcast_to(np.zeros((), dtype), (int(sizes.sum()),)))
    else:
        codes = np.concatenate(cluster.client.gather(cluster.map(attrgetter("y"), futures)))
        target = Labels(classes, codes, np.bincount(codes, minlength=len(classes)))
    schema = _make_schema(parts, summaries, target, dtype, is_weighted=is_weighted)
    partitions = Partitions(futures, sizes, schema)
    table = RemoteTable(len(partitions), parts.empty, partitions, lambda rows: _read_rows(cluster, partitions, rows))
    return table, target, RemoteColumn() if is_weighted else None


def _join_classes(summaries: list[PartSummary]) -> Array:
    found = [summary.classes for summary in summaries if len(summary.classes)]
    if not found:
        raise ValueError("y holds no labels; a classifier needs training rows of at least 2 classes.")
    if len({classes.dtype.kind in "OUS" for classes in found}) > 1:
        raise ValueError("The labels in y are text in some partitions and numbers in others. Convert them to one type.")
    classes = np.unique(np.concatenate(found))
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes[0]!r}; a classifier needs at least 2 classes.")
    return classes


def _find_value_type(summaries: list[PartSummary]) -> Any:
    if not sum(summary.n_rows for summary in summaries):
        raise ValueError("y holds no values; a regressor needs at least one training row.")
    return np.result_type(*(summary.target_dtype for summary in summaries if summary.n_rows))


def _check_weights(summaries: list[PartSummary]) -> None:
    total = sum(summary.weight_sum for summary in summaries)
    if not np.isfinite(total) or total <= 0:
        raise ValueError(f"sample_weight sums to {total}; weights must be finite numbers with a sum greater than zero.")


def _make_schema(
    parts: CollectionParts, summaries: list[PartSummary], target: Target, dtype: Any, *, is_weighted: bool
) -> RowSchema:
    types = [summary.dtype for summary in summaries if summary.n_rows]
    features = None
    if parts.features is None:
        if any(found is None for found in types):
            raise UserInputError("The blocks of X are no arrays of numbers.", "Pass a Dask DataFrame.")
        features = SharedColumn(np.result_type(*types), tuple(parts.empty.shape[1:]))
    weights = {"sample_weight": SharedColumn(np.dtype(np.float64), ())} if is_weighted else {}
    n_rows = sum(summary.n_rows for summary in summaries)
    return RowSchema(target.without_rows(), SharedColumn(np.dtype(dtype), ()), weights, features, n_rows)


def _read_rows(cluster: Cluster, partitions: Partitions, rows: Rows) -> Any:
    """Bring a few rows to this program, to compare them with those of an earlier fit."""
    ascending, order = np.unique(rows, return_inverse=True)
    return join_rows(cluster.client.gather(partitions.take(cluster, ascending)), order).X
