"""Rows with values that a lesson lacks, for learners that cannot predict values that they were not fitted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from fitwithin._core.records import Rows
from fitwithin._pools.tables import is_frame, take_rows

# Rows that are looked at: a value that is there once only is too rare to matter. It takes 50 ms for 20 columns.
_MAX_SAMPLE_ROWS = 20_000
_MAX_CELLS = 1_000_000

_MAX_GROWTH = 2  # rows that are added, for each row of the lesson; more would take longer than a first lesson should


def knows_fitted_values_only(learner: Any) -> bool:
    """Return whether a part of a learner, such as an encoder, raises for a value that it was not fitted on.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> knows_fitted_values_only(OneHotEncoder()), knows_fitted_values_only(OneHotEncoder(handle_unknown="ignore"))
    (True, False)
    """
    parts = learner.get_params(deep=True).values() if hasattr(learner, "get_params") else ()
    return any(getattr(part, "handle_unknown", None) == "error" for part in (learner, *parts))


def count_sample_rows(X: Any) -> int:
    """Return the rows of a table to look at."""
    return min(_MAX_SAMPLE_ROWS, _MAX_CELLS // max(1, int(np.prod(X.shape[1:]))))


def find_missing_values(X: Any, lesson: Rows, sample: Rows) -> Rows:
    """Return rows of a sample with values that are frequent in it and missing in a lesson.

    Parameters
    ----------
    X : array or frame
        The table.
    lesson, sample : array of int
        Row numbers of it. At most twice as many rows are returned as the lesson has.

    Examples
    --------
    >>> X = np.array([["Oslo"], ["Oslo"], ["Lima"], ["Lima"], ["Pune"]])
    >>> find_missing_values(X, np.array([0]), np.array([1, 2, 3, 4])).tolist()
    [2]
    """
    n_lesson = len(lesson)
    row_of_value: list[tuple[int, int]] = []
    for column in list_columns(take_rows(X, np.concatenate([lesson, sample]))):
        known, values = set(column[:n_lesson]), column[n_lesson:]
        first = {value: place for place, value in reversed(list(enumerate(values)))}
        counts = Counter(values)
        row_of_value += [(-count, first[value]) for value, count in counts.items() if count > 1 and value not in known]
    places = [place for _, place in sorted(row_of_value)[: _MAX_GROWTH * n_lesson]]
    return np.unique(sample[places])


def list_columns(X: Any) -> Iterable[list[Hashable]]:
    """Return the values of each column of an array or a frame."""
    if not is_frame(X):
        return (column.tolist() for column in X.T)
    if hasattr(X, "get_columns"):
        return (column.to_list() for column in X.get_columns())
    return (column.tolist() for _, column in X.items())
