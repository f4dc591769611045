"""Rows are selected and joined alike in arrays, sparse matrices and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fitwithin._pools.pool import StackedTable, has_fixed_row_size
from fitwithin._pools.tables import concatenate, convert_arrow, describe_table, is_contiguous, is_frame, take_rows

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


def as_lists(X):
    X = convert_arrow(X)
    if sparse.issparse(X):
        return X.toarray().tolist()
    if isinstance(X, pl.DataFrame):
        return X.rows()
    return X.astype(str).values.tolist() if isinstance(X, pd.DataFrame) else X.tolist()


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [[4, 0, 2], [1, 2, 3], [5], [3, 3]])
def test_rows_are_taken_in_the_order_given(name, rows):
    table = TABLES[name]

    taken = take_rows(table, np.array(rows, dtype=np.int32))

    whole = as_lists(table)
    assert as_lists(taken) == [whole[row] for row in rows]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "arrow"])
def test_concatenated_parts_equal_the_whole_table(name):
    table = TABLES[name]
    parts = [take_rows(table, np.array(rows)) for rows in ([0, 1], [2, 3, 4], [5])]

    whole = concatenate(parts)

    assert type(whole) is type(table)
    assert as_lists(whole) == as_lists(table)


def test_column_types_survive_selecting_and_concatenating():
    parts = [take_rows(FRAME, np.array([0, 2])), take_rows(FRAME, np.array([5]))]

    assert concatenate(parts).dtypes.equals(FRAME.dtypes)


def test_contiguous_rows_of_a_pandas_frame_are_not_copied():
    frame = pd.DataFrame(np.zeros((10, 2)))

    assert np.shares_memory(take_rows(frame, np.arange(2, 7)).values, frame.values)


def test_frames_and_arrays_with_a_fixed_row_size_are_recognized():
    assert [is_frame(table) for table in TABLES.values()] == [False, False, False, False, True, True, True]
    assert [has_fixed_row_size(table) for table in TABLES.values()] == [True, *[False] * 6]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([3, 4, 5], True),
        ([7], True),
        ([0, 2], False),
        ([2, 1], False),
        ([0, 2, 1, 3], False),
        ([4, 4], False),
        ([], False),
    ],
)
def test_rows_are_contiguous_if_each_number_is_one_more_than_the_last(rows, expected):
    assert is_contiguous(np.array(rows, dtype=np.int32)) is expected


@pytest.mark.parametrize("kind", TABLES)
def test_two_tables_are_read_as_one(kind):
    table = TABLES[kind]
    stacked = StackedTable(take_part(table, slice(0, 4)), take_part(table, slice(4, 6)))

    for rows in ([0, 3], [5, 4], [5, 0, 4, 3, 0, 5], [1, 2, 5]):
        assert as_lists(take_rows(stacked, np.array(rows))) == as_lists(take_rows(table, np.array(rows)))
    assert stacked.shape == (6, table.shape[1])


def take_part(table, part):
    if isinstance(table, pa.Table):
        return table.slice(part.start, part.stop - part.start)
    return table.iloc[part] if isinstance(table, pd.DataFrame) else table[part]


def test_rows_of_a_second_array_take_the_type_of_the_first():
    stacked = StackedTable(np.zeros((2, 2), dtype=np.float32), np.ones((2, 2)))

    assert stacked[np.array([2, 3])].dtype == stacked[np.array([0, 3])].dtype == np.float32
    assert has_fixed_row_size(stacked)
    assert not has_fixed_row_size(StackedTable(np.zeros((2, 2)), np.ones((2, 2), dtype=object)))


def test_the_type_of_a_table_has_a_name():
    assert describe_table(NUMBERS) == "a NumPy array"
    assert describe_table(sparse.csr_matrix(NUMBERS)) == "a sparse matrix"
    assert describe_table(FRAME) == "a pandas DataFrame"
