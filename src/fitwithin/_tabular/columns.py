"""Columns of a file by what they hold, and as the numbers and words that encoders take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError

Kind = Literal["number", "truth", "time", "word"]
"""What a column holds: numbers, truth values, dates and times, or words, among them whatever is declared nominal."""


KINDS: tuple[Kind, ...] = get_args(Kind)


_MANY_WORDS = 100
"""Different words up to which a column is never taken for one of names or numbers of rows."""


_ROW_NUMBERS = re.compile(r"__index_level_\d+__")
"""How pandas calls an index without a name in a file."""


_NARROW = (pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.float16(), pa.float32())
"""Numbers that 32 bits hold as they are."""


@dataclass(frozen=True)
class Column:
    """A column that a model learns from.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        What it holds.
    type : str
        Arrow's name for it, such as "int64".
    """

    name: str
    kind: Kind
    type: str

    @property
    def arrow(self) -> pa.DataType:
        """What to read such a column as, from files that do not say what they hold."""
        match self.kind:
            case "number":
                return pa.float64()
            case "truth":
                return pa.bool_()
            case "word":
                return pa.string()
        return named_type(self.type) or pa.timestamp("us", tz="UTC" if "tz=" in self.type else None)


def kind_of(type_: pa.DataType) -> Kind | None:
    """What a column of this type holds; None for what no learner can be given.

    Examples
    --------
    >>> [kind_of(type_) for type_ in (pa.int8(), pa.bool_(), pa.date32(), pa.string(), pa.list_(pa.int8()))]
    ['number', 'truth', 'time', 'word', None]
    """
    if pa.types.is_dictionary(type_):
        return "word"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "number"
    if pa.types.is_boolean(type_):
        return "truth"
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return "time"
    return "word" if pa.types.is_string(type_) or pa.types.is_large_string(type_) else None


def named_type(name: str) -> pa.DataType | None:
    """Arrow's type of that name, if the name is all that there is to it.

    Examples
    --------
    >>> named_type("date32[day]"), named_type("dictionary<a, b>")
    (DataType(date32[day]), None)
    """
    try:
        return pa.type_for_alias(name)
    except ValueError:
        return None


def sort_out(table: pa.Table) -> tuple[list[Column], dict[str, str]]:
    """The columns to learn from, and those that are left out with the reason.

    Left out are row numbers that pandas added, columns without any value, lists and the like, and words of which nearly
    every row has its own.

    Examples
    --------
    >>> sort_out(pa.table({"age": [1, 2], "gone": pa.nulls(2)}))
    ([Column(name='age', kind='number', type='int64')], {'gone': 'no values'})
    """
    columns, left_out = [], {}
    for name in table.column_names:
        values = table[name]
        kind = kind_of(values.type)
        if _ROW_NUMBERS.fullmatch(name):
            left_out[name] = "row numbers of pandas"
        elif values.null_count == len(values):
            left_out[name] = "no values"
        elif kind is None:
            left_out[name] = f"holds {values.type}"
        elif kind == "word" and _are_names(values):
            left_out[name] = "nearly every row has a value of its own"
        else:
            columns.append(Column(name, kind, type_name(values.type)))
    return columns, left_out


def _are_names(values: pa.ChunkedArray) -> bool:
    different = pc.count_distinct(_words(values)).as_py()
    return bool(different > _MANY_WORDS and different > (len(values) - values.null_count) / 2)


def frame_of(table: pa.Table, columns: Sequence[Column]) -> pd.DataFrame:
    """The columns as an encoder takes them: numbers with NaN for gaps, words as objects.

    Truth values are 0 and 1, times are seconds, since 1970 if they have a date; what is infinite counts as missing.

    Raises
    ------
    UserInputError
        If a column does not hold what the model was trained with.

    Examples
    --------
    >>> table = pa.table({"on": [True, None], "city": ["Oslo", None]})
    >>> frame_of(table, sort_out(table)[0]).values.tolist()
    [[1.0, 'Oslo'], [nan, nan]]
    """
    arrays = {}
    for column in columns:
        values = table[column.name]
        try:
            _refuse_other_clock(values.type, column)
            arrays[column.name] = _AS[column.kind](values)
        except pa.ArrowException as error:
            why = " ".join(str(error).split())[:200]
            raise UserInputError(
                f"Column {column.name!r} holds {values.type}, where the model was trained with {column.type}: {why}.",
                "Give it the same kind of values as the training data.",
            ) from error
    return pd.DataFrame(arrays, copy=False)


def type_name(type_: pa.DataType) -> str:
    """Arrow's name for a type, or for what a dictionary holds.

    Examples
    --------
    >>> type_name(pa.dictionary(pa.int8(), pa.string()))
    'string'
    """
    return str(type_.value_type if pa.types.is_dictionary(type_) else type_)


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column, whether they are stored by a dictionary or not."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _refuse_other_clock(type_: pa.DataType, column: Column) -> None:
    """A number, a time of day or a duration in place of a date would be read as one, and be nonsense."""
    if column.kind != "time" or pa.types.is_string(type_) or pa.types.is_null(type_):
        return
    if not pa.types.is_temporal(type_) or _clock(str(type_)) != _clock(column.type):
        raise pa.ArrowInvalid("it is another kind of time")


def _clock(type_: str) -> str:
    """What a time is counted from: the start of the day, of something else, or of 1970."""
    return next((kind for kind in ("time32", "time64", "duration") if type_.startswith(kind)), "date").rstrip("2346")


def _numbers(values: pa.ChunkedArray) -> Any:
    values = plain(values)
    numbers = values.cast(pa.float32() if values.type in _NARROW else pa.float64(), safe=False).to_numpy()
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def _truths(values: pa.ChunkedArray) -> Any:
    return plain(values).cast(pa.bool_()).cast(pa.float32()).to_numpy()


def _seconds(values: pa.ChunkedArray) -> Any:
    values = plain(values)
    if pa.types.is_time(values.type):
        values = values.cast(pa.time64("us"), safe=False)
    elif pa.types.is_duration(values.type):
        values = values.cast(pa.duration("us"), safe=False)
    else:
        zone = getattr(values.type, "tz", None)
        values = values.cast(pa.timestamp("us", tz=zone), safe=False)
    return values.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy() / 1e6


def _words(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return plain(values).cast(pa.string())


def _objects(values: pa.ChunkedArray) -> Any:
    words = _words(values)
    objects = words.to_numpy().astype(object)
    # scikit-learn's encoders know NaN as missing; None would be one more word.
    objects[words.is_null().to_numpy()] = np.nan
    return objects


_AS = {"number": _numbers, "truth": _truths, "time": _seconds, "word": _objects}
