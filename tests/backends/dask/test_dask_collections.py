"""Fits on Dask DataFrames, Arrays and parquet files: rows stay on the cluster, and results are those of one machine."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is an extra")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fitwithin import DataSetWarning, TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._core.exceptions import UserInputError
from fitwithin.backends import Dask
from fitwithin.teachers import TCT, Full
from fitwithin.testing._backends import RecordingClassifier

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def frame(rows):
    """10,000 rows with numbers, a category, missing values, labels of text and weights."""
    X, y = rows[0][:10_000], rows[1][:10_000]
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical(np.where(X[:, 3] > 0.5, "x", "y"))
    frame["label"] = np.where(y > 1, "high", "low")
    frame["weight"] = 1.0 + X[:, 4]
    return frame


def make_classifier(client, learner, **settings):
    return TimeConstrainedClassifier(
        learner, **{"time_limit": 60, "backend": Dask(client), "random_state": 0, "teacher": Full()} | settings
    )


def test_an_array_is_trained_on_with_every_row_in_its_place(dask_client, rows):
    X, y = rows[0][:1000], rows[1][:1000]
    clf = make_classifier(dask_client, RecordingClassifier())

    clf.fit(da.from_array(X, chunks=(300, 4)), da.from_array(y, chunks=400))

    model = clf.best_estimator_
    order = np.lexsort(model.X_.T)
    expected = np.lexsort(X.T)
    np.testing.assert_array_equal(model.X_[order], X[expected])
    np.testing.assert_array_equal(model.y_[order], y[expected])
    np.testing.assert_array_equal(clf.classes_, np.unique(y))
    np.testing.assert_array_equal(clf.class_count_, np.unique(y, return_counts=True)[1])
    assert clf.n_rows_in_ == 1000
    assert clf.n_features_in_ == 10


def test_a_class_with_hardly_any_weight_is_told_about(dask_client, frame):
    weights = (frame["label"] == "low").astype(float)
    weights[(frame["label"] == "high").idxmax()] = 1.0
    numbers = frame[["a", "b", "c", "label"]].assign(weight=weights)

    with pytest.warns(UserWarning, match=r"sample_weight other than 0: 1 of [\d,]+ rows of the class high\."):
        make_classifier(dask_client, GaussianNB()).fit(
            dd.from_pandas(numbers, npartitions=3), "label", sample_weight="weight"
        )


def test_a_frame_keeps_its_columns_types_and_weights(dask_client, frame):
    class Looking(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            self.types_ = [str(dtype) for dtype in X.dtypes]
            self.weight_sum_ = float(sample_weight.sum())
            return super().fit(X[["a", "b", "c"]], y)

        def predict(self, X):
            return super().predict(X[["a", "b", "c"]])

    clf = make_classifier(dask_client, Looking())
    clf.fit(dd.from_pandas(frame, npartitions=3), "label", sample_weight="weight")

    assert clf.best_estimator_.types_ == ["float32", "float32", "float32", "category"]
    assert clf.best_estimator_.weight_sum_ == pytest.approx(frame["weight"].sum())
    assert clf.feature_names_in_.tolist() == ["a", "b", "c", "kind"]
    assert clf.classes_.tolist() == ["high", "low"]


def test_parquet_is_read_by_the_workers_and_predicted_lazily(dask_client, frame, tmp_path):
    frame.drop(columns=["kind", "weight"]).to_parquet(tmp_path / "rows.parquet", row_group_size=3000)
    clf = make_classifier(dask_client, DecisionTreeClassifier(max_depth=6), teacher="auto", time_limit=30)

    clf.fit(str(tmp_path), "label")
    collection = dd.read_parquet(str(tmp_path))
    predicted, probabilities = clf.predict(collection), clf.predict_proba(collection)

    assert isinstance(predicted, da.Array)
    with dask_client.as_current():
        labels, columns = predicted.compute(), probabilities.compute()
        score = clf.score(collection, "label")
        with pytest.raises(UserInputError, match="no column 'nothing'"):
            clf.score(collection, "nothing")
    np.testing.assert_array_equal(labels, clf.predict(frame[["a", "b", "c"]]))
    assert score == np.mean(labels == frame["label"]) > 0.85
    assert columns.shape == (10_000, 2)


def test_a_regressor_and_a_metric_of_its_own_work_on_a_collection(dask_client, rows):
    X = da.from_array(rows[0][:20_000], chunks=(6000, 10))
    reg = TimeConstrainedRegressor(Ridge(), time_limit=60, backend=Dask(dask_client), random_state=0)

    reg.fit(X, X[:, 0] * 2 - X[:, 1])

    assert reg.stop_reason_ == "all rows"
    assert reg.score_estimate_[0] > 0.99
    with dask_client.as_current():
        assert reg.score(X, X[:, 0] * 2 - X[:, 1], sample_weight=da.ones(20_000)) > 0.99


def test_a_search_runs_its_candidates_on_the_workers(dask_client, rows):
    X, y = (da.from_array(part[:20_000], chunks=(5000, *part.shape[1:])) for part in rows)
    search = TimeConstrainedSearch(
        DecisionTreeClassifier(),
        {"max_depth": [1, 2, 4, 8]},
        time_limit=20,
        backend=Dask(dask_client),
        n_jobs=2,
        random_state=0,
    )

    search.fit(X, y)

    assert search.best_params_["max_depth"] > 2
    assert search.best_score_ > 0.7


def test_a_scorer_that_looks_at_the_rows_gets_them(dask_client, rows):
    X, y = (da.from_array(part[:3000], chunks=(1000, *part.shape[1:])) for part in rows)

    def score(model, X, y):
        return float(np.mean(model.predict(X) == y) * (X.shape[1] == 10))

    clf = make_classifier(dask_client, DecisionTreeClassifier(max_depth=6), scoring=score, teacher="tct").fit(X, y)

    assert clf.history_[0].estimate > 0.5


def refuse(client, X, y, error, match, **arguments):
    with pytest.raises(error, match=match):
        make_classifier(client, GaussianNB()).fit(X, y, **arguments)


def test_bad_input_is_refused_in_a_sentence(dask_client, frame):
    ddf = dd.from_pandas(frame, npartitions=2)
    missing = frame.assign(label=frame["label"].where(frame["a"] > 0.1))
    one_class = frame.assign(label="low")
    how_told = {"missing": "label", "fails": "no such disk"}

    def make_part(number, how):
        if number == 4 and how == "fails":
            raise OSError("no such disk")
        part = frame[["a", "label"]][number * 100 : (number + 1) * 100]
        return part.rename(columns={"label": "other"}) if number == 4 else part

    refuse(dask_client, ddf, "labl", UserInputError, "no column 'labl'.*Did you mean 'label'")
    refuse(dask_client, ddf, frame["label"], UserInputError, "y is of type Series.*name of a column")
    refuse(dask_client, ddf, ddf["label"].repartition(npartitions=1), UserInputError, "2 partitions and y has 1")
    refuse(
        dask_client,
        dd.from_pandas(missing, npartitions=2),
        "label",
        UserInputError,
        r"Partition [01] of X: The column 'label' has missing values, at least \d+; every row needs one. Drop ",
    )
    refuse(dask_client, dd.from_pandas(one_class, npartitions=2), "label", ValueError, "only one class")
    refuse(
        dask_client, ddf, "label", UserInputError, "X_val has no column 'a'", X_val=frame[["b"]], y_val=frame["label"]
    )
    refuse(dask_client, ddf, "label", UserInputError, "X_val is of type str, and X a Dask", X_val="rows", y_val="label")
    for how in ("missing", "fails"):
        changed = dd.from_map(make_part, range(6), how=how, meta=frame[["a", "label"]][:0], enforce_metadata=False)
        refuse(dask_client, changed, "label", UserInputError, f"Partition 4 of X could not be read: .*{how_told[how]}")
    refuse(dask_client, "no/such/folder", "label", UserInputError, "There is no file or folder no/such/folder")


@pytest.mark.filterwarnings("error")
def test_a_partition_that_is_not_as_announced_is_named_and_loses_nothing(dask_client, frame):
    rows = frame.drop(columns=["kind", "weight"])

    def make(number, how):
        part = rows[number * 1000 : (number + 1) * 1000]
        if number != 4:
            return part
        return part.drop(columns="b") if how == "missing" else part.assign(b=part["b"].astype("float64"))

    for how, message in (
        ("missing", "Partition 4 of X has no column 'b'"),
        ("type", "holds float64 in the column 'b'"),
    ):
        changed = dd.from_map(make, range(10), how=how, meta=rows[:0], enforce_metadata=False)
        clf = make_classifier(dask_client, DecisionTreeClassifier(max_depth=3), teacher="tct", time_limit=8)
        with pytest.warns(DataSetWarning, match=f"{message}.* rows that could be read"):
            clf.fit(changed, "label")
        assert clf.n_rows_trained_ > 0


def test_partitions_that_are_not_needed_are_not_read(dask_client, tmp_path):
    def note(block, block_info=None):
        (tmp_path / str(block_info[0]["chunk-location"][0])).touch()
        return block

    rng = np.random.default_rng(0)
    X, n_chunks = rng.random((40_000, 3)), 80
    noted = da.from_array(X, chunks=(500, 3)).map_blocks(note, dtype=X.dtype)
    clf = make_classifier(
        dask_client, DecisionTreeClassifier(max_depth=3), teacher=TCT(first=100), on_round=lambda finished: True
    )
    clf.fit(noted, da.from_array((X[:, 0] > 0.5).astype(int), chunks=500))

    assert 2 <= len(list(tmp_path.iterdir())) <= 30 < n_chunks


def test_groups_last_rows_and_a_validation_set_are_held_out(dask_client, frame):
    class Remembers(DecisionTreeClassifier):
        def fit(self, X, y):
            self.places_ = X["place"].to_numpy()
            return super().fit(X[["a", "b"]], y)

        def predict(self, X, check_input=True):
            return super().predict(X[["a", "b"]])

    rows = frame[["a", "b", "label"]].assign(place=np.arange(10_000.0), group=np.arange(10_000) // 50)
    ddf, learner = dd.from_pandas(rows, npartitions=5), Remembers(max_depth=4)
    grouped = make_classifier(dask_client, learner, teacher="double").fit(ddf, "label", groups="group")
    plain = ddf.drop(columns="group")
    last = make_classifier(dask_client, learner, teacher="double", validation="last").fit(plain, "label")
    more = rows[:500].assign(place=-1.0).drop(columns="group")
    other = make_classifier(dask_client, learner).fit(plain, "label", X_val=more, y_val="label")

    _, counts = np.unique(grouped.best_estimator_.places_ // 50, return_counts=True)
    assert (counts == 50).all()
    assert len(counts) < 195
    assert last.best_estimator_.places_.max() < 9500
    assert other.n_rows_in_ == 10_000
    np.testing.assert_array_equal(np.sort(other.best_estimator_.places_), np.arange(10_000))


def test_files_that_dask_opened_are_read_in_blocks_with_the_types_of_the_frame(dask_client, frame, tmp_path):
    class Looking(GaussianNB):
        def fit(self, X, y):
            self.types_ = X.dtypes.astype(str).to_dict()
            return super().fit(X[["a", "b"]], y)

        def predict(self, X):
            return super().predict(X[["a", "b"]])

    rows = frame[["a", "b", "label"]].assign(text=[f"row {number}" for number in range(10_000)])
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    ddf = dd.read_parquet(str(tmp_path))[["label", "text", "b", "a"]]
    clf = make_classifier(dask_client, Looking()).fit(ddf, "label")

    assert clf.feature_names_in_.tolist() == ["text", "b", "a"]
    assert clf.best_estimator_.types_ == ddf.drop(columns="label").dtypes.astype(str).to_dict()
    assert clf.history_[-1].rows == 10_000


def test_frames_from_many_files_keep_their_partitions(dask_client, frame, tmp_path):
    """Dask joins the partitions of small files where few columns of them are read."""
    wide = frame[["a", "b", "c", "label"]].assign(**{f"unused {number}": 0.0 for number in range(20)})
    for number in range(10):
        wide[number * 1000 : (number + 1) * 1000].to_parquet(tmp_path / f"{number}.parquet")
    ddf = dd.read_parquet(str(tmp_path))
    features, label = ddf[["a", "b", "c"]], ddf["label"]
    computed = ddf[["a", "b", "c", "label"]].assign(d=ddf["a"] + ddf["b"])
    of_series = make_classifier(dask_client, DecisionTreeClassifier(max_depth=6)).fit(features, label)
    of_computed = make_classifier(dask_client, DecisionTreeClassifier(max_depth=6)).fit(computed, "label")
    with dask_client.as_current():
        predicted = of_series.predict(features).compute()
        scores = of_series.score(features, label), of_computed.score(computed, "label")

    assert of_series.history_[-1].rows == of_computed.history_[-1].rows == 10_000
    np.testing.assert_array_equal(predicted, of_series.predict(frame[["a", "b", "c"]]))
    assert min(scores) > 0.85


def test_a_collection_needs_this_backend(dask_client, frame):
    with pytest.raises(TypeError, match=r"backend=fitwithin\.backends\.Dask"):
        TimeConstrainedClassifier(GaussianNB()).fit(dd.from_pandas(frame, npartitions=2), "label")


def test_a_pipeline_with_categories_is_trained_on_a_plain_frame(dask_client, frame):
    learner = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(max_depth=3))
    clf = make_classifier(dask_client, learner).fit(frame[["kind"]], frame["label"])

    assert clf.n_rows_trained_ == len(frame)


def test_a_checkpoint_goes_on_with_the_same_collection(dask_client, rows, tmp_path):
    X, y = (da.from_array(part[:5000], chunks=(2500, *part.shape[1:])) for part in rows)
    settings = {"checkpoint": tmp_path / "fit.ckpt", "teacher": "tct"}

    first = make_classifier(dask_client, GaussianNB(), **settings).fit(X, y)
    again = make_classifier(dask_client, GaussianNB(), **settings).fit(X, y)

    assert len(again.history_) >= len(first.history_)
    assert again.n_rows_trained_ >= first.n_rows_trained_
