"""From a file to what a learner is given, and to what is stored of it."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fitwithin._core.exceptions import UserInputError
from fitwithin._presets import CLASSIFIERS, make_preset
from fitwithin._tabular.columns import Column
from fitwithin._tabular.files import Part
from fitwithin._tabular.target_column import read_goal
from fitwithin._tabular.training import Encoded, encoding_for, features_of, stored_pipeline, understand

TABLE = pa.table({"a": [1.0, None, 3.0, 4.0], "w": ["x", "y", None, "x"], "y": ["no", None, "yes", "no"]})


def understood(part=None):
    part = Part(TABLE) if part is None else part
    return understand(part, read_goal("y", part.table["y"]))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_linear_learners_get_one_hot_columns_and_all_others_numbers(name):
    is_linear = name.startswith(("linear", "logistic", "sgd"))

    assert encoding_for(make_preset(name)) == ("one-hot" if is_linear else "ordinal")


def test_a_learner_that_says_nothing_gets_no_gaps():
    class Silent:
        pass

    assert encoding_for(Silent()) == "one-hot"


def test_rows_without_a_label_are_left_out_and_counted():
    found = understood()

    assert (found.rows, found.without_label) == (3, 1)
    assert found.missing == {"number": 0, "word": 1}
    assert [column.name for column in found.columns] == ["a", "w"]


@pytest.mark.parametrize("matrix", [np.eye(4), sparse.eye(4, format="csr")], ids=["dense", "sparse"])
def test_a_matrix_is_its_own_features(matrix):
    part = Part(TABLE, matrix)

    found = understood(part)
    encoded = Encoded.of(found, "ordinal")

    assert encoded.X.shape == (3, 4)
    assert encoded.encoder == "passthrough"
    assert set(found.left_out) == {"a", "w"}


def test_what_is_stored_takes_the_columns_as_they_are():
    found = understood()
    encoded = Encoded.of(found, "one-hot")

    class Model:
        best_estimator_ = LogisticRegression().fit(encoded.X, found.goal.y)

    pipeline = stored_pipeline(Model(), encoded)

    assert pipeline.predict(features_of(Part(TABLE), found.columns, encoded.X.shape[1])).shape == (4,)
    np.testing.assert_array_equal(encoded.more(found.part), encoded.X)


def test_rows_of_another_shape_are_refused():
    columns = [Column("a", "number", "double")]
    with pytest.raises(UserInputError, match="without names"):
        features_of(Part(TABLE), [], 3)
    with pytest.raises(UserInputError, match="holds a matrix"):
        features_of(Part(TABLE, np.eye(4)), columns, 1)
    with pytest.raises(UserInputError, match="have 4 features, and the model takes 3"):
        features_of(Part(TABLE, np.eye(4)), [], 3)


def test_sparse_rows_are_made_as_wide_as_in_training():
    for width in (2, 9):
        assert features_of(Part(TABLE, sparse.eye(4, format="csr")), [], width).shape == (4, width)
