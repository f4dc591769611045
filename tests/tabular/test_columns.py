"""Columns become numbers and words, the same way in training and prediction."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.columns import Column, frame_of, kind_of, sort_out

DAY = datetime.date(1970, 1, 2)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array([1, None, 3], pa.int64()), "number", [1, np.nan, 3]),
        (pa.array([1, None, 3], pa.uint8()), "number", [1, np.nan, 3]),
        (pa.array([1.5, np.inf, -np.inf]), "number", [1.5, np.nan, np.nan]),
        (pa.array([1, None, 3]).cast(pa.decimal128(21, 2)), "number", [1, np.nan, 3]),
        (pa.array([2**40, 1, 2**40 + 1]), "number", [2**40, 1, 2**40 + 1]),
        (pa.array([True, None, False]), "truth", [1, np.nan, 0]),
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
    columns, left_out = sort_out(table)

    frame = frame_of(table, columns)

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
def test_words_stay_words(values):
    table = pa.table({"a": values})
    columns, _ = sort_out(table)

    words = frame_of(table, columns)["a"].tolist()

    assert columns == [Column("a", "word", columns[0].type)]
    assert words[0] == "a"
    assert np.isnan(words[1])


def test_numbers_in_a_dictionary_are_declared_to_be_names():
    table = pa.table({"a": pa.array([3, 1, 3]).dictionary_encode()})

    assert frame_of(table, sort_out(table)[0])["a"].tolist() == ["3", "1", "3"]


def test_what_can_not_be_learned_from_is_left_out_with_the_reason():
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

    columns, left_out = sort_out(table)

    assert [column.name for column in columns] == ["kept", "often"]
    assert list(left_out) == ["gone", "void", "list", "id"]
    assert "own" in left_out["id"]
    assert "list" in left_out["list"]


def test_few_words_are_never_taken_for_names_of_rows():
    table = pa.table({"a": [f"{number}" for number in range(100)]})

    assert sort_out(table)[1] == {}


def test_the_same_column_in_other_clothes_is_the_same():
    columns = [Column("n", "number", "int64"), Column("t", "truth", "bool"), Column("w", "word", "string")]
    table = pa.table({"w": [1, 2], "n": ["1.5", None], "t": [1, 0], "more": [0, 0]})

    frame = frame_of(table, columns)

    np.testing.assert_array_equal(frame["n"], [1.5, np.nan])
    assert frame["t"].tolist() == [1, 0]
    assert frame["w"].tolist() == ["1", "2"]


def test_row_numbers_of_pandas_are_left_out():
    table = pa.table({"a": [1, 2], "__index_level_0__": [4, 7]})

    columns, left_out = sort_out(table)

    assert [column.name for column in columns] == ["a"]
    assert left_out == {"__index_level_0__": "row numbers of pandas"}


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
        frame_of(pa.table({"a": given}), [Column("a", "time", str(trained))])


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
    assert frame_of(pa.table({"a": given}), [Column("a", "time", str(trained))])["a"].tolist() == [1]


def test_a_column_of_something_else_is_refused():
    with pytest.raises(UserInputError, match=r"Column 'n' holds string.*trained with int64"):
        frame_of(pa.table({"n": ["many"]}), [Column("n", "number", "int64")])


@pytest.mark.parametrize("kind", ["number", "truth", "time", "word"])
def test_a_column_without_a_type_is_all_missing(kind):
    frame = frame_of(pa.table({"a": pa.nulls(2)}), [Column("a", kind, "int64")])

    assert frame["a"].isna().all()


@pytest.mark.parametrize("type_", [pa.list_(pa.int8()), pa.binary(), pa.struct([("a", pa.int8())]), pa.null()])
def test_what_no_learner_takes_has_no_kind(type_):
    assert kind_of(type_) is None
