"""Columns become numbers and text, the same way in training and prediction."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.columns import FeatureColumn, column_kind, select_columns, to_frame

DAY = datetime.date(1970, 1, 2)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array([1, None, 3], pa.int64()), "number", [1, np.nan, 3]),
        (pa.array([1, None, 3], pa.uint8()), "number", [1, np.nan, 3]),
        (pa.array([1.5, np.inf, -np.inf]), "number", [1.5, np.nan, np.nan]),
        (pa.array([1, None, 3]).cast(pa.decimal128(21, 2)), "number", [1, np.nan, 3]),
        (pa.array([2**40, 1, 2**40 + 1]), "number", [2**40, 1, 2**40 + 1]),
        (pa.array([True, None, False]), "boolean", [1, np.nan, 0]),
        (pa.array([DAY, None, DAY]), "time", [86_400, np.nan, 86_400]),
        (pa.array([1, None, 2], pa.timestamp("ns")), "time", [0, np.nan, 0]),
        (pa.array([1, None, 2], pa.timestamp("s", tz="UTC")), "time", [1, np.nan, 2]),
        (pa.array([1, None, 2], pa.time32("s")), "time", [1, np.nan, 2]),
        (pa.array([1, None, 2], pa.duration("ms")), "time", [0.001, np.nan, 0.002]),
    ],
    ids=str,
)
def test_columns_become_numbers(values, kind, expected):
    table = pa.table({"a": values})
    columns, left_out = select_columns(table)

    frame = to_frame(table, columns)

    assert not left_out
    assert columns[0].kind == kind
    np.testing.assert_array_equal(frame["a"].to_numpy(), expected)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "b"]),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"]).dictionary_encode(),
    ],
    ids=str,
)
def test_text_stays_text(values):
    table = pa.table({"a": values})
    columns, _ = select_columns(table)

    text = to_frame(table, columns)["a"].tolist()

    assert columns == [FeatureColumn("a", "text", columns[0].type)]
    assert text[0] == "a"
    assert np.isnan(text[1])


def test_numbers_in_a_dictionary_are_categories():
    table = pa.table({"a": pa.array([3, 1, 3]).dictionary_encode()})

    assert to_frame(table, select_columns(table)[0])["a"].tolist() == ["3", "1", "3"]


def test_unusable_columns_are_left_out_with_the_reason():
    rows = 1000
    table = pa.table(
        {
            "kept": np.arange(rows),
            "gone": pa.nulls(rows, pa.float64()),
            "void": pa.nulls(rows),
            "list": [[1]] * rows,
            "id": [f"row {number}" for number in range(rows)],
            "often": [f"group {number % 200}" for number in range(rows)],
        }
    )

    columns, left_out = select_columns(table)

    assert [column.name for column in columns] == ["kept", "often"]
    assert list(left_out) == ["gone", "void", "list", "id"]
    assert "nearly every row" in left_out["id"]
    assert "list" in left_out["list"]


def test_few_categories_are_never_taken_for_row_identifiers():
    table = pa.table({"a": [f"{number}" for number in range(100)]})

    assert select_columns(table)[1] == {}


def test_a_column_of_another_type_is_converted():
    columns = [
        FeatureColumn("n", "number", "int64"),
        FeatureColumn("t", "boolean", "bool"),
        FeatureColumn("c", "text", "string"),
    ]
    table = pa.table({"c": [1, 2], "n": ["1.5", None], "t": [1, 0], "more": [0, 0]})

    frame = to_frame(table, columns)

    np.testing.assert_array_equal(frame["n"], [1.5, np.nan])
    assert frame["t"].tolist() == [1, 0]
    assert frame["c"].tolist() == ["1", "2"]


def test_the_index_of_pandas_is_left_out():
    table = pa.table({"a": [1, 2], "__index_level_0__": [4, 7]})

    columns, left_out = select_columns(table)

    assert [column.name for column in columns] == ["a"]
    assert left_out == {"__index_level_0__": "index of pandas"}


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        (pa.timestamp("us"), pa.array([1_600_000_000])),
        (pa.date32(), pa.array([1], pa.time32("s"))),
        (pa.time64("us"), pa.array([1], pa.timestamp("s"))),
        (pa.duration("s"), pa.array([1], pa.time32("s"))),
        (pa.timestamp("us"), pa.array([0.5])),
    ],
    ids=str,
)
def test_a_time_of_another_kind_is_refused(trained, given):
    with pytest.raises(UserInputError, match="another kind of time"):
        to_frame(pa.table({"a": given}), [FeatureColumn("a", "time", str(trained))])


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        (pa.timestamp("us", tz="UTC"), pa.array([1], pa.timestamp("s", tz="Europe/Oslo"))),
        (pa.date32(), pa.array([1], pa.timestamp("s"))),
        (pa.time32("s"), pa.array([1_000_000], pa.time64("us"))),
        (pa.timestamp("us"), pa.array(["1970-01-01T00:00:01"])),
    ],
    ids=str,
)
def test_a_time_of_the_same_kind_is_the_same_second(trained, given):
    assert to_frame(pa.table({"a": given}), [FeatureColumn("a", "time", str(trained))])["a"].tolist() == [1]


def test_a_column_that_can_not_be_converted_is_refused():
    with pytest.raises(UserInputError, match=r"Column 'n' holds string.*trained with int64"):
        to_frame(pa.table({"n": ["many"]}), [FeatureColumn("n", "number", "int64")])


@pytest.mark.parametrize("kind", ["number", "boolean", "time", "text"])
def test_a_column_without_a_type_is_all_missing(kind):
    frame = to_frame(pa.table({"a": pa.nulls(2)}), [FeatureColumn("a", kind, "int64")])

    assert frame["a"].isna().all()


@pytest.mark.parametrize("type_", [pa.list_(pa.int8()), pa.binary(), pa.struct([("a", pa.int8())]), pa.null()])
def test_types_that_no_learner_takes_have_no_kind(type_):
    assert column_kind(type_) is None
