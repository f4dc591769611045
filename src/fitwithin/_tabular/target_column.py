"""The target column: classes or values to predict, and the way back from predictions to the file's types."""

from __future__ import annotations

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
    y : numpy.ndarray
        One entry for each row that has a value; of files that are read in blocks, the classes or the ends of the range.
    class_counts : tuple of numpy.ndarray or None
        The labels, and the rows of each; None for a regression.
    n_rows, n_missing : int
        Rows with and without a value.
    """

    name: str
    task: TaskType
    type: str
    y: Array
    class_counts: tuple[Array, Array] | None
    n_rows: int
    n_missing: int

    @property
    def is_regression(self) -> bool:
        """Whether values are predicted."""
        return self.task == "regression"

    def convert(self, values: pa.ChunkedArray) -> Array:
        """Convert the target of other rows to the type in training; it must have no missing values.

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
    name: str, values: pa.ChunkedArray, task: TaskType | None = None, max_classes: int = DEFAULT_MAX_CLASSES
) -> TargetColumn:
    """Read the target column of a file.

    Text, booleans, dates and up to a hundred distinct whole numbers are classes; other numbers are values.

    Parameters
    ----------
    name : str
        The column's name.
    values : pyarrow.ChunkedArray
        The column.
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
    >>> read_target_column("rain", pa.chunked_array([["yes", "no", None]])).y.tolist()
    ['yes', 'no']
    >>> read_target_column("price", pa.chunked_array([[1.5, 2.5]])).task
    'regression'
    """
    if not len(values):
        raise UserInputError("The file has no rows, only column names.", "Was it written completely?")
    type_, present = arrow_type_name(values.type), decode_dictionary(values).drop_null()
    n_missing = len(values) - len(present)
    if not len(present):
        raise UserInputError(f"The target {name!r} has no values at all.", "Choose another column with --target.")
    if column_kind(present.type) is None:
        raise UserInputError(
            f"The target {name!r} holds {present.type}; it must hold text, numbers, booleans or dates.",
            "Choose another column with --target.",
        )
    n_distinct = pc.count_distinct(present).as_py()
    if n_distinct < 2:
        raise UserInputError(
            f"The target {name!r} has one value only, {present[0].as_py()!r}; a model needs at least two.",
            "Choose another column with --target.",
        )
    if (task or infer_task(present, n_distinct)) == "regression":
        y = _to_target_values(name, present)
        return TargetColumn(name, "regression", type_, y, None, len(present), n_missing)
    _validate_classes(name, present, n_distinct, max_classes)
    y = to_labels(present)
    counts = np.unique(y, return_counts=True)
    return TargetColumn(name, "classification", type_, y, counts, len(present), n_missing)


def infer_task(values: pa.ChunkedArray, n_distinct: int) -> TaskType:
    """Return the task that follows from the values of a target."""
    if column_kind(values.type) != "number":
        return "classification"
    numbers = values.cast(pa.float64(), safe=False).to_numpy()
    are_whole = pa.types.is_integer(values.type) or bool((numbers == np.floor(numbers)).all())
    return "classification" if are_whole and n_distinct <= MAX_INTEGER_CLASSES else "regression"


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


def _validate_classes(name: str, values: pa.ChunkedArray, n_distinct: int, max_classes: int) -> None:
    if pa.types.is_floating(values.type) and infer_task(values, 2) == "regression":
        raise UserInputError(
            f"The target {name!r} holds fractions, which can't be classes.", "Leave out --task classification."
        )
    if n_distinct > max_classes:
        is_number = column_kind(values.type) == "number"
        raise UserInputError(
            f"The target {name!r} has {n_distinct:,} different values in {len(values):,} rows: too many for classes.",
            ("Use --task regression, or " if is_number else "Choose another column with --target, or ")
            + f"allow them with --max-classes {n_distinct}.",
        )
