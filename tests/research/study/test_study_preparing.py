"""The paper's transformations."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from fitwithin._research.study.data import NotToBeHad, Table
from fitwithin._research.study.names import DATA_SETS, Split
from fitwithin._research.study.preparing import prepare


def table(X, y, **details):
    return Table("made", pd.DataFrame(X), pd.Series(y), "the test", **details)


@pytest.fixture
def iris():
    X, y = load_iris(as_frame=True, return_X_y=True)
    return Table("iris", X, y, "scikit-learn")


@pytest.fixture
def encode_labels():
    """A thousand rows that carry their own number, in a column that is left alone but for its scale."""
    return table({"row": np.arange(1000.0)}, np.repeat([0, 1, 2], [700, 290, 10]))


def rows_of(prepared):
    """The numbers of the rows of both parts, from the one column of the table `numbered`."""
    order = np.argsort(np.argsort(np.concatenate([prepared.X_train[:, 0], prepared.X_test[:, 0]])))
    return order[: len(prepared.y_train)], order[len(prepared.y_train) :]


def test_seven_tenths_of_the_rows_are_for_training_and_classes_keep_their_shares(numbered):
    prepared = prepare(numbered)

    assert np.bincount(prepared.y_train).tolist() == [490, 203, 7]
    assert np.bincount(prepared.y_test).tolist() == [210, 87, 3]


def test_every_row_is_in_one_part_with_its_own_class(numbered):
    prepared = prepare(numbered)

    train, test = rows_of(prepared)
    assert sorted([*train, *test]) == list(range(1000))
    assert (np.asarray(numbered.y)[train] == prepared.y_train).all()
    assert (np.asarray(numbered.y)[test] == prepared.y_test).all()


def test_the_seed_decides_the_shuffle(numbered):
    first, again, other = (rows_of(prepare(numbered, seed=seed)) for seed in (0, 0, 1))

    assert (first[0] == again[0]).all()
    assert (first[1] == again[1]).all()
    assert (first[0] != other[0]).any()
    assert (np.diff(first[0]) != 1).any()


@pytest.mark.parametrize("train_first", [True, False])
def test_a_table_that_comes_split_is_cut_and_each_part_shuffled(numbered, train_first):
    cut = Table("made", numbered.X, numbered.y, "", Split(cut=400, train_first=train_first))

    train, test = rows_of(prepare(cut))

    before, after = (train, test) if train_first else (test, train)
    assert sorted(before) == list(range(400))
    assert sorted(after) == list(range(400, 1000))
    assert (before != np.sort(before)).any()


def test_a_class_of_one_row_is_for_training():
    prepared = prepare(table({"x": np.arange(21.0)}, [*"ab" * 10, "alone"]))

    assert "alone" in {prepared.classes[code] for code in prepared.y_train}
    assert "alone" not in {prepared.classes[code] for code in prepared.y_test}


@pytest.mark.parametrize(("scale", "train", "test"), [(0.1, [49, 20, 2], [21, 9, 2]), (0.05, [24, 10, 2], [10, 4, 2])])
def test_a_scale_keeps_that_share_of_both_parts_and_two_of_each_class(numbered, scale, train, test):
    prepared = prepare(numbered, scale=scale)

    assert np.bincount(prepared.y_train).tolist() == train
    assert np.bincount(prepared.y_test).tolist() == test


def test_a_scaled_set_is_part_of_the_whole_in_the_same_order():
    named = table({"row": [f"{row:03}" for row in range(1000)]}, [0, 1] * 500)
    whole, part = (prepare(named, scale=scale) for scale in (1.0, 0.5))

    rows, kept = whole.X_train.indices, part.X_train.indices  # of the one-hot column that is not zero

    assert len(kept) == 350
    assert rows[np.isin(rows, kept)].tolist() == kept.tolist()


@pytest.mark.parametrize("scale", [0, -0.5, 1.5])
def test_a_scale_that_is_no_share_is_refused(iris, scale):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        prepare(iris, scale=scale)


def test_numbers_are_standardised_by_the_training_part(iris):
    prepared = prepare(iris)

    np.testing.assert_allclose(prepared.X_train.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(prepared.X_train.std(axis=0), 1, atol=1e-5)
    assert (np.abs(prepared.X_test.mean(axis=0)) > 1e-3).any()


def test_gaps_are_filled_with_the_median_of_the_training_part():
    x = np.where(np.arange(100) < 90, np.nan, 1000.0)  # after the cut
    x[:80:2] = np.arange(40)
    cut = table({"x": x}, [0, 1] * 50, split=Split(cut=80))

    prepared = prepare(cut)

    filled = np.where(np.isnan(x), 19.5, x)
    expected = (filled - filled[:80].mean()) / filled[:80].std()
    np.testing.assert_allclose(np.sort(prepared.X_train[:, 0]), np.sort(expected[:80]), rtol=1e-4)
    np.testing.assert_allclose(np.sort(prepared.X_test[:, 0]), np.sort(expected[80:]), rtol=1e-4)


def test_what_is_constant_or_empty_or_infinite_becomes_zero_without_a_word():
    X = {"same": [7] * 50, "none": [np.nan] * 50, "infinite": [np.inf, -np.inf] * 25, "x": np.arange(50)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        prepared = prepare(table(X, [0, 1] * 25))

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
def test_a_word_becomes_one_column_per_value_and_one_for_what_is_missing(column):
    prepared = prepare(table({"word": column}, [0, 1] * 50))

    assert prepared.columns == ("word=a", "word=b", "word=c", "word=(missing)")
    X = prepared.X_train.toarray() if sparse.issparse(prepared.X_train) else prepared.X_train
    assert set(np.unique(X)) == {0, 1}
    assert (X.sum(axis=1) == 1).all()


def test_truth_values_are_words_and_nullable_numbers_and_dates_are_numbers():
    X = {
        "truth": [True, False] * 50,
        "maybe": pd.array([1, None, 3, 4] * 25, dtype="Int64"),
        "day": pd.date_range("2026-01-01", periods=100),
    }

    prepared = prepare(table(X, [0, 1] * 50))

    assert prepared.columns == ("maybe", "day", "truth=False", "truth=True")
    np.testing.assert_allclose(prepared.X_train[:, :2].std(axis=0), 1, rtol=1e-4)


def test_dates_and_decimals_as_parquet_files_give_them_are_numbers():
    first = datetime.date(9999, 1, 1)  # farther off than a timestamp of nanoseconds can be
    X = {
        "day": [None if row == 50 else first + datetime.timedelta(days=row) for row in range(100)],
        "price": [None if row == 50 else decimal.Decimal(row) / 4 for row in range(100)],
        "row": np.arange(100.0),
    }

    prepared = prepare(table(X, [0, 1] * 50))

    assert prepared.columns == ("day", "price", "row")
    assert np.corrcoef(prepared.X_train.T).min() > 0.999


@pytest.mark.parametrize(
    ("X", "y", "why"),
    [
        ({"x": [[1, 2]] * 40}, [0, 1] * 20, "column x can't be used: it holds values of the kind list"),
        ({"x": range(40)}, [[1]] * 40, "it holds values of the kind list"),
        ({"x": range(40)}, [7] * 40, "two classes to learn anything, and every row has the class 7"),
        ({"x": []}, [], "there are no rows"),
        ({"x": range(400)}, np.linspace(0, 1, 400), "400 different numbers with fractions: no classes"),
        ({"x": range(40)}, [*range(20)] * 2, "40 rows of 20 classes, 0 of them of one row, can't be split"),
        ({"x": range(40)}, range(40), "40 rows of 40 classes, 40 of them of one row, can't be split"),
    ],
)
def test_a_table_that_nothing_can_be_learned_from_is_not_to_be_had(X, y, why):
    with pytest.raises(NotToBeHad, match=why):
        prepare(table(X, list(y)))


def test_a_value_that_only_the_test_has_is_a_column_too():
    words = ["seen"] * 80 + ["unseen"] * 20

    prepared = prepare(table({"word": words}, [0, 1] * 50, split=Split(cut=80)))

    assert prepared.columns == ("word=seen", "word=unseen")
    assert prepared.X_test[:, 1].all()


def test_poker_hands_have_eighty_five_columns_and_are_sparse():
    rng = np.random.default_rng(0)
    hands = {f"{kind}{i}": rng.integers(1, top, 2000) for i in range(5) for kind, top in (("S", 5), ("C", 14))}
    poker = DATA_SETS["poker_hand"]

    prepared = prepare(table(hands, rng.integers(0, 2, 2000), nominal=poker.nominal))

    assert prepared.X_train.shape == (1400, poker.attributes)
    assert prepared.X_train.format == "csr"
    assert prepared.X_train.nnz == 1400 * 10


def test_few_columns_of_zeros_leave_it_dense(iris):
    X = iris.X.assign(kind=["a", "b", "c"] * 50)

    prepared = prepare(Table("iris", X, iris.y, ""))

    assert isinstance(prepared.X_train, np.ndarray)
    assert prepared.X_train.flags.c_contiguous
    assert prepared.X_train.dtype == prepared.X_test.dtype == np.float32


def test_the_number_of_columns_depends_neither_on_seed_nor_on_scale():
    words = [f"w{i}" for i in range(500)]
    many = table({"word": words * 2, "x": np.arange(1000)}, [0, 1] * 500)

    columns = {prepare(many, seed=seed, scale=scale).columns for seed in (0, 1) for scale in (1.0, 0.05)}

    assert len(columns) == 1
    assert len(columns.pop()) == 501


def test_classes_are_numbered_from_zero_and_their_labels_kept():
    prepared = prepare(table({"x": np.arange(20)}, ["no", "yes"] * 10))

    assert prepared.classes == ("no", "yes")
    assert set(prepared.y_train) == {0, 1}


def test_large_whole_numbers_keep_their_differences():
    stamps = 1_700_000_000 + np.arange(100)

    prepared = prepare(table({"stamp": stamps}, [0, 1] * 50))

    assert len(np.unique(np.concatenate([prepared.X_train, prepared.X_test]))) == 100
