"""What a learner is given: numbers only, whatever a file holds, and whatever comes later."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fitwithin._tabular.columns import Column
from fitwithin._tabular.encoding import ONE_HOT_VALUES, ORDINAL_VALUES, column_encoder, matrix_encoder

COLUMNS = [Column("n", "number", "double"), Column("w", "word", "string")]


def frame(numbers, words):
    return pd.DataFrame({"n": np.array(numbers, float), "w": pd.Series(words, dtype=object)})


def test_ordinal_numbers_the_words_and_leaves_the_gaps():
    X = column_encoder(COLUMNS, "ordinal").fit_transform(frame([1, np.nan, 3], ["b", "a", np.nan]))

    np.testing.assert_array_equal(X, [[1, 1], [np.nan, 0], [3, np.nan]])


def test_one_hot_fills_the_gaps_and_standardises():
    X = column_encoder(COLUMNS, "one-hot").fit_transform(frame([1, np.nan, 3], ["b", "a", np.nan]))

    np.testing.assert_allclose(np.asarray(X)[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)])
    np.testing.assert_array_equal(np.asarray(X)[:, 1:], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("encoding", ["ordinal", "one-hot"])
def test_rare_words_share_a_place(encoding):
    most = ORDINAL_VALUES if encoding == "ordinal" else ONE_HOT_VALUES
    words = [f"{number:05}" for number in range(most + 50)] * 2 + ["00000"] * 10

    X = column_encoder(COLUMNS, encoding).fit_transform(frame(np.ones(len(words)), words))

    width = len(np.unique(X[:, 1])) if encoding == "ordinal" else X.shape[1] - 1
    assert width == most


words = st.one_of(st.text(max_size=3), st.just(np.nan))


@pytest.mark.parametrize("encoding", ["ordinal", "one-hot"])
@given(seen=st.lists(words, min_size=1, max_size=8), new=st.lists(words, min_size=1, max_size=8))
def test_new_rows_fit_whatever_words_they_hold(encoding, seen, new):
    encoder = column_encoder(COLUMNS, encoding).fit(frame(np.arange(len(seen)), seen))

    X = encoder.transform(frame(np.arange(len(new)), new))

    dense = X.toarray() if sparse.issparse(X) else X
    assert dense.shape == (len(new), encoder.transform(frame(np.arange(len(seen)), seen)).shape[1])
    assert encoding == "ordinal" or np.isfinite(dense).all()


def test_columns_of_one_kind_alone_do():
    only = column_encoder(COLUMNS[:1], "one-hot").fit_transform(frame([1, 3], ["a", "b"]))
    np.testing.assert_array_equal(only, [[-1], [1]])


def test_a_matrix_of_numbers_is_left_alone_or_standardised():
    X = np.array([[1.0, np.nan], [3.0, 1.0]])

    assert matrix_encoder(X, "ordinal") == "passthrough"
    np.testing.assert_array_equal(matrix_encoder(X, "one-hot").fit_transform(X), [[-1, 0], [1, 0]])
    assert sparse.issparse(matrix_encoder(sparse.csr_matrix(X), "one-hot").fit_transform(sparse.eye(3).tocsr()))
