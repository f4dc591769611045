"""Rows of whatever holds rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fitwithin._core.tables import as_learned, concatenate, is_frame, is_plain, take

NUMBERS = np.arange(12.0).reshape(6, 2)
FRAME = pd.DataFrame(
    {
        "number": np.arange(6.0),
        "kind": pd.Categorical(["a", "b", "a", "c", "b", "a"]),
        "word": ["x", None, "y", "z", "x", "w"],
        "day": pd.date_range("2026-01-01", periods=6),
        "maybe": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
    }
)
TABLES = {
    "array": NUMBERS,
    "objects": NUMBERS.astype(object),
    "csr matrix": sparse.csr_matrix(NUMBERS),
    "csr array": sparse.csr_array(NUMBERS),
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
}


def plain(X):
    X = as_learned(X)
    if sparse.issparse(X):
        return X.toarray().tolist()
    if isinstance(X, pl.DataFrame):
        return X.rows()
    return X.astype(str).values.tolist() if isinstance(X, pd.DataFrame) else X.tolist()


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [[4, 0, 2], [1, 2, 3], [5], [3, 3]])
def test_take_gives_these_rows_in_their_order(name, rows):
    table = TABLES[name]

    taken = take(table, np.array(rows, dtype=np.int32))

    whole = plain(table)
    assert plain(taken) == [whole[row] for row in rows]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "arrow"])
def test_parts_put_together_are_the_whole(name):
    table = TABLES[name]
    parts = [take(table, np.array(rows)) for rows in ([0, 1], [2, 3, 4], [5])]

    whole = concatenate(parts)

    assert type(whole) is type(table)
    assert plain(whole) == plain(table)


def test_types_survive_taking_and_putting_together():
    parts = [take(FRAME, np.array([0, 2])), take(FRAME, np.array([5]))]

    assert concatenate(parts).dtypes.equals(FRAME.dtypes)


def test_side_by_side_rows_of_a_frame_are_not_copied():
    frame = pd.DataFrame(np.zeros((10, 2)))

    assert np.shares_memory(take(frame, np.arange(2, 7)).values, frame.values)


def test_kinds_are_told_apart():
    assert [is_frame(table) for table in TABLES.values()] == [False, False, False, False, True, True, True]
    assert [is_plain(table) for table in TABLES.values()] == [True, *[False] * 6]
