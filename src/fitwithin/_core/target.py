"""The target: class labels encoded as small integers, or numeric values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from fitwithin._core.exceptions import UserInputError

Array = npt.NDArray[Any]

# Range of integer labels up to which counting replaces sorting, in integers: at most 512 KiB of counts.
_MAX_LABEL_RANGE = 1 << 16

# Rows that are encoded at a time, so that what lies between label and code stays in the processor's cache.
_CHUNK_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels encoded as small integers.

    `classes` are the distinct labels, sorted; `codes` the place there of each row's label; `counts` the rows of each
    class.
    """

    classes: Array
    codes: Array
    counts: Array

    @property
    def column(self) -> Array:
        """Codes of all rows."""
        return self.codes

    def decode(self, column: Array) -> Array:
        """Return the labels of these codes."""
        return self.classes[column]

    def with_column(self, codes: Array) -> Labels:
        """Return the classes and their counts with another column of codes."""
        return replace(self, codes=codes)

    def read_more(self, y: Any) -> Labels:
        """Encode the labels of other rows; raise a ValueError if these rows lack some of them."""
        column = read_labels(y, "y_val")
        found, positions = np.unique(column, return_inverse=True)
        code_of_label = {label: code for code, label in enumerate(self.classes.tolist())}
        refuse_unknown_labels([label for label in found.tolist() if label not in code_of_label])
        codes = np.array([code_of_label[label] for label in found.tolist()], dtype=self.codes.dtype)[positions]
        return Labels(self.classes, codes, count_codes(codes, len(self.classes)))

    def extend(self, more: Target) -> Labels:
        """Return the labels of these rows and, after them, others with the same classes."""
        counts = self.counts + count_codes(more.column, len(self.classes))
        return Labels(self.classes, np.concatenate([self.codes, more.column]), counts)

    @classmethod
    def encode(cls, y: Any) -> Labels:
        """Encode labels as the user gave them; return labels that are encoded as they are.

        A ValueError tells that they are missing, continuous, of mixed types or all the same.
        """
        if isinstance(y, Labels):
            return y
        column = read_labels(y)
        encoded = encode_integers(column, _MAX_LABEL_RANGE)
        classes, codes, counts = encoded or np.unique(column, return_inverse=True, return_counts=True)
        refuse_single_class(classes, len(column))
        return cls(classes, codes.astype(np.min_scalar_type(len(classes) - 1), copy=False), counts)


@dataclass(frozen=True, eq=False)
class Values:
    """Numeric target values."""

    column: Array

    @classmethod
    def read(cls, y: Any, name: str = "y") -> Values:
        """Convert values as the user gave them to an array of numbers; return converted ones as they are.

        A ValueError tells that there are none, or that they are missing or no numbers.
        """
        if isinstance(y, Values):
            return y
        refuse_several_targets(y, name)
        column = column_or_1d(y, input_name=name, warn=True)
        if column.dtype.kind not in "fiub":
            column = column.astype(np.float64)
        assert_all_finite(column, input_name=name)
        if not len(column):
            raise ValueError(f"{name} holds no values; a regressor needs at least one training row.")
        return cls(column)

    def decode(self, column: Array) -> Array:
        """Return the values unchanged."""
        return column

    def with_column(self, values: Array) -> Values:
        """Return other values."""
        return Values(values)

    def read_more(self, y: Any) -> Values:
        """Convert the values of other rows."""
        return Values.read(y, "y_val")

    def extend(self, more: Target) -> Values:
        """Return these values and, after them, others."""
        return Values(np.concatenate([self.column, more.column]))


Target = Labels | Values
"""An encoded target column: `column` has one number for each row, and `decode` gives back what the user gave."""


def expand_to_classes(columns: Array, known: Array, classes: Array, absent: float) -> Array:
    """Return one column for each class, where a model has columns for its `known` classes only, such as probabilities.

    Both lists of classes are sorted; the columns of the others hold `absent`.
    """
    if len(known) == len(classes):
        return columns
    expanded = np.full((len(columns), len(classes)), absent)
    expanded[:, np.searchsorted(classes, known)] = columns
    return expanded


def read_labels(y: Any, name: str = "y") -> Array:
    """Return labels as an array; raise a ValueError if some are missing, continuous or of mixed types."""
    if isinstance(y, list | tuple):
        # In one array with text, numbers become text and missing values become the word "nan".
        _check_label_types(y, name)
    refuse_several_targets(y, name)
    column: Array = column_or_1d(y, input_name=name, warn=True)
    if not len(column):
        raise ValueError(f"{name} holds no labels; a classifier needs training rows of at least 2 classes.")
    if column.dtype.kind == "O":
        _check_label_types(column, name)
        refuse_label_objects(column, name)
    if column.dtype.kind in "fO":
        assert_all_finite(column, input_name=name)
        check_classification_targets(column)
    return column


def refuse_several_targets(y: Any, name: str) -> None:
    """Raise a `UserInputError` if there are several labels or values for each row."""
    if getattr(getattr(y, "dtype", None), "names", None):
        raise UserInputError(
            f"{name} has the fields {', '.join(y.dtype.names)}; expected one label or value for each row.",
            "Survival analysis is not supported.",
        )
    first = y[0] if isinstance(y, list | tuple) and len(y) else None
    is_nested = isinstance(first, list | tuple | set | np.ndarray)
    shape: Any = (len(y), max(map(len, y))) if is_nested else getattr(y, "shape", ())
    if len(shape) > 1 and shape[1] != 1:
        raise UserInputError(
            f"{name} has the shape {tuple(shape)}; expected one label or value for each row.",
            "Several targets (multi-output, multi-label) are not supported: fit one estimator for each column.",
        )


def refuse_label_objects(labels: Array, name: str) -> None:
    """Raise a `UserInputError` if labels of one type, in an array of objects, are no text, such as Decimal or bytes."""
    if len(labels) and not isinstance(labels[0], str):
        raise UserInputError(
            f"Unknown label type in {name}: {type(labels[0]).__name__}; expected text, numbers, bools or NumPy dates.",
            "Convert them, for example to text.",
        )


def _check_label_types(labels: Iterable[Any], name: str) -> None:
    types = {"str" if isinstance(label, str) else type(label).__name__ for label in labels}
    if any(is_missing(label) for label in labels):
        raise ValueError(
            f"Input {name} contains NaN or None; every row needs a label. "
            "Drop the rows with missing labels, or give them a label of their own."
        )
    if "str" in types and len(types) > 1:
        raise ValueError(
            f"The labels in {name} are of mixed types: {', '.join(sorted(types))}; all labels must be of one type. "
            "Convert them, for example to text."
        )


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT or NA."""
    differs = label is None or label != label
    # Comparing NA with itself gives NA, which is not a boolean.
    return bool(differs) if isinstance(differs, bool | np.bool_) else np.ndim(label) == 0


def count_codes(codes: Array, n_codes: int) -> Array:
    """Return how often each code from 0 to `n_codes - 1` occurs, with little memory for any number of rows."""
    counts = np.zeros(n_codes, dtype=np.intp)
    # With chunks of at least as many rows as codes, adding up counts is no more work than counting.
    size = max(_CHUNK_ROWS, n_codes)
    for start in range(0, len(codes), size):
        # It converts its input to 8 bytes a row.
        counts += np.bincount(codes[start : start + size], minlength=n_codes)
    return counts


def encode_integers(column: Array, max_range: int) -> tuple[Array, Array, Array] | None:
    """Return classes, codes and counts of integers or booleans in a narrow range, with little memory beside the codes.

    None for other labels.
    """
    if column.dtype.kind not in "biu" or not len(column):
        return None
    label_type = column.dtype
    column = column.view(np.uint8) if label_type.kind == "b" else column
    low, high = column.min(), column.max()
    n_offsets = int(high) - int(low) + 1
    if n_offsets > max_range:
        return None
    offsets = np.empty(len(column), dtype=np.min_scalar_type(n_offsets - 1))
    wide = np.uint64 if column.dtype.kind == "u" else np.int64
    np.subtract(column, low, out=offsets, dtype=wide, casting="unsafe")
    counts = count_codes(offsets, n_offsets)
    found = np.flatnonzero(counts)
    if len(found) < n_offsets:
        number_of_offset = np.cumsum(counts > 0) - 1
        for start in range(0, len(offsets), _CHUNK_ROWS):
            # It converts its input to 8 bytes a row.
            chunk = slice(start, start + _CHUNK_ROWS)
            offsets[chunk] = number_of_offset[offsets[chunk]]
    # Narrow integer types may overflow in this sum, and wrap around to the right class.
    return (found.astype(column.dtype) + low).astype(label_type, copy=False), offsets, counts[found]


def refuse_single_class(classes: Array, n_rows: int) -> None:
    """Raise a ValueError if all rows have the same label."""
    if len(classes) < 2:
        raise ValueError(
            f"y holds only one class, {classes[0]!r}, in all of its {n_rows} rows; "
            "a classifier needs at least 2 classes."
        )


def refuse_unknown_labels(labels: list[Any]) -> None:
    """Raise a ValueError if there are labels of validation rows that no training row has."""
    if labels:
        raise ValueError(
            f"y_val holds labels that y does not have: {', '.join(map(repr, labels[:5]))}; no model can learn "
            f"them. Drop these rows of X_val and y_val, or add rows with these labels to X and y."
        )
