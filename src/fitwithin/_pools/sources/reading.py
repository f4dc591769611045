"""Reading a whole data set, a block at a time: frames for predictions, columns of values for scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks
from fitwithin._pools.sources.opening import open_blocks

if TYPE_CHECKING:
    import pyarrow as pa


_JOINED_VALUES = 1 << 20
"""Values from which on small blocks are predicted together: a call of `predict` takes 1 ms, whatever its rows."""


def read_tables(blocks: Blocks, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield these columns of all rows: block by block, small blocks joined."""
    import pyarrow as pa

    parts: list[pa.Table] = []
    for number in range(blocks.n_blocks):
        parts.append(blocks.read(number, names))
        n_rows = sum(part.num_rows for part in parts)
        if n_rows * len(names) >= _JOINED_VALUES or (n_rows and number == blocks.n_blocks - 1):
            yield pa.concat_tables(parts)
            parts = []


def predict_blocks(predict: Any, X: Any, names: Sequence[str] | None) -> Array:
    """Predict all rows of a data set, block by block, and return the predictions of all of them.

    Parameters
    ----------
    predict : callable
        From a frame to an array with one entry for each of its rows.
    X : data set
        See `find_input_kind`.
    names : sequence of str or None
        The features, in the order of the model; None for all columns of the data set.

    Raises
    ------
    UserInputError
        If a column is missing, or there are no rows.
    """
    blocks = open_blocks(X, names)
    tables = read_tables(blocks, blocks.schema.names if names is None else names)
    predictions = [np.asarray(predict(blocks.to_frame(table))) for table in tables]
    if not predictions:
        raise UserInputError("The data set has no rows to predict.", "Is its filter right?")
    return np.concatenate(predictions)


def read_score_arguments(X: Any, y: Any, sample_weight: Any, features: Sequence[str] | None) -> tuple[Any, Any, Any]:
    """Return a data set, whose features stay on disk, its target and weights; each may be the name of a column.

    Raises
    ------
    UserInputError
        If there is no such column.
    """
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    if features is not None:
        # Opened once for the target and the predictions.
        X = open_blocks(X, list(dict.fromkeys([*named, *features])))
    values = _read_columns(open_blocks(X, named), named) if named else {}
    target = values[y] if isinstance(y, str) else y
    weights = values[sample_weight] if isinstance(sample_weight, str) else sample_weight
    return X, target, weights


def _read_columns(blocks: Blocks, names: Sequence[str]) -> dict[str, Array]:
    from fitwithin._pools.sources.column_types import decode_dictionary

    # Labels as a fit on the same data set has them.
    tables = [[decode_dictionary(table[name]).to_numpy() for name in names] for table in read_tables(blocks, names)]
    if not tables:
        raise UserInputError("The data set has no rows to score.", "Is its filter right?")
    return {name: np.concatenate(columns) for name, columns in zip(names, zip(*tables, strict=True), strict=True)}
