"""What the workers do to read a data set: find the target of a part, and return its rows in the order of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.block_pool import Place
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.tables import take_rows
from fitwithin._pools.target_pass import BlockTarget, read_block_target, summarize_target

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
                    f"Partition {number} of X holds values of several types in {column!r}.",
                    "Convert them to one type.",
                ) from error
    return pa.table(columns)
