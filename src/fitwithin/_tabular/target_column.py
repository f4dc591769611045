"""The column that is to be learned: classes or values, and how they come back in a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._tabular.columns import kind_of, named_type, plain, type_name

Task = Literal["classification", "regression"]


MOST_NUMBERS = 100
"""Different whole numbers up to which they are taken for classes, if nobody says what they are."""


MOST_CLASSES = 1000
"""Classes that are believed to be classes."""


@dataclass(frozen=True, eq=False)
class Goal:
    """What is to be learned.

    Parameters
    ----------
    name : str
        The column.
    task : str
        "classification" or "regression".
    type : str
        Arrow's name of the column's type.
    y : numpy.ndarray
        One entry for each row that has one.
    present : numpy.ndarray of bool
        The rows that have one.
    """

    name: str
    task: Task
    type: str
    y: Array
    present: Array

    @property
    def is_regression(self) -> bool:
        """Whether values are to be learned."""
        return self.task == "regression"


def read_goal(name: str, values: pa.ChunkedArray, task: Task | None = None, most: int = MOST_CLASSES) -> Goal:
    """What a column asks a learner to learn.

    Words, truth values and dates are classes, and so are up to a hundred different whole numbers; other numbers are
    values.

    Parameters
    ----------
    name : str
        The column's name.
    values : pyarrow.ChunkedArray
        The column.
    task : str or None
        The user's word, if there is one.
    most : int
        Classes at most.

    Raises
    ------
    UserInputError
        If there is nothing to be learned from it.

    Examples
    --------
    >>> read_goal("rain", pa.chunked_array([["yes", "no", None]])).y.tolist()
    ['yes', 'no']
    >>> read_goal("price", pa.chunked_array([[1.5, 2.5]])).task
    'regression'
    """
    if not len(values):
        raise UserInputError("The file has no rows, only names of columns.", "Was it written to its end?")
    present = values.is_valid().to_numpy().astype(bool)
    type_, kept = type_name(values.type), plain(values.drop_null())
    if not len(kept):
        raise UserInputError(f"The target {name!r} has no values at all.", "Choose another column with --target.")
    if kind_of(kept.type) is None:
        raise UserInputError(
            f"The target {name!r} holds {kept.type}.", "It takes words, numbers, truth values or dates."
        )
    different = pc.count_distinct(kept).as_py()
    if different < 2:
        raise UserInputError(
            f"The target {name!r} has one value only, {kept[0].as_py()!r}: there is nothing to learn.",
            "Choose another column with --target.",
        )
    if (task or default_task(kept, different)) == "regression":
        return Goal(name, "regression", type_, _values(name, kept), present)
    _refuse_many(name, kept, different, most)
    return Goal(name, "classification", type_, labels_of(kept), present)


def default_task(values: pa.ChunkedArray, different: int) -> Task:
    """Classes or values, if nobody says so."""
    if kind_of(values.type) != "number":
        return "classification"
    if pa.types.is_integer(values.type):
        return "classification" if different <= MOST_NUMBERS else "regression"
    numbers = values.cast(pa.float64()).to_numpy()
    are_whole = bool((numbers == np.floor(numbers)).all())
    return "classification" if are_whole and different <= MOST_NUMBERS else "regression"


def labels_of(values: pa.ChunkedArray) -> Array:
    """Labels as every learner takes them: truth values, numbers, or words, which dates become too.

    Examples
    --------
    >>> labels_of(pa.chunked_array([["b", "a"]])).tolist()
    ['b', 'a']
    """
    values = plain(values)
    if pa.types.is_boolean(values.type):
        return np.asarray(values.to_numpy(), bool)
    if pa.types.is_integer(values.type):
        return np.asarray(values.to_numpy(), values.type.to_pandas_dtype())
    if pa.types.is_floating(values.type):
        return np.asarray(values.cast(pa.float64()).to_numpy(), np.float64)
    return np.asarray(values.cast(pa.string()).to_numpy(), object)


def as_trained(name: str, values: pa.ChunkedArray, trained: str, *, regression: bool) -> Array:
    """The same column of another file, as it was in training; gaps must be gone.

    Raises
    ------
    UserInputError
        If it holds something else.
    """
    try:
        if regression:
            return _values(name, plain(values))
        wanted = named_type(trained)
        return labels_of(plain(values) if wanted is None else plain(values).cast(wanted))
    except pa.ArrowException as error:
        raise UserInputError(
            f"The target {name!r} holds {values.type}, where the model was trained with {trained}.",
            "Give it the same kind of values as the training data.",
        ) from error


def in_file(predicted: Any, trained: str) -> pa.Array:
    """Predictions as they are written: classes of the type that they had in training, where there is a way back.

    Examples
    --------
    >>> in_file(np.array(["2026-01-01"], object), "date32[day]").type
    DataType(date32[day])
    """
    answers = pa.array(np.asarray(predicted))
    wanted = named_type(trained)
    try:
        return answers if wanted is None else answers.cast(wanted, safe=False)
    except pa.ArrowNotImplementedError:
        # Of times and durations there is none.
        return answers


def _values(name: str, values: pa.ChunkedArray) -> Array:
    if kind_of(values.type) != "number":
        raise UserInputError(
            f"The target {name!r} holds {values.type}, and values to be predicted are numbers.",
            "Leave out --task regression.",
        )
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    if not np.isfinite(numbers).all():
        raise UserInputError(f"The target {name!r} holds infinite values.", "Leave these rows out.")
    return numbers


def _refuse_many(name: str, values: pa.ChunkedArray, different: int, most: int) -> None:
    if pa.types.is_floating(values.type) and default_task(values, 2) == "regression":
        raise UserInputError(
            f"The target {name!r} holds fractions, which are no classes.", "Leave out --task classification."
        )
    if different > most:
        rows = len(values)
        is_number = kind_of(values.type) == "number"
        raise UserInputError(
            f"The target {name!r} has {different:,} different values in {rows:,} rows: too many to be classes.",
            ("Use --task regression, or " if is_number else "Choose another column with --target, or ")
            + f"say that you mean it with --max-classes {different}.",
        )
