"""Feature columns of a file: their kinds, and their conversion to what the encoders take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fitwithin._core.exceptions import UserInputError, shorten_reason
from fitwithin._pools.sources.column_types import decode_dictionary

ColumnKind = Literal["number", "boolean", "time", "text", "words"]
"""Kinds of columns. Text includes every column that is declared categorical, even if its values are numbers; of a
column named by --text the words count instead of the whole value."""


_MAX_CATEGORIES = 100
"""Distinct texts up to which a column is never taken for row identifiers."""


_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""Name that pandas gives an unnamed index in a file."""


_FLOAT32_SAFE_TYPES = (pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.float16(), pa.float32())
"""Number types that float32 represents exactly."""


@dataclass(frozen=True)
class FeatureColumn:
    """A column that a model is trained on.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "boolean", "time", "text", "words"}
        What it holds.
    type : str
        Arrow's name of its type, such as "int64".
    """

    name: str
    kind: ColumnKind
    type: str

    @property
    def arrow_type(self) -> pa.DataType:
        """Type to read the column as, from files that do not store types."""
        if self.kind == "time":
            return parse_arrow_type(self.type) or pa.timestamp("us", tz="UTC" if "tz=" in self.type else None)
        return {"number": pa.float64(), "boolean": pa.bool_()}.get(self.kind, pa.string())


def column_kind(type_: pa.DataType) -> ColumnKind | None:
    """Return the kind of a column of this type; None if no learner can use it.

    Examples
    --------
    >>> [column_kind(type_) for type_ in (pa.int8(), pa.bool_(), pa.date32(), pa.string(), pa.list_(pa.int8()))]
    ['number', 'boolean', 'time', 'text', None]
    """
    if pa.types.is_dictionary(type_):
        return "text"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "number"
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        return "time"
    return "text" if pa.types.is_string(type_) or pa.types.is_large_string(type_) else None


def parse_arrow_type(name: str) -> pa.DataType | None:
    """Return arrow's type of that name; None if the name alone does not define it.

    Examples
    --------
    >>> parse_arrow_type("date32[day]"), parse_arrow_type("dictionary<a, b>")
    (DataType(date32[day]), None)
    """
    try:
        return pa.type_for_alias(name)
    except ValueError:
        return None


def select_columns(table: pa.Table, texts: Sequence[str] = ()) -> tuple[list[FeatureColumn], dict[str, str]]:
    """Return the columns to train on, and the others by name with the reason; the words of `texts` are features.

    Left out are the index of pandas, columns without values, nested types, and text that differs in nearly every row.

    Examples
    --------
    >>> select_columns(pa.table({"age": [1, 2], "gone": pa.nulls(2)}))
    ([FeatureColumn(name='age', kind='number', type='int64')], {'gone': 'no values'})
    """
    columns, left_out = [], {}
    for name in table.column_names:
        values = table[name]
        kind = column_kind(values.type)
        if _PANDAS_INDEX.fullmatch(name):
            left_out[name] = "index of pandas"
        elif values.null_count == len(values):
            left_out[name] = "no values"
        elif kind is None:
            left_out[name] = f"holds {values.type}"
        elif name in texts and kind != "text":
            raise UserInputError(f"--text {name} names a column of {values.type}, not of text.", "Leave it out.")
        elif name not in texts and kind == "text" and _are_row_identifiers(values):
            left_out[name] = "a different value in nearly every row"
        else:
            columns.append(FeatureColumn(name, "words" if name in texts else kind, arrow_type_name(values.type)))
    return columns, left_out


def _are_row_identifiers(values: pa.ChunkedArray) -> bool:
    n_distinct = pc.count_distinct(decode_dictionary(values).cast(pa.string())).as_py()
    return bool(n_distinct > _MAX_CATEGORIES and n_distinct > (len(values) - values.null_count) / 2)


def to_frame(table: pa.Table, columns: Sequence[FeatureColumn]) -> pd.DataFrame:
    """Convert columns to a frame for the encoders: floats with NaN for missing values, text as objects.

    Booleans become 0 and 1. Times become seconds, since 1970 if they have a date. Infinite numbers count as missing.

    Raises
    ------
    UserInputError
        If a column does not hold the type that the model was trained with.

    Examples
    --------
    >>> table = pa.table({"on": [True, None], "city": ["Oslo", None]})
    >>> to_frame(table, select_columns(table)[0]).values.tolist()
    [[1.0, 'Oslo'], [nan, nan]]
    """
    arrays = {}
    for column in columns:
        values = decode_dictionary(table[column.name])
        try:
            _validate_time_type(values.type, column)
            arrays[column.name] = _CONVERTERS[column.kind](values)
        except pa.ArrowException as error:
            raise UserInputError(
                f"Column {column.name!r} holds {values.type}, but the model was trained with {column.type}: "
                f"{shorten_reason(error)}.",
                "Use the same type of values as in the training data.",
            ) from error
    return pd.DataFrame(arrays, copy=False)


def arrow_type_name(type_: pa.DataType) -> str:
    """Return arrow's name of a type, or of the values of a dictionary.

    Examples
    --------
    >>> arrow_type_name(pa.dictionary(pa.int8(), pa.string()))
    'string'
    """
    return str(type_.value_type if pa.types.is_dictionary(type_) else type_)


def _validate_time_type(type_: pa.DataType, column: FeatureColumn) -> None:
    """Raise for a number, a time of day or a duration in place of a date: arrow would convert it to a wrong date."""
    if column.kind != "time" or pa.types.is_string(type_) or pa.types.is_null(type_):
        return
    if not pa.types.is_temporal(type_) or _time_family(str(type_)) != _time_family(column.type):
        raise pa.ArrowInvalid("it is another kind of time")


def _time_family(type_: str) -> str:
    """Return "time" for a time of day, "duration", or "date" for what counts from 1970."""
    return next((kind for kind in ("time32", "time64", "duration") if type_.startswith(kind)), "date").rstrip("2346")


def _numbers_to_floats(values: pa.ChunkedArray) -> Any:
    floats = values.cast(pa.float32() if values.type in _FLOAT32_SAFE_TYPES else pa.float64(), safe=False).to_numpy()
    return np.where(np.isinf(floats), np.nan, floats) if np.isinf(floats).any() else floats


def _times_to_seconds(values: pa.ChunkedArray) -> Any:
    unit: pa.DataType = pa.timestamp("us", tz=getattr(values.type, "tz", None))
    if pa.types.is_time(values.type):
        unit = pa.time64("us")
    elif pa.types.is_duration(values.type):
        unit = pa.duration("us")
    return values.cast(unit, safe=False).cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy() / 1e6


def _text_to_objects(values: pa.ChunkedArray) -> Any:
    strings = values.cast(pa.string())
    objects = strings.to_numpy().astype(object)
    # scikit-learn's encoders take NaN for missing; None would be one more category.
    objects[strings.is_null().to_numpy()] = np.nan
    return objects


_CONVERTERS: Mapping[ColumnKind, Any] = {
    "number": _numbers_to_floats,
    "boolean": lambda values: values.cast(pa.bool_()).cast(pa.float32()).to_numpy(),
    "time": _times_to_seconds,
    "text": _text_to_objects,
    "words": lambda values: values.cast(pa.string()).fill_null("").to_numpy().astype(object),
}
