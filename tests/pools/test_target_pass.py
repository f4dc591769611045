"""The pass over the target of a data set on disk."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Labels, Values
from fitwithin._pools.sources.opening import open_source
from fitwithin._pools.target_pass import encode_labels, read_target

label_columns = st.one_of(
    st.lists(st.integers(-(2**62), 2**62), min_size=1),
    st.lists(st.integers(3, 9), min_size=1),
    st.lists(st.text(max_size=3), min_size=1),
    st.lists(st.booleans(), min_size=1),
)


def a_source(tmp_path, label, *, block_rows=2, weight=None):
    columns = {"x": pa.array(np.arange(len(label), dtype=np.float32)), "label": pa.array(label)}
    columns |= {} if weight is None else {"w": pa.array(weight)}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=block_rows)
    return open_source(tmp_path / "rows.parquet", "label", None if weight is None else "w")


@given(label_columns)
@settings(deadline=None)
def test_labels_of_every_type_are_encoded(labels):
    classes, codes = encode_labels(pa.chunked_array([labels]), "label")

    assert classes[codes].tolist() == labels


@pytest.mark.parametrize("labels", [[7, 5, 7, 9, 5], ["b", "a", "b", "ö", "a"], [True, False, True, True, False]])
def test_classes_are_those_of_the_column_in_memory(tmp_path, labels):
    found = read_target(a_source(tmp_path, labels), regression=False)
    expected = Labels.encode(np.array(labels, dtype=object if isinstance(labels[0], str) else None))

    assert isinstance(found.target, Labels)
    assert found.target.classes.tolist() == expected.classes.tolist()
    assert found.target.classes.dtype == expected.classes.dtype
    assert found.target.counts.tolist() == expected.counts.tolist()
    assert found.target.codes.tolist() == expected.codes.tolist()
    assert found.block_rows.tolist() == [2, 2, 1]
    assert found.count_cells().sum(axis=(1, 2)).tolist() == [2, 2, 1]


def test_many_classes_are_encoded_without_counts_by_block(tmp_path):
    labels = [f"label {number % 300}" for number in range(900)]
    found = read_target(a_source(tmp_path, labels, block_rows=100), regression=False)

    assert [found.target.decode(codes).tolist() for codes in found.split(found.target.codes)] == [
        labels[start : start + 100] for start in range(0, 900, 100)
    ]
    assert found.count_cells()[:, :, 0].tolist() == [[100]] * 9
    assert set(found.target.counts.tolist()) == {3}


def test_values_keep_their_type_and_nothing_else(tmp_path):
    found = read_target(a_source(tmp_path, np.arange(5, dtype=np.float32)), regression=True)

    assert found.target.column.dtype == np.float32
    assert not len(found.target.column)


@pytest.mark.parametrize("regression", [True, False])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_target_is_an_error_that_names_the_column(tmp_path, regression, missing):
    source = a_source(tmp_path, pa.array([1.0, 2.0, missing, 1.0]))
    with pytest.raises(UserInputError, match="'label' has missing values"):
        read_target(source, regression=regression)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([1, 1, 1], "only one class, 1|only one class, np.int64"), ([0.5, 1.5, 2.5], "[Uu]nknown label type")],
)
def test_labels_that_are_no_classes_are_an_error(tmp_path, labels, message):
    with pytest.raises(ValueError, match=message):
        read_target(a_source(tmp_path, labels), regression=False)


@pytest.mark.parametrize(("weight", "message"), [([0.0, 0.0], "sum to zero"), ([1.0, None], "'w' has missing")])
def test_weights_must_be_there_and_greater_than_zero(tmp_path, weight, message):
    with pytest.raises(UserInputError, match=message):
        read_target(a_source(tmp_path, [0, 1], weight=weight), regression=False)


@pytest.mark.parametrize("regression", [True, False])
def test_an_infinite_target_is_not_called_missing(tmp_path, regression):
    with pytest.raises(UserInputError, match="'label' has infinite values, at least 1"):
        read_target(a_source(tmp_path, [1.0, 2.0, float("inf"), 1.0]), regression=regression)


@pytest.mark.parametrize(
    ("label", "kind", "message"),
    [
        ([1], pa.list_(pa.int64()), "The column 'label' holds list<.*, not one label for each row"),
        ({"a": 1}, pa.struct([("a", pa.int64())]), "The column 'label' holds struct<.*, not one label for each row"),
        (
            decimal.Decimal(1),
            pa.decimal128(5, 2),
            "in the column 'label': Decimal; expected text, numbers",
        ),
        (b"a", pa.binary(), "in the column 'label': bytes; expected text, numbers"),
        (datetime.time(1), pa.time64("us"), "in the column 'label': time; expected text, numbers"),
    ],
)
def test_a_column_type_that_cannot_be_labels_is_named(tmp_path, label, kind, message):
    with pytest.raises(UserInputError, match=message):
        read_target(a_source(tmp_path, pa.array([label] * 4, kind)), regression=False)


@pytest.mark.parametrize("column_types", ["same", "null"])
@pytest.mark.parametrize(
    "labels", [[0, 1], ["a", "b"], [0.5, 1.5], [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]]
)
def test_a_file_without_rows_adds_nothing_to_its_folder(tmp_path, labels, column_types):
    rows = pa.table({"x": pa.array(np.zeros(100)), "label": pa.array(labels * 50)})
    nothing = pa.table({name: pa.nulls(0) for name in rows.column_names}) if column_types == "null" else rows[:0]
    pq.write_table(nothing, tmp_path / "a.parquet")
    pq.write_table(rows, tmp_path / "b.parquet")

    found = read_target(open_source(tmp_path, "label"), regression=isinstance(labels[0], float))

    assert found.block_rows.sum() == 100
    assert isinstance(found.target, Values) or found.target.counts.tolist() == [50, 50]


def test_text_is_no_target_of_a_regressor(tmp_path):
    with pytest.raises(UserInputError, match=r"'label' holds .*string, not numbers"):
        read_target(a_source(tmp_path, ["a", "b"]), regression=True)


def test_an_error_names_the_file_the_column_and_what_to_do(tmp_path):
    for name, labels in (("a", ["yes", "no"]), ("b", ["yes", None])):
        pq.write_table(pa.table({"x": [0.0, 1.0], "label": pa.array(labels)}), tmp_path / f"{name}.parquet")

    with pytest.raises(UserInputError, match=r"b\.parquet: The column 'label' has missing values.* Drop these rows"):
        read_target(open_source(tmp_path, "label"), regression=False)
