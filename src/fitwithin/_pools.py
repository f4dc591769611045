"""The labelled rows that are at hand, by row number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from ._messages import Rows

Array = npt.NDArray[Any]


class Pool(Protocol):
    """Rows by number. A pool hands out copies of the rows that are asked for and nothing else."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def features(self, rows: Rows) -> Any:
        """These rows, as the learner wants them."""
        ...

    def labels(self, rows: Rows) -> Any:
        """The labels of these rows, as the user gave them."""
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

    Examples
    --------
    >>> labels = Labels.encode(["no", "yes", "no"])
    >>> labels.codes
    array([0, 1, 0], dtype=uint8)
    >>> labels.classes.tolist()
    ['no', 'yes']
    """

    classes: Array
    codes: Array

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
        classes, codes = _small_integers(column) or np.unique(column, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"A classifier needs rows of at least 2 classes; y holds only one class, {classes[0]!r}, "
                f"in all of its {len(column)} rows."
            )
        return cls(classes, codes.astype(np.min_scalar_type(len(classes) - 1), copy=False))


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


def _small_integers(column: Array) -> tuple[Array, Array] | None:
    """Classes and codes in two linear passes, where labels are integers in a narrow range."""
    if column.dtype.kind not in "iu" or not len(column):
        return None
    low, high = int(column.min()), int(column.max())
    if high - low >= 1 << 16:
        return None
    least = column.dtype.type(low)
    offsets = np.subtract(column, least, dtype=np.uint64 if column.dtype.kind == "u" else np.int64) if low else column
    offsets = offsets.astype(np.intp, copy=False)
    present = np.bincount(offsets, minlength=high - low + 1) > 0
    table = np.cumsum(present, dtype=np.uint32) - 1
    # Narrow integers may wrap around here, and come out right.
    return np.flatnonzero(present).astype(column.dtype) + least, table[offsets]


class ArrayPool:
    """Rows of an array in memory, or of a `numpy.memmap`.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The features; never copied whole.
    y : Labels
        The labels.

    Examples
    --------
    >>> import numpy as np
    >>> pool = ArrayPool(np.arange(6.0).reshape(3, 2), Labels.encode([5, 6, 5]))
    >>> pool.features(np.array([2, 0]))
    array([[4., 5.],
           [0., 1.]])
    >>> pool.labels(np.array([2, 1]))
    array([5, 6])
    """

    def __init__(self, X: Array, y: Labels) -> None:
        self.X = X
        self.y = y

    def __len__(self) -> int:
        return len(self.X)

    def features(self, rows: Rows) -> Array:
        """These rows of X, as a copy."""
        return self.X[rows]

    def labels(self, rows: Rows) -> Array:
        """The labels of these rows, as a copy."""
        return self.y.classes[self.y.codes[rows]]
