"""Data sets on a cluster, Dask collections by partition and files by block, and what the workers do to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from dask import delayed

from fitwithin._core.exceptions import UserInputError, join_names, require_columns, shorten_reason
from fitwithin._pools.block_pool import Place
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.sources.opening import open_blocks, open_source
from fitwithin._pools.tables import find_input_kind, is_lazy_frame, list_column_types, take_rows
from fitwithin._pools.target_pass import BlockTarget, read_block_target, summarize_target
from fitwithin.backends._dask.cluster import PRIORITY, Cluster
from fitwithin.backends._dask.estimator_inputs import check_columns, list_partitions

_TASKS_PER_WORKER = 4
"""Tasks in which each worker reads the target of files: Dask takes a millisecond for each."""


class FileParts:
    """Files that the workers read.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    given : dict
        Arguments of `open_source`.
    columns : list of str, optional
        The columns to read; by default all.
    dtypes : dict, optional
        Types that a Dask frame has where a data set on disk has others.

    Attributes
    ----------
    empty : frame
        The features without rows.
    """

    groups: Any = None

    def __init__(
        self,
        cluster: Cluster,
        given: Mapping[str, Any],
        columns: list[str] | None = None,
        dtypes: Mapping[str, Any] | None = None,
    ) -> None:
        self._cluster = cluster
        self._opened = cluster.submit(_open_files, dict(given), columns)
        self._source: LabeledBlocks = cluster.client.gather(self._opened)
        empty = self._source.to_frame(self._source.schema.empty_table())
        wanted = {} if dtypes is None else dtypes
        types = {name: dtype for name, dtype in empty.dtypes.items() if str(dtype) != "category"}
        self._dtypes = {name: wanted[name] for name in types if wanted.get(name, types[name]) != types[name]}
        self.empty = empty.astype(self._dtypes)
        self.rests, self.is_shuffled = self._source.rests, self._source.is_shuffled
        self.n_validation_blocks = self._source.n_validation_blocks
        self.weight, self.group = self._source.weight, self._source.group

    def read_targets(self, *, regression: bool) -> list[BlockTarget]:
        """Return the target of each block."""
        n_tasks = _TASKS_PER_WORKER * len(self._cluster.wait_for_workers())
        numbers = [part.tolist() for part in np.array_split(np.arange(self._source.n_blocks), n_tasks) if len(part)]
        tasks = [self._cluster.submit(read_file_targets, self._opened, part, regression) for part in numbers]
        return [target for part in self._cluster.client.gather(tasks) for target in part]

    def submit(self, place: Place) -> Any:
        """Have a worker read rows; return the future of `LabeledRows`."""
        return self._cluster.submit(read_file_rows, self._opened, place, self._dtypes)

    def describe(self) -> Mapping[str, str]:
        """Return what tells this data set from another."""
        return self._source.describe()


class CollectionParts:
    """The partitions of a Dask DataFrame or Array.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    X, y, sample_weight : Dask collection or str
        Features, target and weights; the last two may be names of columns.
    groups : str, array-like or None
        The group of each row, or the name of its column.
    X_val, y_val : frame or array, and str or array-like, optional
        A validation set, which becomes one more partition.

    Raises
    ------
    UserInputError
        If there is no such column, or if the collections do not go together.
    """

    rests: frozenset[int] = frozenset()
    is_shuffled = False

    def __init__(
        self, cluster: Cluster, X: Any, y: Any, sample_weight: Any, groups: Any, X_val: Any = None, y_val: Any = None
    ) -> None:
        self._cluster = cluster
        self.group: str | None = groups if isinstance(groups, str) else None
        self.groups: Any = None if isinstance(groups, str) else groups
        self.weight = (
            sample_weight if isinstance(sample_weight, str) else None if sample_weight is None else "sample_weight"
        )
        self._features = _choose_features(X, y, sample_weight, groups) if hasattr(X, "columns") else None
        if self._features is None:
            if getattr(X, "ndim", 0) != 2:
                raise UserInputError(
                    f"X is a Dask array of {getattr(X, 'ndim', 0)} dimensions; expected rows and columns."
                )
            if X.dtype.hasobject:
                raise UserInputError("The blocks of X are no arrays of numbers.", "Pass a Dask DataFrame.")
            X = X.rechunk({1: -1})
            y, sample_weight = _chunk_alike(y, X), _chunk_alike(sample_weight, X)
        is_frame = self._features is not None
        self.empty: Any = X._meta[self._features] if is_frame else np.empty((0, X.shape[1]), X.dtype)
        self._X = list_partitions(X)
        n_parts = len(self._X)
        self._y = _list_column(y, n_parts, "y", is_frame=is_frame)
        self._weights = _list_column(sample_weight, n_parts, "sample_weight", is_frame=is_frame)
        named = [name for name in (y, sample_weight, groups) if isinstance(name, str)]
        # Dask reads these columns only, where the frame comes from files.
        self._named = list_partitions(X[named]) if named else [None] * n_parts
        self.n_validation_blocks = 0
        if X_val is not None:
            self._add_validation_set(X_val, y_val)

    def _add_validation_set(self, X_val: Any, y_val: Any) -> None:
        """Add a partition that the program sends."""
        if find_input_kind(X_val) != "table" or hasattr(X_val, "columns") != (self._features is not None):
            raise UserInputError(
                f"X_val is of type {type(X_val).__name__}, and X a Dask collection.",
                "Pass a pandas frame with a Dask DataFrame, and an array with a Dask Array.",
            )
        y, weights = self._y[0], self._weights[0]
        if self._features is not None:
            require_columns(map(str, self._features), X_val.columns, "X_val")
            target = X_val[y_val] if isinstance(y_val, str) else y_val
            X_val = X_val[self._features].astype(dict(self.empty.dtypes))
        else:
            X_val, target = np.asarray(X_val).astype(self.empty.dtype), y_val
        for parts, given, values in ((self._y, y, target), (self._weights, weights, np.ones(len(X_val)))):
            if isinstance(given, str):
                X_val = X_val.assign(**{given: np.asarray(values)})
            parts.append(given if given is None or isinstance(given, str) else np.asarray(values))
        self._X.append(delayed(X_val, traverse=False))
        self._named.append(self._X[-1] if self._features is not None else None)
        self.n_validation_blocks = 1

    def read_targets(self, *, regression: bool) -> list[BlockTarget]:
        """Return the target of each partition."""
        read = delayed(read_partition_target, pure=False)
        parts = enumerate(zip(self._named, self._y, self._weights, strict=True))
        tasks = [read(*part, self.group, number, regression=regression) for number, part in parts]
        futures = self._cluster.client.compute(tasks, priority=PRIORITY)
        try:
            targets = self._cluster.client.gather(futures)
        except Exception as error:  # a partition may come from any code of the user's
            failed = [number for number, future in enumerate(futures) if future.status == "error"]
            if not failed or isinstance(error, UserInputError):
                raise
            raise UserInputError(f"Partition {failed[0]} of X could not be read: {shorten_reason(error)}.") from error
        kinds = {target.classes.dtype.kind in "OUS" for target in targets if len(target.classes)}
        if len(kinds) > 1:
            raise ValueError(
                "The labels in y are text in some partitions and numbers in others. Convert them to one type."
            )
        return list(targets)

    def submit(self, place: Place) -> Any:
        """Have a worker compute a partition; return the future of `LabeledRows`."""
        part = (self._X[place.block], self._y[place.block], self._weights[place.block])
        task = delayed(read_partition, pure=False)(*part, place, self._features, self.empty)
        return self._cluster.client.compute(task, priority=PRIORITY)

    def describe(self) -> Mapping[str, str]:
        """Return the types of the columns."""
        types = list_column_types(self.empty) if self._features is not None else [("X", str(self.empty.dtype))]
        return {"columns": ", ".join(f"{name}: {dtype}" for name, dtype in types)}


Parts = FileParts | CollectionParts
"""A data set whose parts are read by workers."""


def open_parts(cluster: Cluster, given: Mapping[str, Any]) -> Parts:
    """Return the parts of a data set.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    given : dict
        X, y, sample_weight, groups, X_val and y_val.
    """
    X = given["X"]
    if is_lazy_frame(X):
        raise TypeError(
            "X is a polars LazyFrame, which no worker can read in parts. Write its result to parquet files."
        )
    if find_input_kind(X) == "data set":
        return FileParts(cluster, given)
    path = _find_parquet_path(X)
    if path is not None and isinstance(given["y"], str) and given["X_val"] is None:
        try:
            return FileParts(cluster, {**given, "X": path}, list(X.columns), dict(X.dtypes))
        except UserInputError:
            # Dask knows formats, options and types of files that we do not.
            pass
    return CollectionParts(cluster, **given)


def _find_parquet_path(X: Any) -> Any:
    """Return the files that a Dask frame was read from if only columns were chosen since then; None otherwise."""
    expression: Any = getattr(X, "expr", None)
    while type(expression).__name__ == "Projection":
        expression = expression.frame
    if not type(expression).__name__.startswith("ReadParquet"):
        return None
    options = [expression.operand(name) for name in ("filters", "storage_options", "_partitions")]
    # A category that Dask knows was named by the user.
    is_category = any(str(dtype) == "category" and X[name].cat.known for name, dtype in X.dtypes.items())
    return None if is_category or any(option for option in options) else expression.operand("path")


def _open_files(given: dict[str, Any], columns: list[str] | None) -> LabeledBlocks:
    if columns is not None:
        given["X"] = open_blocks(given["X"], columns, split_large=True)
    return open_source(**given)


def _choose_features(X: Any, *given: Any) -> list[Any]:
    """Return the columns of a frame that are not the target, the weights or the groups."""
    named = check_columns(X, *given)
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


def _list_column(column: Any, n_parts: int, name: str, *, is_frame: bool) -> list[Any]:
    """Return the parts of a column, or its name for each partition."""
    if column is None or (is_frame and isinstance(column, str)):
        return [column] * n_parts
    if not hasattr(column, "to_delayed"):
        raise UserInputError(
            f"X is a Dask collection, and {name} is of type {type(column).__name__}.",
            f"Pass {name} as a Dask collection too, or as the name of a column of X.",
        )
    parts = list_partitions(column)
    if len(parts) != n_parts:
        raise UserInputError(
            f"X has {n_parts} partitions and {name} has {len(parts)}; both must have the same rows in the same order.",
            "Repartition one of them, or make them columns of one DataFrame.",
        )
    return parts


TARGET = "y"
WEIGHT = "sample_weight"


def number_rows(X: Any, place: Place, table: pa.Table, target: str, weight: str | None, name: str) -> LabeledRows:
    """Return the rows of a block in the order of their numbers, with an encoded target."""
    order, y, weights = place.arrange(table, target, weight, X.shape[0], name)
    return LabeledRows(take_rows(X, order), y, {} if weights is None else {WEIGHT: weights})


def read_file_targets(source: LabeledBlocks, numbers: Sequence[int], regression: bool) -> list[BlockTarget]:
    """Read the target of some blocks of files, and the group of each row if there are groups."""
    return [read_block_target(source, number, regression=regression) for number in numbers]


def read_file_rows(source: LabeledBlocks, place: Place, dtypes: dict[str, Any]) -> LabeledRows:
    """Read rows of a block of files; some columns get other types."""
    table = source.read_block(place.block)
    X = source.to_frame(table.select(source.schema.names))
    name = f"A block of {source.blocks.name_block(place.block)}"
    return number_rows(X.astype(dtypes) if dtypes else X, place, table, source.target, source.weight, name)


def read_partition_target(
    X: Any, y: Any, weights: Any, group: str | None, number: int, *, regression: bool
) -> BlockTarget:
    """Return the target of a partition, and the group of each row if there are groups.

    Parameters
    ----------
    X : frame or None
        The columns that are given by name.
    y, weights : str, array-like or None
        The name of a column of X, or values.
    group : str or None
        The name of a column of X.
    number : int
        The partition's.
    regression : bool
        Whether the target holds values.
    """
    target = _to_table(X, y, weights, number)
    try:
        found = summarize_target(target, TARGET, WEIGHT if weights is not None else None, regression=regression)
    except UserInputError as error:
        column = f"The column {y if isinstance(y, str) else 'y'!r}"
        sentence = error.sentence.replace(f"The column {TARGET!r}", column)
        raise UserInputError(f"Partition {number} of X: {sentence}", error.hint) from None
    groups = None if group is None else pa.chunked_array([pa.array(np.asarray(X[group]), from_pandas=True)])
    return replace(found, groups=groups)


def read_partition(
    X: Any, y: Any, weights: Any, place: Place, features: Sequence[Any] | None, empty: Any
) -> LabeledRows:
    """Return the rows of a partition with the columns and types of the features without rows."""
    number = place.block
    table = X if features is None else _select(X, features, number)
    for name in features or ():
        found, wanted = table.dtypes[name], empty.dtypes[name]
        if found != wanted:
            raise UserInputError(
                f"Partition {number} of X holds {found} in the column {name!r}, and {wanted} was announced.",
                "Convert it, for example with ddf.astype().",
            )
    weight = None if weights is None else WEIGHT
    return number_rows(table, place, _to_table(X, y, weights, number), TARGET, weight, f"Partition {number} of X")


def _select(X: Any, names: Sequence[Any], number: int) -> Any:
    missing = next((name for name in names if name not in X.columns), None)
    if missing is not None:
        raise UserInputError(
            f"Partition {number} of X has no column {missing!r}, which the others have.", "All need the same columns."
        )
    return X[list(names)]


def _to_table(X: Any, y: Any, weights: Any, number: int) -> pa.Table:
    """Return the target and the weights of a partition."""
    columns = {}
    for name, given in ((TARGET, y), (WEIGHT, weights)):
        if given is not None:
            column = given if isinstance(given, str) else name
            values = _select(X, [given], number)[given] if isinstance(given, str) else np.asarray(given).ravel()
            try:
                columns[name] = pa.array(values, from_pandas=True)
            except (pa.ArrowException, TypeError) as error:
                raise UserInputError(
                    f"Partition {number} of X holds values of several types in {column!r}.", "Convert them to one type."
                ) from error
    return pa.table(columns)
