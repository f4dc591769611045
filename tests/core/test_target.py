"""Targets are encoded, and unusable ones refused."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from fitwithin._core import target
from fitwithin._core.target import Labels, Values


def decode_all(labels):
    return labels.classes[labels.codes]


@pytest.mark.parametrize(
    "y",
    [
        [3, 1, 3, 2],
        [0, 1, 1, 0],
        [-5, 7, -5, 0],
        [1, 70_000, 1],
        [-(2**40), 2**40],
        np.array([255, 0, 7, 255], dtype=np.uint8),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([2**63 + 1, 2**63 + 3, 2**63 + 1], dtype=np.uint64),
        np.array([-(2**63), -(2**63) + 4], dtype=np.int64),
        [True, False, True],
        ["no", "yes", "no"],
        np.array(["b", "a", "b"], dtype=object),
        [2.0, 0.0, 2.0],
        np.array([1.0, -1.0, 1.0], dtype=np.float32),
        np.array([b"x", b"y"]),
        pd.Series(["b", "a", "b"], index=[7, 8, 9]),
        pd.Series(["b", "a", "b"], dtype="category"),
    ],
    ids=lambda y: np.asarray(y).dtype.name,
)
def test_labels_are_encoded_as_sorted_classes_codes_and_counts(y):
    column = np.asarray(y)
    classes, codes, counts = np.unique(column, return_inverse=True, return_counts=True)

    labels = Labels.encode(y)

    assert labels.classes.tolist() == classes.tolist()
    assert labels.codes.tolist() == codes.tolist()
    assert labels.counts.tolist() == counts.tolist()
    assert labels.classes.dtype == column.dtype


@pytest.mark.parametrize(("classes", "dtype"), [(2, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)])
def test_codes_use_the_smallest_type_that_holds_all_classes(classes, dtype):
    assert Labels.encode(np.arange(classes)).codes.dtype == dtype


@pytest.mark.parametrize("y", [[1, 1, 1], ["a", "a"], [2.0, 2.0], [True], np.zeros(4, dtype=np.uint8)])
def test_a_single_class_is_refused_by_name(y):
    with pytest.raises(ValueError, match="class") as caught:
        Labels.encode(y)

    assert repr(np.unique(y)[0]) in str(caught.value)


@pytest.mark.parametrize("y", [[], np.array([], dtype=int), np.array([], dtype="U1")], ids=["list", "int", "str"])
def test_empty_labels_are_refused(y):
    with pytest.raises(ValueError, match="class"):
        Labels.encode(y)


@pytest.mark.parametrize(
    "y",
    [
        [0.0, float("nan"), 1.0],
        [0, None, 1],
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        np.array(["a", float("nan"), "b"], dtype=object),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series(["a", pd.NA, "b"], dtype=object),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
    ],
    ids=[
        "NaN among floats",
        "None among ints",
        "None among strings",
        "NaN in a list of strings",
        "NaN among objects",
        "pandas strings",
        "pandas NA among strings",
        "pandas NA among objects",
        "pandas NA among ints",
        "pandas categories",
    ],
)
def test_missing_values_are_refused(y):
    with pytest.raises(ValueError, match=r"NaN|None|missing"):
        Labels.encode(y)


@pytest.mark.parametrize(
    "y",
    [
        [1, "a", 1],
        [True, "a", True],
        [1.0, "a"],
        np.array([1, "a", 1], dtype=object),
        np.array(["a", 2.5], dtype=object),
        np.array(["a", b"a"], dtype=object),
    ],
    ids=["ints in a list", "bools in a list", "floats in a list", "ints", "floats", "bytes"],
)
def test_labels_of_mixed_types_are_refused(y):
    with pytest.raises(ValueError, match="mixed"):
        Labels.encode(y)


def test_python_and_numpy_strings_count_as_one_type():
    labels = Labels.encode(np.array(["a", np.str_("b"), "a"], dtype=object))

    assert labels.codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize("y", [[0.5, 1.0, 2.25], np.linspace(0, 1, 20)], ids=["a few", "evenly spaced"])
def test_continuous_values_are_refused(y):
    with pytest.raises(ValueError, match="continuous"):
        Labels.encode(y)


def test_infinite_labels_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        Labels.encode([0.0, float("inf")])


def test_several_columns_of_labels_are_refused():
    with pytest.raises(ValueError, match="Several targets"):
        Labels.encode([[1, 2], [2, 1]])


def test_a_single_column_of_labels_is_read_with_a_warning():
    with pytest.warns(DataConversionWarning):
        labels = Labels.encode([[1], [2], [1]])

    assert labels.codes.tolist() == [0, 1, 0]


integer_dtypes = st.sampled_from([np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])


@st.composite
def integer_columns(draw):
    """Integers of any type, from a narrow or the full range of that type."""
    dtype = draw(integer_dtypes)
    limits = np.iinfo(dtype)
    low = draw(st.integers(limits.min, limits.max))
    high = draw(st.just(limits.max) | st.integers(low, min(low + 300, limits.max)))
    return np.array(draw(st.lists(st.integers(low, high), min_size=2, max_size=50)), dtype=dtype)


columns = st.one_of(
    integer_columns(),
    st.lists(st.booleans(), min_size=2).map(np.array),
    st.lists(st.text(alphabet="abcé", max_size=3), min_size=2).map(np.array),
    # Each label comes twice: scikit-learn warns if most labels are unique.
    st.lists(st.text(alphabet="abcé", max_size=3), min_size=1).map(lambda y: np.array(2 * y, dtype=object)),
    st.lists(st.integers(-5, 5).map(float), min_size=1).map(lambda y: np.array(2 * y)),
)


@given(columns)
def test_encoding_agrees_with_numpys_unique(column):
    classes, codes = np.unique(column, return_inverse=True)
    if len(classes) < 2:
        with pytest.raises(ValueError, match="class"):
            Labels.encode(column)
        return

    labels = Labels.encode(column)

    assert labels.classes.tolist() == classes.tolist()
    assert labels.codes.tolist() == codes.tolist()
    assert decode_all(labels).tolist() == column.tolist()


@given(columns, st.integers(1, 5))
def test_encoding_in_several_chunks_agrees_too(column, chunk_rows):
    assume(len(np.unique(column)) > 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, "_CHUNK_ROWS", chunk_rows)
        labels = Labels.encode(column)

    assert decode_all(labels).tolist() == column.tolist()
    assert labels.counts.tolist() == np.unique(column, return_counts=True)[1].tolist()


@given(st.lists(st.integers(0, 9)), st.integers(10, 20))
def test_codes_are_counted_as_numpy_does(codes, n_codes):
    codes = np.array(codes, dtype=np.uint8)

    assert target.count_codes(codes, n_codes).tolist() == np.bincount(codes, minlength=n_codes).tolist()


@pytest.mark.parametrize("convert", [np.int64, np.int8, np.bool_, lambda y: 3 * y + 5])
def test_encoding_integers_takes_little_memory_beside_the_codes(convert):
    y = convert(np.random.default_rng(0).integers(2, size=3_000_000))
    tracemalloc.start()
    try:
        labels = Labels.encode(y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert labels.codes.nbytes == 3_000_000
    # Labels with gaps between them need the codes twice for a moment.
    assert peak < 3_000_000 * (2 if len(labels.classes) == 2 and labels.classes[0] == 5 else 1) + 1_500_000


def test_added_rows_are_counted_with_the_others():
    labels = Labels.encode(["a", "b", "a"])

    both = labels.extend(labels.read_more(["b", "b"]))

    assert both.codes.tolist() == [0, 1, 0, 1, 1]
    assert both.counts.tolist() == [2, 3]


def test_values_are_read_as_numbers():
    assert Values.read([1, 2.5]).column.tolist() == [1.0, 2.5]
    assert Values.read(np.array([3, 4], dtype=np.int16)).column.dtype == np.int16
    assert Values.read(np.array(["1.5", "2"], dtype=object)).column.tolist() == [1.5, 2.0]


@pytest.mark.parametrize("y", [[1.0, np.nan], [np.inf, 1.0], ["a", "b"], []])
def test_values_that_are_not_finite_numbers_are_refused(y):
    with pytest.raises(ValueError, match=r"NaN|infinity|could not convert|no values"):
        Values.read(y)


def test_a_target_without_rows_still_decodes():
    labels, values = Labels.encode(["a", "b"]), Values.read([1.0, 2.0])

    assert labels.with_column(labels.codes[:0]).decode(np.array([1, 0])).tolist() == ["b", "a"]
    assert values.with_column(values.column[:0]).decode(np.array([5.0])).tolist() == [5.0]
