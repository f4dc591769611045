"""The target column, and the way back from predictions to its type."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.target_column import predictions_to_arrow, read_target_column

DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]


def column(values, type_=None):
    return pa.chunked_array([pa.array(values, type_)])


@pytest.mark.parametrize(
    "values",
    [
        column(["a", "b"]),
        column(["a", "b"], pa.large_string()),
        column([True, False]),
        column([1, 2], pa.int8()),
        column([1, 2], pa.uint64()),
        column([1.0, 2.0], pa.float32()),
        column(DAYS),
        pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()]),
    ],
    ids=lambda values: str(values.type),
)
def test_classes_of_every_type_come_back_unchanged(values):
    target = read_target_column("y", [values])

    predictions = predictions_to_arrow(target.convert(values), target.type)

    assert target.task == "classification"
    assert predictions.to_pylist() == values.to_pylist()
    assert str(predictions.type) == target.type


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (column(np.arange(100)), "classification"),
        (column(np.arange(101)), "regression"),
        (column([0.5, 1.0]), "regression"),
        (column([0.0, 1.0]), "classification"),
        (column(["x"] * 5 + ["y"]), "classification"),
    ],
)
def test_the_default_task_follows_from_the_values(values, task):
    assert read_target_column("y", [values]).task == task


def test_the_users_task_overrides_the_default():
    assert read_target_column("y", [column([1, 2, 3])], "regression").values.dtype == np.float64
    assert read_target_column("y", [column(np.arange(500))], "classification").values.dtype.kind == "i"


def test_rows_without_a_value_are_marked():
    target = read_target_column("y", [column(["a", None, "b"])])

    assert (target.n_rows, target.n_missing) == (2, 1)
    assert target.values.tolist() == ["a", "b"]


def test_a_missing_value_may_be_a_category():
    categories = pa.DictionaryArray.from_arrays([0, 1, 2, 0], ["yes", None, "no"])

    target = read_target_column("y", [pa.chunked_array([categories])])

    assert (target.values.tolist(), target.counts.tolist()) == (["no", "yes"], [1, 2])
    assert (target.n_rows, target.n_missing) == (3, 1)


@pytest.mark.parametrize(
    ("values", "task", "why"),
    [
        (column(["a", "a", None]), None, "one value only, 'a'"),
        (column([None, None], pa.string()), None, "no values at all"),
        (column([], pa.string()), None, "no rows"),
        (column([[1], [2]]), None, "holds list"),
        (column(["a", "b"]), "regression", "are numbers"),
        (column([0.5, 1.5]), "classification", "holds fractions"),
        (column([0.5, np.inf]), "regression", "infinite"),
        (column([f"name {number}" for number in range(50_000)]), None, "50,000 different values in 50,000 rows"),
        (column(np.arange(5_000)), "classification", "--task regression"),
    ],
)
def test_an_unusable_target_is_refused(values, task, why):
    with pytest.raises(UserInputError) as caught:
        read_target_column("y", [values], task)

    assert why in str(caught.value)
    assert caught.value.hint


def test_many_classes_can_be_allowed():
    assert (
        len(read_target_column("y", [column([str(number) for number in range(2_000)])], max_classes=2_000).values)
        == 2_000
    )


def test_labels_of_another_file_are_converted_to_the_type_in_training():
    numbers, booleans = read_target_column("y", [column([1, 2])]), read_target_column("y", [column([True, False])])
    values = read_target_column("y", [column([1.5, 2.5])])

    assert numbers.convert(column(["1", "2"])).tolist() == [1, 2]
    assert booleans.convert(column(["true"])).tolist() == [True]
    assert values.convert(column([1, 2])).tolist() == [1.0, 2.0]
    with pytest.raises(UserInputError, match="trained with int64"):
        numbers.convert(column(["a"]))
