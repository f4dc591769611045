"""Reading a whole data set, a block at a time: frames for predictions, columns of values for scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.in_memory import split_frame
from fitwithin._pools.sources.opening import is_data_set, open_blocks
from fitwithin._pools.tables import is_frame, list_column_types, take_columns

if TYPE_CHECKING:
    import pyarrow as pa


def read_tables(blocks: Blocks, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield these columns of all rows, block by block; the next block is read meanwhile."""
    with ThreadPoolExecutor(1, thread_name_prefix="fitwithin-read") as reader:
        upcoming = reader.submit(blocks.read, 0, names) if blocks.n_blocks else None
        for number in range(blocks.n_blocks):
            assert upcoming is not None
            table = upcoming.result()
            if number + 1 < blocks.n_blocks:
                upcoming = reader.submit(blocks.read, number + 1, names)
            if table.num_rows:
                yield table


def predict_blocks(predict: Any, X: Any, names: Sequence[str] | None) -> Array:
    """Predict all rows of a data set, block by block, and return the predictions of all of them.

    Parameters
    ----------
    predict : callable
        From a frame to an array with one entry for each of its rows.
    X : data set
        See `is_data_set`.
    names : sequence of str or None
        The features, in the order of the model; None for all columns of the data set.

    Raises
    ------
    UserInputError
        If a column is missing, or there are no rows.
    """
    blocks = open_blocks(X, names)
    tables = read_tables(blocks, blocks.schema.names)
    parts = [np.asarray(predict(blocks.to_frame(table))) for table in tables]
    if not parts:
        raise UserInputError("The data set has no rows to predict.", "Is its filter right?")
    return np.concatenate(parts)


def read_score_arguments(
    X: Any, y: Any, sample_weight: Any, feature_names: Sequence[str] | None
) -> tuple[Any, Any, Any]:
    """Return the arguments of `score` with values in the place of names of columns.

    The features of a data set stay on disk; only the target and the weights are read.

    Parameters
    ----------
    X : array-like, frame or data set
        The rows.
    y, sample_weight : str or array-like
        A column's name, or the values.
    feature_names : sequence of str or None
        The features of the model. Other columns of a frame are left out if y is a name.

    Raises
    ------
    UserInputError
        If there is no such column.
    """
    if not is_data_set(X):
        features, target, weights = split_frame(X, y, sample_weight)
        if isinstance(y, str) and feature_names is not None and is_frame(features):
            known = {name for name, _ in list_column_types(features)}
            if known.issuperset(feature_names):
                features = take_columns(features, feature_names)
        return features, target, weights
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    if not named:
        return X, y, sample_weight
    values = _read_columns(X, named)
    target = values[y] if isinstance(y, str) else y
    weights = values[sample_weight] if isinstance(sample_weight, str) else sample_weight
    return X, target, weights


def _read_columns(X: Any, names: Sequence[str]) -> dict[str, Array]:
    blocks = open_blocks(X, names)
    parts = [[_to_numpy(table[name]) for name in names] for table in read_tables(blocks, names)]
    if not parts:
        raise UserInputError("The data set has no rows to score.", "Is its filter right?")
    return {name: np.concatenate(columns) for name, columns in zip(names, zip(*parts, strict=True), strict=True)}


def _to_numpy(column: pa.ChunkedArray) -> Array:
    """Return labels as a fit on the same data set has them."""
    import pyarrow as pa

    values = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return np.asarray(values.to_numpy())
