"""Learners that are themselves distributed: LightGBM's and XGBoost's Dask estimators, which train on collections.

They cannot sit in a process of ours. Their tasks are cancelled at the deadline; one that already runs in a worker's
thread goes on until its library returns.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Future
from sklearn.base import clone

from fitwithin._core.exceptions import LearnerRaised
from fitwithin._core.target import Array, Target
from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._dask.cluster import Cluster
from fitwithin.backends._dask.partitions import Partitions
from fitwithin.backends._dask.worker_tasks import ModelBytes, take_partition_rows
from fitwithin.backends._process.protocol import PortableWarning
from fitwithin.backends._process.shared_memory import SharedFile, dump_pickle

_MODULES = ("lightgbm.dask", "xgboost.dask")
"""Modules of the learners that train on Dask collections."""

_TRAINING_TASKS = ("_train_part", "dispatched_train")
"""How the names of their longest tasks begin."""


def is_distributed_learner(learner: Any) -> bool:
    """Return whether a learner trains on Dask collections.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> is_distributed_learner(DecisionTreeClassifier())
    False
    """
    return type(learner).__module__.startswith(_MODULES)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model that the cluster trained, as one that needs no cluster, and the seconds that it took."""

    model: ModelBytes
    seconds: float


def train_on_cluster(
    cluster: Cluster, partitions: Partitions, learner: Any, rows: Array, fit_params: Mapping[str, Any]
) -> TrainedModel:
    """Train a distributed learner on rows where they are.

    Parameters
    ----------
    cluster, partitions
        The cluster, and the rows on it.
    learner : estimator
        A learner for Dask collections, not fitted.
    rows : array of int
        Row numbers; each worker trains on those that it holds, in ascending order.
    fit_params : dict
        Other arguments of its `fit`.

    Raises
    ------
    LearnerRaised
        If the learner raises.
    """
    numbers, sizes, taken = [], [], []
    for number, positions in partitions.split(np.sort(rows)):
        numbers.append(number)
        sizes.append(len(positions))
        taken.append(cluster.submit(take_partition_rows, partitions.futures[number], cluster.pass_rows(positions)))
    X, y, row_params = _make_collections(cluster, partitions, taken, sizes)
    try:
        # Both libraries use the current client beside the one that they were given.
        with warnings.catch_warnings(record=True) as caught, cluster.client.as_current():
            model = clone(learner)
            model.client = cluster.client
            start = time.monotonic()
            model.fit(X, y, **row_params, **fit_params)
            seconds = time.monotonic() - start
            body = _pickle_model(_to_local(model))
    except Exception as error:
        raise LearnerRaised(error, traceback.format_exc()) from error
    return TrainedModel(ModelBytes(body, [PortableWarning.from_message(warning) for warning in caught]), seconds)


def cancel_training(cluster: Cluster) -> None:
    """Have Dask drop the training tasks of distributed learners that this client started."""
    client = cluster.client
    keys = [key for key in list(client.futures) if str(key).startswith(_TRAINING_TASKS)]
    with contextlib.suppress(Exception):
        client.cancel([Future(key, client) for key in keys])


def _make_collections(
    cluster: Cluster, partitions: Partitions, taken: list[Any], sizes: list[int]
) -> tuple[Any, Any, dict[str, Any]]:
    """Return rows on the cluster as Dask collections: features, labels or values, and weights."""
    import dask.array as da
    from dask import delayed

    schema = partitions.schema

    def join(futures: list[Any], row_shape: tuple[int, ...], dtype: Any) -> Any:
        return da.concatenate(
            [
                da.from_delayed(delayed(future), (size, *row_shape), dtype=dtype)
                for future, size in zip(futures, sizes, strict=True)
            ]
        )

    X = cluster.map(_take_features, taken)
    labels_type = schema.target.decode(np.zeros(1, schema.target_column.dtype)).dtype
    y = join(cluster.map(_take_target, taken, schema.target), (), labels_type)
    row_params = {
        name: join(cluster.map(_take_row_param, taken, name), column.row_shape, column.dtype)
        for name, column in schema.row_params.items()
    }
    if schema.features is not None:
        return join(X, schema.features.row_shape, schema.features.dtype), y, row_params
    import dask.dataframe as dd

    return dd.from_delayed(X, meta=partitions.empty, verify_meta=False), y, row_params


def _take_features(rows: LabeledRows) -> Any:
    return rows.X


def _take_target(rows: LabeledRows, target: Target) -> Array:
    return target.decode(rows.y)


def _take_row_param(rows: LabeledRows, name: str) -> Array:
    return rows.row_params[name]


def _to_local(model: Any) -> Any:
    """Return a fitted model that predicts arrays and frames, and needs no cluster."""
    if hasattr(model, "to_local"):
        return model.to_local()
    import xgboost

    kind = xgboost.XGBClassifier if hasattr(model, "predict_proba") else xgboost.XGBRegressor
    local = kind(**{name: value for name, value in model.get_params().items() if name != "client"})
    local.load_model(bytearray(model.get_booster().save_raw("ubj")))
    return local


def _pickle_model(model: Any) -> bytes:
    file = SharedFile.create()
    try:
        dump_pickle(model, file.fd)
        return os.pread(file.fd, os.fstat(file.fd).st_size, 0)
    finally:
        file.close()
