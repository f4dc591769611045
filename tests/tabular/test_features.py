"""From a file to the learner's features, and to the pipeline in a model file."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.columns import FeatureColumn
from fitwithin._tabular.features import encode_features, extract_features
from fitwithin._tabular.files.data_file import DataFile, TableChunk
from fitwithin._tabular.training_table import read_training_table

TABLE = pa.table({"a": [1.0, None, 3.0, 4.0], "t": ["x", "y", None, "x"], "y": ["no", None, "yes", "no"]})


class Rows(DataFile):
    """A file of these rows."""

    def __init__(self, chunk):
        super().__init__("rows")
        self.chunk = chunk

    def _read_names(self):
        return self.chunk.table.column_names

    def _read_rows(self, types, label):
        return self.chunk


def training_table(chunk=None):
    chunk = TableChunk(TABLE) if chunk is None else chunk
    return read_training_table(Rows(chunk), "y")


def test_rows_without_a_label_are_left_out_and_counted():
    table = training_table()

    assert (len(table.chunk), table.target.n_rows, table.target.n_missing) == (3, 3, 1)
    assert [column.name for column in table.columns] == ["a", "t"]


@pytest.mark.parametrize("matrix", [np.eye(4), sparse.eye(4, format="csr")], ids=["dense", "sparse"])
def test_a_matrix_holds_all_features(matrix):
    chunk = TableChunk(TABLE, matrix)

    table = training_table(chunk)
    features = encode_features(table, "ordinal")

    assert features.X.shape == (3, 4)
    assert features.encoder == "passthrough"
    assert set(table.left_out) == {"a", "t"}


def test_the_stored_pipeline_takes_the_columns_of_the_file():
    table = training_table()
    features = encode_features(table, "one-hot")

    pipeline = features.make_pipeline(LogisticRegression().fit(features.X, table.y))

    assert pipeline.predict(extract_features(TableChunk(TABLE), table.columns, features.X.shape[1])).shape == (4,)
    np.testing.assert_array_equal(features.transform(table.chunk), features.X)


def test_rows_of_another_shape_are_refused():
    columns = [FeatureColumn("a", "number", "double")]
    with pytest.raises(UserInputError, match="trained on a matrix without names"):
        extract_features(TableChunk(TABLE), [], 3)
    with pytest.raises(UserInputError, match="holds a matrix"):
        extract_features(TableChunk(TABLE, np.eye(4)), columns, 1)
    with pytest.raises(UserInputError, match="have 4 features, but the model takes 3"):
        extract_features(TableChunk(TABLE, np.eye(4)), [], 3)


def test_sparse_rows_are_made_as_wide_as_in_training():
    for width in (2, 9):
        assert extract_features(TableChunk(TABLE, sparse.eye(4, format="csr")), [], width).shape == (4, width)
