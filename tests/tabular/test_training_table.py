"""Files that are read in blocks: the target, the sample and the encoded rows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.sources.opening import open_source
from fitwithin._tabular.features import encode_features
from fitwithin._tabular.files.data_set_files import DataSetFiles
from fitwithin._tabular.files.reader import open_data_file
from fitwithin._tabular.target_column import read_target_column
from fitwithin._tabular.training_table import read_training_table

N_ROWS = 2000


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=N_ROWS), "n": rng.integers(0, 9, N_ROWS)})
    frame["city"] = rng.choice(["Oslo", "Lima", None], N_ROWS)
    frame["kind"] = pd.Categorical(rng.choice(["x", "y"], N_ROWS))
    frame["label"] = np.where(frame["a"] > 0, "yes", "no")
    frame.loc[::50, "label"] = None
    return frame


@pytest.fixture
def file(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("encoding", ["ordinal", "one-hot"])
def test_blocks_are_encoded_as_the_whole_file_is(file, encoding):
    all_rows = read_training_table(open_data_file(file), "label")
    whole = encode_features(all_rows, encoding)

    table = read_training_table(DataSetFiles(file, in_blocks=True), "label")
    features = encode_features(table, encoding)
    source = open_source(features.X, "target")

    blocks = [source.read_block(number) for number in range(source.n_blocks)]
    X = np.concatenate([source.to_frame(block.drop_columns(["target"])) for block in blocks])
    # The sample of so few rows is all of them.
    expected = whole.X.toarray() if hasattr(whole.X, "toarray") else whole.X
    np.testing.assert_allclose(X, expected, rtol=1e-6)
    assert X.dtype == source.to_frame(source.schema.empty_table()).dtype
    assert [label for block in blocks for label in block["target"].to_pylist()] == all_rows.y.tolist()
    assert table.target.n_rows == len(all_rows.y)
    assert table.target.n_missing == 40


def test_the_target_alone_is_read_for_the_labels(file):
    table = read_training_table(DataSetFiles(file, in_blocks=True), "label")
    source = open_source(encode_features(table, "ordinal").X, "target")
    part = source.blocks.read(0, ["target"])
    assert part.column_names == ["target"]
    assert part.num_rows == source.read_block(0).num_rows == 294


def test_classes_are_counted_in_all_blocks(file, frame):
    table = read_training_table(DataSetFiles(file, in_blocks=True), "label")
    assert dict(zip(table.target.values, table.target.counts, strict=True)) == frame["label"].value_counts().to_dict()


def read_target(parts, type_=None, task=None):
    return read_target_column("label", [pa.chunked_array([pa.array(part, type_)]) for part in parts], task)


def test_many_numbers_are_values_between_their_ends():
    values = np.random.default_rng(0).random(30_000)
    column = read_target([values[:20_000], values[20_000:]])
    assert column.is_regression
    assert column.values.tolist() == [values.min(), values.max()]


def test_few_whole_numbers_are_classes_unless_the_user_says_otherwise():
    parts = [[1, 2, None], [3]]
    found = read_target(parts, pa.int64())
    assert found.values.tolist() == [1, 2, 3]
    assert read_target(parts, pa.int64(), "regression").values.tolist() == [1, 3]
    assert (found.n_rows, found.n_missing) == (3, 1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[]], "no rows"),
        ([[None, None]], "has no values at all"),
        ([["a", "a"]], "has one value only"),
        ([[str(number) for number in range(2000)]], "too many for classes"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(values, words):
    with pytest.raises(UserInputError, match=words):
        read_target(values, pa.string())


def test_missing_numbers_count_as_missing_even_if_they_are_nan(tmp_path):
    table = pa.table({"a": [1.0, 2.0, 3.0], "label": [0.0, float("nan"), 1.0]})
    pq.write_table(table, tmp_path / "rows.parquet")
    found = read_training_table(DataSetFiles(tmp_path / "rows.parquet", in_blocks=True), "label").target
    assert (found.n_rows, found.n_missing) == (2, 1)
