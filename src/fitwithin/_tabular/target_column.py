"""The target column: classes or values to predict, and the way back from predictions to the file's types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.sources.column_types import decode_dictionary
from fitwithin._tabular.columns import arrow_type_name, column_kind, parse_arrow_type

TaskType = Literal["classification", "regression"]


MAX_INTEGER_CLASSES = 100
"""Distinct whole numbers up to which a target counts as classes unless the user sets the task."""


DEFAULT_MAX_CLASSES = 1000
"""Classes above which a target is taken for a mistake, such as a column of names."""


_MAX_DISTINCT = 10_000
"""Distinct values up to which those of the next block are counted; more are values, or too many for classes."""


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """The column to predict.

    Parameters
    ----------
    name : str
        Its name.
    task : {"classification", "regression"}
        Whether to predict classes or values.
    type : str
        Arrow's name of its type.
    values : numpy.ndarray
        The classes, sorted, or the ends of the range.
    counts : numpy.ndarray or None
        The rows of each class; None for a regression.
    n_rows, n_missing : int
        Rows with and without a value.
    """

    name: str
    task: TaskType
    type: str
    values: Array
    counts: Array | None
    n_rows: int
    n_missing: int

    @property
    def is_regression(self) -> bool:
        """Whether values are predicted."""
        return self.task == "regression"

    def convert(self, values: pa.ChunkedArray) -> Array:
        """Convert the target of some rows to the type in training; it must have no missing values.

        Raises
        ------
        UserInputError
            If it holds another type.
        """
        values = decode_dictionary(values)
        try:
            if self.is_regression:
                return _to_target_values(self.name, values)
            wanted = parse_arrow_type(self.type)
            return to_labels(values if wanted is None else values.cast(wanted))
        except pa.ArrowException as error:
            raise UserInputError(
                f"The target {self.name!r} holds {values.type}, but the model was trained with {self.type}.",
                "Use the same type of values as in the training data.",
            ) from error


def read_target_column(
    name: str, blocks: Iterable[pa.ChunkedArray], task: TaskType | None = None, max_classes: int = DEFAULT_MAX_CLASSES
) -> TargetColumn:
    """Read the target column of a file.

    Text, booleans, dates and up to a hundred distinct whole numbers are classes; other numbers are values.

    Parameters
    ----------
    name : str
        The column's name.
    blocks : iterable of pyarrow.ChunkedArray
        The column, whole or block by block.
    task : {"classification", "regression"}, optional
        The user's choice; by default it follows from the values.
    max_classes : int
        Raise if there are more.

    Raises
    ------
    UserInputError
        If no model can be trained to predict it.

    Examples
    --------
    >>> read_target_column("rain", [pa.chunked_array([["yes", "no", None]])]).values.tolist()
    ['no', 'yes']
    >>> read_target_column("price", [pa.chunked_array([[1.5]]), pa.chunked_array([[2.5]])]).task
    'regression'
    """
    n_rows = n_missing = 0
    ends: list[float] = []
    found, type_ = pa.table({"values": pa.nulls(0), "counts": pa.array([], pa.int64())}), ""
    for stored in blocks:
        values, type_ = decode_dictionary(stored), arrow_type_name(stored.type)
        present = values.drop_null()
        n_rows, n_missing = n_rows + len(present), n_missing + values.null_count
        if not len(present):
            continue
        kind = column_kind(present.type)
        if kind is None:
            raise UserInputError(
                f"The target {name!r} holds {present.type}; it must hold text, numbers, booleans or dates.",
                "Choose another column with --target.",
            )
        if kind == "number":
            ends += pc.min_max(present.cast(pa.float64(), safe=False)).as_py().values()
        if len(found) <= _MAX_DISTINCT:
            both = pa.concat_tables(
                [found, pa.Table.from_struct_array(pc.value_counts(present))], promote_options="default"
            )
            sums = both.group_by("values", use_threads=False).aggregate([("counts", "sum")])
            found = sums.rename_columns(["values", "counts"])
    if not n_rows + n_missing:
        raise UserInputError("The file has no rows, only column names.", "Was it written completely?")
    if not n_rows:
        raise UserInputError(f"The target {name!r} has no values at all.", "Choose another column with --target.")
    distinct = found["values"]
    if len(distinct) < 2:
        raise UserInputError(
            f"The target {name!r} has one value only, {distinct[0].as_py()!r}; a model needs at least two.",
            "Choose another column with --target.",
        )
    if (task or infer_task(distinct)) == "regression":
        span = _to_target_values(name, pa.chunked_array([[min(ends), max(ends)]]) if ends else distinct)
        return TargetColumn(name, "regression", type_, span, None, n_rows, n_missing)
    _validate_classes(name, distinct, n_rows, max_classes)
    classes, order = np.unique(to_labels(distinct), return_index=True)
    return TargetColumn(name, "classification", type_, classes, found["counts"].to_numpy()[order], n_rows, n_missing)


def infer_task(distinct: pa.ChunkedArray) -> TaskType:
    """Return the task that follows from the distinct values of a target."""
    is_number = column_kind(distinct.type) == "number"
    few = len(distinct) <= MAX_INTEGER_CLASSES
    return "regression" if is_number and not (few and _are_whole(distinct)) else "classification"


def _are_whole(numbers: pa.ChunkedArray) -> bool:
    values = numbers.cast(pa.float64(), safe=False).to_numpy()
    return bool((values == np.floor(values)).all())


def to_labels(values: pa.ChunkedArray) -> Array:
    """Convert classes to labels that every learner takes: booleans, numbers, or text, which includes dates.

    Examples
    --------
    >>> to_labels(pa.chunked_array([["b", "a"]])).tolist()
    ['b', 'a']
    """
    if pa.types.is_floating(values.type):
        values = values.cast(pa.float64())
    elif not (pa.types.is_boolean(values.type) or pa.types.is_integer(values.type)):
        values = values.cast(pa.string())
    return np.asarray(values.to_numpy(), values.type.to_pandas_dtype())


def predictions_to_arrow(predicted: Any, trained_type: str) -> pa.Array:
    """Convert predictions to the type of the target in training, where arrow can.

    Examples
    --------
    >>> predictions_to_arrow(np.array(["2026-01-01"], object), "date32[day]").type
    DataType(date32[day])
    """
    predictions = pa.array(np.asarray(predicted))
    wanted = parse_arrow_type(trained_type)
    try:
        return predictions if wanted is None else predictions.cast(wanted, safe=False)
    except pa.ArrowNotImplementedError:
        # Text to times of day and durations.
        return predictions


def _to_target_values(name: str, values: pa.ChunkedArray) -> Array:
    if column_kind(values.type) != "number":
        raise UserInputError(
            f"The target {name!r} holds {values.type}, but the values of a regression are numbers.",
            "Leave out --task regression.",
        )
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    if not np.isfinite(numbers).all():
        raise UserInputError(f"The target {name!r} holds infinite values.", "Remove these rows.")
    return numbers


def _validate_classes(name: str, distinct: pa.ChunkedArray, n_rows: int, max_classes: int) -> None:
    if pa.types.is_floating(distinct.type) and not _are_whole(distinct):
        raise UserInputError(
            f"The target {name!r} holds fractions, which can't be classes.", "Leave out --task classification."
        )
    if len(distinct) > max_classes:
        is_number = column_kind(distinct.type) == "number"
        raise UserInputError(
            f"The target {name!r} has {len(distinct):,} different values in {n_rows:,} rows: too many for classes.",
            ("Use --task regression, or " if is_number else "Choose another column with --target, or ")
            + f"allow them with --max-classes {len(distinct)}.",
        )
