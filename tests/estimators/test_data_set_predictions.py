"""Frames with the target as a column, and predictions and scores of data sets on disk."""

import gc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._core.exceptions import UserInputError

N_ROWS = 3000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N_ROWS, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    frame["label"] = np.where(values[:, 0] + values[:, 1] > 0, "yes", "no")
    frame["w"] = rng.random(N_ROWS) + 0.5
    frame["value"] = values @ [1.0, 2.0, 3.0]
    return frame


def make_classifier(learner):
    return TimeConstrainedClassifier(learner, time_limit=30, backend="inline", random_state=0)


@pytest.fixture(scope="module")
def classifier(frame):
    clf = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=30, backend="inline", random_state=0
    )
    return clf.fit(frame[["a", "b", "c", "label", "w"]], "label", sample_weight="w")


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    # Columns in another order, and more of them than the model needs.
    pq.write_table(pa.Table.from_pandas(frame[["w", "c", "b", "label", "value", "a"]]), path, row_group_size=400)
    return path


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_a_frame_is_fitted_with_target_and_weights_named(frame, convert, classifier):
    clf = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=30, backend="inline", random_state=0
    )
    clf.fit(convert(frame[["a", "b", "c", "label", "w"]]), "label", sample_weight="w")
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.classes_.tolist() == ["no", "yes"]
    expected = classifier.predict(frame[["a", "b", "c"]])
    assert (clf.predict(convert(frame[["a", "b", "c"]])) == expected).all()


def test_validation_rows_name_their_column_too(frame):
    rows = frame[["a", "b", "c", "label", "w"]]
    clf = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=30, backend="inline", random_state=0
    )
    clf.fit(rows[:2000], "label", sample_weight="w", X_val=rows[2000:], y_val="label")
    assert clf.n_features_in_ == 3
    assert clf.n_rows_in_ == 2000


def test_an_unknown_column_of_a_frame_names_the_closest(frame):
    clf = TimeConstrainedClassifier(backend="inline")
    with pytest.raises(UserInputError, match=r"X has no column 'lable'. Did you mean 'label'\?"):
        clf.fit(frame, "lable")
    with pytest.raises(UserInputError, match=r"target is 'label', the name of a column, but X is a ndarray"):
        clf.fit(frame[["a"]].to_numpy(), "label")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize(
    "open_rows",
    [
        str,
        lambda path: path,
        lambda path: [path],
        lambda path: path.parent,
        ds.dataset,
        pl.scan_parquet,
        lambda path: pl.scan_parquet(path).filter(pl.col("a") < 100),
    ],
    ids=["text", "path", "list", "folder", "dataset", "scan", "query"],
)
def test_a_data_set_is_predicted_as_its_rows_in_memory(classifier, frame, file, open_rows, method):
    with np.errstate(divide="ignore"):
        expected = getattr(classifier, method)(frame[["a", "b", "c"]])
        found = getattr(classifier, method)(open_rows(file))
    np.testing.assert_array_equal(found, expected)


def test_decisions_are_made_for_data_sets_too(frame, file):
    clf = make_classifier(LogisticRegression())
    clf.fit(frame[["a", "b", "c", "label"]], "label")
    np.testing.assert_allclose(clf.decision_function(file), clf.decision_function(frame[["a", "b", "c"]]))


def test_a_filter_of_the_data_set_selects_the_rows_to_predict(classifier, frame, file):
    found = classifier.predict(ds.dataset(file).filter(ds.field("a") > 0))
    np.testing.assert_array_equal(found, classifier.predict(frame.loc[frame["a"] > 0, ["a", "b", "c"]]))


def test_scores_of_data_sets_and_frames_are_those_of_arrays(classifier, frame, file):
    features = frame[["a", "b", "c"]]
    plain = classifier.score(features, frame["label"])
    weighted = classifier.score(features, frame["label"], frame["w"])
    assert plain != weighted
    for rows in (file, ds.dataset(file), pl.scan_parquet(file), frame):
        assert classifier.score(rows, "label") == pytest.approx(plain)
        assert classifier.score(rows, "label", sample_weight="w") == pytest.approx(weighted)
    assert classifier.score(file, frame["label"], frame["w"]) == pytest.approx(weighted)


@pytest.mark.parametrize(
    "labels",
    [
        pd.array([0, 1], "Int64"),
        pd.Categorical(["no", "yes"]),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        pd.array(["no", "yes"], "string"),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_every_type_are_scored(tmp_path, labels):
    codes = np.arange(600) % 2
    frame = pd.DataFrame({"a": codes + np.random.default_rng(0).normal(size=600) / 10})
    frame["label"] = labels[codes]
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    clf = make_classifier(DecisionTreeClassifier(max_depth=3)).fit(tmp_path / "rows.parquet", "label")
    assert clf.score(tmp_path / "rows.parquet", "label") > 0.95


def test_regressors_and_searches_score_data_sets_too(frame, file):
    reg = TimeConstrainedRegressor(Ridge(), time_limit=30, backend="inline", random_state=0)
    reg.fit(frame[["a", "b", "c", "value"]], "value")
    assert reg.score(file, "value", "w") == pytest.approx(reg.score(frame[["a", "b", "c"]], frame["value"], frame["w"]))
    search = TimeConstrainedSearch(
        LogisticRegression(), {"C": [0.1, 1.0]}, scoring="neg_log_loss", time_limit=3, backend="inline", random_state=0
    )
    search.fit(frame[["a", "b", "c", "label"]], "label")
    assert search.score(file, "label") == pytest.approx(search.score(frame[["a", "b", "c"]], frame["label"]))
    assert search.score(file, "label", "w") == pytest.approx(
        search.score(frame[["a", "b", "c"]], frame["label"], frame["w"])
    )


def test_a_model_of_an_array_takes_all_columns_of_a_data_set(frame, tmp_path):
    X = frame[["a", "b", "c"]]
    pq.write_table(pa.Table.from_pandas(X), tmp_path / "rows.parquet")
    clf = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=30, backend="inline", random_state=0
    )
    clf.fit(X.to_numpy(), frame["label"])
    np.testing.assert_array_equal(clf.predict(tmp_path / "rows.parquet"), clf.predict(X.to_numpy()))


def test_columns_that_the_model_needs_are_named(classifier, tmp_path, frame):
    pq.write_table(pa.Table.from_pandas(frame[["a", "b", "label"]]), tmp_path / "rows.parquet")
    with pytest.raises(UserInputError, match=r"rows.parquet has no column 'c'"):
        classifier.predict(tmp_path / "rows.parquet")
    with pytest.raises(UserInputError, match="no column 'labels'"):
        classifier.score(tmp_path / "rows.parquet", "labels")


def test_no_rows_are_an_error(classifier, file):
    with pytest.raises(UserInputError, match="The data set has no rows"):
        classifier.predict(ds.dataset(file).filter(ds.field("a") > 1e6))


def test_a_data_set_is_predicted_in_the_memory_of_a_few_blocks(tmp_path, frame):
    n_rows, n_columns, block = 1_000_000, 30, 20_000
    names = [f"f{number}" for number in range(n_columns)]
    part = pa.table({name: np.random.default_rng(0).random(block) for name in names})
    with pq.ParquetWriter(tmp_path / "rows.parquet", part.schema) as writer:
        for _ in range(n_rows // block):
            writer.write_table(part)
    clf = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=3), time_limit=30, backend="inline", random_state=0
    )
    clf.fit(part.to_pandas(), np.arange(block) % 2)
    gc.collect()
    pool = pa.default_memory_pool()
    before, peak = pool.bytes_allocated(), []
    learner = clf.best_estimator_

    class Watched:
        def predict(self, X):
            peak.append(pool.bytes_allocated() - before)
            return learner.predict(X)

    clf.best_estimator_ = Watched()
    assert len(clf.predict(tmp_path / "rows.parquet")) == n_rows
    assert max(peak) < 5 * part.nbytes
