"""The paper's preprocessing."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from fitwithin_paper.study.paper_datasets import PAPER_DATASETS, TrainTestSplit
from fitwithin_paper.study.preprocessing import prepare_dataset
from fitwithin_paper.study.raw_dataset import DatasetUnavailable, RawDataset


def table(X, y, **details):
    return RawDataset("made", pd.DataFrame(X), pd.Series(y), "the test", **details)


@pytest.fixture
def iris():
    X, y = load_iris(as_frame=True, return_X_y=True)
    return RawDataset("iris", X, y, "scikit-learn")


@pytest.fixture
def numbered():
    """A thousand rows that carry their own number, in a column that is left alone but for its scale."""
    return table({"row": np.arange(1000.0)}, np.repeat([0, 1, 2], [700, 290, 10]))


def rows_of(prepared):
    """The numbers of the rows of both parts, from the one column of the table `numbered`."""
    order = np.argsort(np.argsort(np.concatenate([prepared.X_train[:, 0], prepared.X_test[:, 0]])))
    return order[: len(prepared.y_train)], order[len(prepared.y_train) :]


def test_seven_tenths_of_the_rows_are_training_rows_and_classes_keep_their_shares(numbered):
    prepared = prepare_dataset(numbered)

    assert np.bincount(prepared.y_train).tolist() == [490, 203, 7]
    assert np.bincount(prepared.y_test).tolist() == [210, 87, 3]


def test_every_row_is_in_one_part_with_its_own_class(numbered):
    prepared = prepare_dataset(numbered)

    train, test = rows_of(prepared)
    assert sorted([*train, *test]) == list(range(1000))
    assert (np.asarray(numbered.y)[train] == prepared.y_train).all()
    assert (np.asarray(numbered.y)[test] == prepared.y_test).all()


def test_the_seed_decides_the_shuffle(numbered):
    first, again, other = (rows_of(prepare_dataset(numbered, seed=seed)) for seed in (0, 0, 1))

    assert (first[0] == again[0]).all()
    assert (first[1] == again[1]).all()
    assert (first[0] != other[0]).any()
    assert (np.diff(first[0]) != 1).any()


@pytest.mark.parametrize("train_first", [True, False])
def test_a_published_split_is_kept_and_each_part_is_shuffled(numbered, train_first):
    cut = RawDataset("made", numbered.X, numbered.y, "", TrainTestSplit(cut=400, train_first=train_first))

    train, test = rows_of(prepare_dataset(cut))

    before, after = (train, test) if train_first else (test, train)
    assert sorted(before) == list(range(400))
    assert sorted(after) == list(range(400, 1000))
    assert (before != np.sort(before)).any()


def test_a_class_of_one_row_is_used_for_training():
    prepared = prepare_dataset(table({"x": np.arange(21.0)}, [*"ab" * 10, "alone"]))

    assert "alone" in {prepared.classes[code] for code in prepared.y_train}
    assert "alone" not in {prepared.classes[code] for code in prepared.y_test}


@pytest.mark.parametrize(("scale", "train", "test"), [(0.1, [49, 20, 2], [21, 9, 2]), (0.05, [24, 10, 2], [10, 4, 2])])
def test_a_scale_keeps_that_share_of_both_parts_and_two_of_each_class(numbered, scale, train, test):
    prepared = prepare_dataset(numbered, scale=scale)

    assert np.bincount(prepared.y_train).tolist() == train
    assert np.bincount(prepared.y_test).tolist() == test


def test_a_scaled_set_is_part_of_the_whole_in_the_same_order():
    named = table({"row": [f"{row:03}" for row in range(1000)]}, [0, 1] * 500)
    whole, part = (prepare_dataset(named, scale=scale) for scale in (1.0, 0.5))

    rows, kept = whole.X_train.indices, part.X_train.indices  # of the one-hot column that is not zero

    assert len(kept) == 350
    assert rows[np.isin(rows, kept)].tolist() == kept.tolist()


@pytest.mark.parametrize("scale", [0, -0.5, 1.5])
def test_an_invalid_scale_is_refused(iris, scale):
    with pytest.raises(ValueError, match="expected a share of the rows above 0 and at most 1"):
        prepare_dataset(iris, scale=scale)


def test_numbers_are_standardized_by_the_training_rows(iris):
    prepared = prepare_dataset(iris)

    np.testing.assert_allclose(prepared.X_train.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(prepared.X_train.std(axis=0), 1, atol=1e-5)
    assert (np.abs(prepared.X_test.mean(axis=0)) > 1e-3).any()


def test_missing_numbers_are_replaced_by_the_median_of_the_training_rows():
    x = np.where(np.arange(100) < 90, np.nan, 1000.0)  # after the cut
    x[:80:2] = np.arange(40)
    cut = table({"x": x}, [0, 1] * 50, split=TrainTestSplit(cut=80))

    prepared = prepare_dataset(cut)

    filled = np.where(np.isnan(x), 19.5, x)
    expected = (filled - filled[:80].mean()) / filled[:80].std()
    np.testing.assert_allclose(np.sort(prepared.X_train[:, 0]), np.sort(expected[:80]), rtol=1e-4)
    np.testing.assert_allclose(np.sort(prepared.X_test[:, 0]), np.sort(expected[80:]), rtol=1e-4)


def test_constant_empty_and_infinite_columns_become_zero_without_a_warning():
    X = {"same": [7] * 50, "none": [np.nan] * 50, "infinite": [np.inf, -np.inf] * 25, "x": np.arange(50)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        prepared = prepare_dataset(table(X, [0, 1] * 25))

    assert not prepared.X_train[:, :3].any()
    assert prepared.X_train[:, 3].any()


WORDS = ["b", "a", None, "c"] * 25


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(WORDS, dtype=object),
        pd.Series(WORDS, dtype="string"),
        pd.Series(WORDS, dtype="category"),
    ],
    ids=["object", "string", "category"],
)
def test_a_text_column_becomes_one_column_per_value_and_one_for_missing_values(column):
    prepared = prepare_dataset(table({"word": column}, [0, 1] * 50))

    assert prepared.columns == ("word=a", "word=b", "word=c", "word=(missing)")
    X = prepared.X_train.toarray() if sparse.issparse(prepared.X_train) else prepared.X_train
    assert set(np.unique(X)) == {0, 1}
    assert (X.sum(axis=1) == 1).all()


def test_booleans_are_categorical_and_nullable_numbers_and_dates_are_numeric():
    X = {
        "truth": [True, False] * 50,
        "maybe": pd.array([1, None, 3, 4] * 25, dtype="Int64"),
        "day": pd.date_range("2026-01-01", periods=100),
    }

    prepared = prepare_dataset(table(X, [0, 1] * 50))

    assert prepared.columns == ("maybe", "day", "truth=False", "truth=True")
    np.testing.assert_allclose(prepared.X_train[:, :2].std(axis=0), 1, rtol=1e-4)


def test_dates_and_decimals_from_parquet_files_are_numeric():
    first = datetime.date(9999, 1, 1)  # farther off than a timestamp of nanoseconds can be
    X = {
        "day": [None if row == 50 else first + datetime.timedelta(days=row) for row in range(100)],
        "price": [None if row == 50 else decimal.Decimal(row) / 4 for row in range(100)],
        "row": np.arange(100.0),
    }

    prepared = prepare_dataset(table(X, [0, 1] * 50))

    assert prepared.columns == ("day", "price", "row")
    assert np.corrcoef(prepared.X_train.T).min() > 0.999


@pytest.mark.parametrize(
    ("X", "y", "why"),
    [
        (
            {"x": [[1, 2]] * 40},
            [0, 1] * 20,
            "column x holds values of type list; expected numbers, text, dates or booleans",
        ),
        ({"x": range(40)}, [[1]] * 40, "holds values of type list; expected numbers, text, dates or booleans"),
        ({"x": range(40)}, [7] * 40, "every row has the class 7; expected at least two classes"),
        ({"x": []}, [], "there are no rows; expected at least two classes"),
        ({"x": range(400)}, np.linspace(0, 1, 400), "400 distinct fractional numbers; expected classes"),
        ({"x": range(40)}, [*range(20)] * 2, "40 rows of 20 classes, 0 of them with one row, can't be split by class"),
        ({"x": range(40)}, range(40), "40 rows of 40 classes, 40 of them with one row, can't be split by class"),
    ],
)
def test_a_table_without_usable_classes_or_columns_is_refused(X, y, why):
    with pytest.raises(DatasetUnavailable, match=why):
        prepare_dataset(table(X, list(y)))


def test_a_value_that_only_test_rows_have_is_a_column_too():
    words = ["seen"] * 80 + ["unseen"] * 20

    prepared = prepare_dataset(table({"word": words}, [0, 1] * 50, split=TrainTestSplit(cut=80)))

    assert prepared.columns == ("word=seen", "word=unseen")
    assert prepared.X_test[:, 1].all()


def test_poker_hands_have_eighty_five_columns_and_are_sparse():
    rng = np.random.default_rng(0)
    hands = {f"{kind}{i}": rng.integers(1, top, 2000) for i in range(5) for kind, top in (("S", 5), ("C", 14))}
    poker = PAPER_DATASETS["poker_hand"]

    prepared = prepare_dataset(table(hands, rng.integers(0, 2, 2000), nominal_columns=poker.nominal_columns))

    assert prepared.X_train.shape == (1400, poker.attributes)
    assert prepared.X_train.format == "csr"
    assert prepared.X_train.nnz == 1400 * 10


def test_a_matrix_with_few_zeros_stays_dense(iris):
    X = iris.X.assign(kind=["a", "b", "c"] * 50)

    prepared = prepare_dataset(RawDataset("iris", X, iris.y, ""))

    assert isinstance(prepared.X_train, np.ndarray)
    assert prepared.X_train.flags.c_contiguous
    assert prepared.X_train.dtype == prepared.X_test.dtype == np.float32


def test_the_number_of_columns_depends_neither_on_seed_nor_on_scale():
    words = [f"w{i}" for i in range(500)]
    many = table({"word": words * 2, "x": np.arange(1000)}, [0, 1] * 500)

    columns = {prepare_dataset(many, seed=seed, scale=scale).columns for seed in (0, 1) for scale in (1.0, 0.05)}

    assert len(columns) == 1
    assert len(columns.pop()) == 501


def test_classes_are_numbered_from_zero_and_their_labels_kept():
    prepared = prepare_dataset(table({"x": np.arange(20)}, ["no", "yes"] * 10))

    assert prepared.classes == ("no", "yes")
    assert set(prepared.y_train) == {0, 1}


def test_large_whole_numbers_keep_their_differences():
    stamps = 1_700_000_000 + np.arange(100)

    prepared = prepare_dataset(table({"stamp": stamps}, [0, 1] * 50))

    assert len(np.unique(np.concatenate([prepared.X_train, prepared.X_test]))) == 100
