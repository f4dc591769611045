"""What the workers do to read a data set: find the target of a part, and return its rows in the order of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows
from fitwithin._pools.reading_order import order_rows
from fitwithin._pools.sources.blocks import LabeledBlocks
from fitwithin._pools.tables import take_rows
from fitwithin._pools.target_pass import BlockTarget, encode_labels, read_block_target, read_values, summarize_target

TARGET = "y"
WEIGHT = "sample_weight"


@dataclass(frozen=True, eq=False)
class Place:
    """A block to read, and how its rows are numbered.

    Parameters
    ----------
    block, n_rows : int
        The block, and its rows.
    seed : int
        Makes their order random.
    classes : array or None
        The distinct labels; None for regression.
    dtype : dtype
        Type of the encoded target.
    by_class : bool
        Whether the rows are sorted by class.
    parts : array of uint8 or None
        Which of these rows are validation and holdout rows; see `TargetPass`.
    """

    block: int
    n_rows: int
    seed: int
    classes: Array | None
    dtype: Any
    by_class: bool
    parts: Array | None

    def arrange(self, X: Any, target: pa.Table, name: str) -> LabeledRows:
        """Return these rows in the order of their numbers, with an encoded target."""
        if self.classes is None:
            y = read_values(target, TARGET).astype(self.dtype)
        else:
            labels, codes = encode_labels(target[TARGET], TARGET)
            y = np.searchsorted(self.classes, labels.astype(self.classes.dtype, copy=False)).astype(self.dtype)[codes]
        if not X.shape[0] == len(y) == self.n_rows:
            raise UserInputError(
                f"{name} has {X.shape[0]:,} rows and {len(y):,} labels, and had {self.n_rows:,} labels before.",
                "X and y must have the same rows in the same order, and must not change during fit.",
            )
        cells = self.parts
        if self.by_class:
            cells = 3 * y.astype(np.uint8) + (0 if self.parts is None else self.parts)
        order = order_rows(self.seed, self.block, self.n_rows, cells)
        weights = (
            {WEIGHT: read_values(target, WEIGHT)[order].astype(np.float64)} if WEIGHT in target.schema.names else {}
        )
        return LabeledRows(take_rows(X, order), y[order], weights)


def read_file_targets(source: LabeledBlocks, numbers: Sequence[int], regression: bool) -> list[BlockTarget]:
    """Read the target of some blocks of files."""
    return [read_block_target(source, number, regression=regression) for number in numbers]


def read_file_rows(source: LabeledBlocks, place: Place, dtypes: dict[str, Any]) -> LabeledRows:
    """Read rows of a block of files; some columns get other types."""
    table = source.read_block(place.block)
    X = source.to_frame(table.select(source.schema.names))
    columns = {TARGET: table[source.target]} | ({} if source.weight is None else {WEIGHT: table[source.weight]})
    return place.arrange(X.astype(dtypes) if dtypes else X, pa.table(columns), source.blocks.name_block(place.block))


def read_partition_target(
    X: Any, y: Any, weights: Any, groups: Any, number: int, *, regression: bool
) -> tuple[BlockTarget, Any]:
    """Return the target of a partition, and the group of each row if there are groups.

    Parameters
    ----------
    X : frame or None
        The columns that are given by name.
    y, weights, groups : str, array-like or None
        The name of a column of X, or values.
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
    return found, None if groups is None else np.asarray(X[groups] if isinstance(groups, str) else groups)


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
    return place.arrange(table, _to_table(X, y, weights, number), f"Partition {number} of X")


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
