"""What is to be learned: class labels as small numbers, or values as they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

Array = npt.NDArray[Any]


class Target(Protocol):
    """A column of y, and how to read it."""

    @property
    def column(self) -> Array:
        """What travels: one number for each row."""
        ...

    def decode(self, column: Array) -> Array:
        """The user's y, from a part of the column."""
        ...

    def without_rows(self) -> Target:
        """The same without its rows: how to decode, to be sent elsewhere."""
        ...


@dataclass(frozen=True, eq=False)
class Labels:
    """Class labels as small numbers.

    Parameters
    ----------
    classes : array
        The distinct labels, sorted.
    codes : array of unsigned int
        For each row the position of its label in `classes`.
    counts : array of int
        Rows of each class.

    Examples
    --------
    >>> labels = Labels.encode(["no", "yes", "no"])
    >>> labels.codes
    array([0, 1, 0], dtype=uint8)
    >>> labels.classes.tolist()
    ['no', 'yes']
    >>> labels.counts
    array([2, 1])
    """

    classes: Array
    codes: Array
    counts: Array

    @property
    def column(self) -> Array:
        """What travels: a small number for each row."""
        return self.codes

    def decode(self, column: Array) -> Array:
        """The user's labels, from a part of the column."""
        return self.classes[column]

    def without_rows(self) -> Labels:
        """The classes alone."""
        return Labels(self.classes, self.codes[:0], np.zeros_like(self.counts))

    @classmethod
    def encode(cls, y: Any) -> Labels:
        """Read a user's labels.

        Raises
        ------
        ValueError
            If there are gaps, continuous values, labels of mixed types, or one class only.
        """
        if isinstance(y, list | tuple):
            # In an array of both, numbers beside text turn into text, and gaps into the word "nan".
            _check_objects(y)
        column = _checked(column_or_1d(y, warn=True))
        classes, codes, counts = _small_integers(column) or np.unique(column, return_inverse=True, return_counts=True)
        if len(classes) < 2:
            raise ValueError(
                f"A classifier needs rows of at least 2 classes; y holds only one class, {classes[0]!r}, "
                f"in all of its {len(column)} rows."
            )
        return cls(classes, codes.astype(np.min_scalar_type(len(classes) - 1), copy=False), counts)


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers to be predicted.

    Parameters
    ----------
    column : array of float
        One for each row.

    Examples
    --------
    >>> Values.read([1, 2.5]).column
    array([1. , 2.5])
    """

    column: Array

    @classmethod
    def read(cls, y: Any) -> Values:
        """Read a user's values.

        Raises
        ------
        ValueError
            If there are gaps, or anything but numbers.
        """
        column = column_or_1d(y, warn=True)
        if column.dtype.kind not in "fiub":
            column = column.astype(np.float64)
        assert_all_finite(column, input_name="y")
        if not len(column):
            raise ValueError("y holds no values: a regressor needs rows to learn from.")
        return cls(column)

    def decode(self, column: Array) -> Array:
        """The values, as they are."""
        return column

    def without_rows(self) -> Values:
        """Nothing but the type."""
        return Values(self.column[:0])


def _checked(column: Array) -> Array:
    if not len(column):
        raise ValueError("y holds no labels: a classifier needs rows to learn from.")
    if column.dtype.kind == "O":
        _check_objects(column)
    if column.dtype.kind in "fO":
        assert_all_finite(column, input_name="y")
        check_classification_targets(column)
    return column


def _check_objects(labels: Iterable[Any]) -> None:
    kinds = {"str" if isinstance(label, str) else type(label).__name__ for label in labels}
    if any(_is_gap(label) for label in labels):
        raise ValueError("Input y contains NaN or None: drop these rows, or give them a label of their own.")
    if "str" in kinds and len(kinds) > 1:
        raise ValueError(f"The labels in y are of mixed types: {', '.join(sorted(kinds))}; make them all of one type.")


def _is_gap(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or NA, which is not even comparable with itself."""
    differs = label is None or label != label
    return bool(differs) if isinstance(differs, bool | np.bool_) else np.ndim(label) == 0


def _small_integers(column: Array) -> tuple[Array, Array, Array] | None:
    """Classes, codes and counts in two linear passes, where labels are integers in a narrow range."""
    if column.dtype.kind not in "iu" or not len(column):
        return None
    low, high = int(column.min()), int(column.max())
    if high - low >= 1 << 16:
        return None
    least = column.dtype.type(low)
    offsets = np.subtract(column, least, dtype=np.uint64 if column.dtype.kind == "u" else np.int64) if low else column
    offsets = offsets.astype(np.intp, copy=False)
    counts = np.bincount(offsets, minlength=high - low + 1)
    present = counts > 0
    table = np.cumsum(present, dtype=np.uint32) - 1
    # Narrow integers may wrap around here, and come out right.
    return np.flatnonzero(present).astype(column.dtype) + least, table[offsets], counts[present]
