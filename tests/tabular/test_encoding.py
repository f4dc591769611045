"""The learner gets numbers only, whatever the file holds, in training and prediction."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fitwithin._presets import CLASSIFIERS, make_preset
from fitwithin._tabular.columns import FeatureColumn
from fitwithin._tabular.encoding import (
    MAX_ONE_HOT_CATEGORIES,
    MAX_ORDINAL_CATEGORIES,
    choose_encoding,
    make_column_encoder,
    make_matrix_encoder,
)

COLUMNS = [FeatureColumn("n", "number", "double"), FeatureColumn("t", "text", "string")]


def frame(numbers, text):
    return pd.DataFrame({"n": np.array(numbers, float), "t": pd.Series(text, dtype=object)})


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_linear_learners_get_one_hot_columns_and_others_category_numbers(name):
    is_linear = name.startswith(("linear", "logistic", "sgd"))

    assert choose_encoding([make_preset(name)]) == ("one-hot" if is_linear else "ordinal")


def test_a_learner_without_tags_gets_no_missing_values():
    class WithoutTags:
        pass

    assert choose_encoding([WithoutTags()]) == "one-hot"


def test_ordinal_numbers_the_categories_and_keeps_missing_values():
    X = make_column_encoder(COLUMNS, "ordinal").fit_transform(frame([1, np.nan, 3], ["b", "a", np.nan]))

    np.testing.assert_array_equal(X, [[1, 1], [np.nan, 0], [3, np.nan]])


def test_one_hot_fills_missing_values_and_standardises():
    X = make_column_encoder(COLUMNS, "one-hot").fit_transform(frame([1, np.nan, 3], ["b", "a", np.nan]))

    np.testing.assert_allclose(np.asarray(X)[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)])
    np.testing.assert_array_equal(np.asarray(X)[:, 1:], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("encoding", ["ordinal", "one-hot"])
def test_rare_categories_share_one_code(encoding):
    most = MAX_ORDINAL_CATEGORIES if encoding == "ordinal" else MAX_ONE_HOT_CATEGORIES
    text = [f"{number:05}" for number in range(most + 50)] * 2 + ["00000"] * 10

    X = make_column_encoder(COLUMNS, encoding).fit_transform(frame(np.ones(len(text)), text))

    width = len(np.unique(X[:, 1])) if encoding == "ordinal" else X.shape[1] - 1
    assert width == most


texts = st.one_of(st.text(max_size=3), st.just(np.nan))


@pytest.mark.parametrize("encoding", ["ordinal", "one-hot"])
@settings(max_examples=50)
@given(seen=st.lists(texts, min_size=1, max_size=8), new=st.lists(texts, min_size=1, max_size=8))
def test_new_rows_may_hold_any_text(encoding, seen, new):
    encoder = make_column_encoder(COLUMNS, encoding).fit(frame(np.arange(len(seen)), seen))

    X = encoder.transform(frame(np.arange(len(new)), new))

    dense = X.toarray() if sparse.issparse(X) else X
    assert dense.shape == (len(new), encoder.transform(frame(np.arange(len(seen)), seen)).shape[1])
    assert encoding == "ordinal" or np.isfinite(dense).all()


def test_columns_of_one_kind_are_enough():
    only = make_column_encoder(COLUMNS[:1], "one-hot").fit_transform(frame([1, 3], ["a", "b"]))
    np.testing.assert_array_equal(only, [[-1], [1]])


def test_a_matrix_is_passed_through_or_standardised():
    X = np.array([[1.0, np.nan], [3.0, 1.0]])

    assert make_matrix_encoder(X, "ordinal") == "passthrough"
    np.testing.assert_array_equal(make_matrix_encoder(X, "one-hot").fit_transform(X), [[-1, 0], [1, 0]])
    assert sparse.issparse(make_matrix_encoder(sparse.csr_matrix(X), "one-hot").fit_transform(sparse.eye(3).tocsr()))


@pytest.mark.parametrize(
    ("names", "encoding"),
    [
        (["random-forest", "hist-gradient-boosting"], "ordinal"),
        (["random-forest", "logistic-regression"], "one-hot"),
    ],
)
def test_learners_that_share_rows_get_an_encoding_that_all_of_them_take(names, encoding):
    assert choose_encoding([make_preset(name) for name in names]) == encoding
