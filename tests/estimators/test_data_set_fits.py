"""Fits on data sets on disk."""

import contextlib
import glob
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import polars as pl
import pyarrow.dataset as ds
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from disk_rows import make_mixed, make_numbers, open_troubled, write_blocks, write_files
from fitwithin import DataSetWarning, TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._core.exceptions import NoModelInTime, UserInputError
from fitwithin.backends import Process


def a_classifier(learner=None, **arguments):
    arguments = {"time_limit": 30, "backend": "inline", "random_state": 0} | arguments
    return TimeConstrainedClassifier(DecisionTreeClassifier(max_depth=6) if learner is None else learner, **arguments)


class WeightedColumns(DecisionTreeClassifier):
    """A tree that remembers what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.columns_, self.types_ = list(X.columns), X.dtypes.astype(str).tolist()
        self.weights_ = None if sample_weight is None else np.asarray(sample_weight)
        return super().fit(X.select_dtypes("float32"), y, sample_weight=sample_weight)

    def predict(self, X, check_input=True):
        return super().predict(X.select_dtypes("float32"))


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("kind", ["path", "text", "folder", "glob", "list", "dataset"])
def test_data_sets_of_every_kind_are_learned(tmp_path, backend, kind):
    if backend == "process" and kind != "path":
        pytest.skip("the backend does not see the difference")
    frame = make_numbers(6000).drop(columns="w")
    folder = write_files(frame, tmp_path / "rows", 1000)
    X = {
        "path": folder / "00000000.parquet",
        "text": str(folder / "00000000.parquet"),
        "folder": folder,
        "glob": str(folder / "*.parquet"),
        "list": sorted(folder.iterdir()),
        "dataset": ds.dataset(folder),
    }[kind]
    clf = a_classifier(backend=backend).fit(X, "label")

    assert clf.stop_reason_ == "all rows"
    assert clf.n_rows_in_ == (1000 if kind in ("path", "text") else 6000)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.class_count_.sum() == clf.n_rows_in_
    assert clf.n_features_in_ == 4
    assert clf.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    assert clf.score(frame.drop(columns="label"), frame.label) > 0.9
    assert clf.score_estimate_[1] < 0.98


@pytest.mark.parametrize("backend", ["inline", "process", Process(start="spawn")])
def test_columns_of_every_type_and_weights_reach_the_learner(tmp_path, backend):
    frame = make_mixed(4000)
    path = write_blocks(frame, tmp_path / "rows.parquet")
    clf = a_classifier(WeightedColumns(max_depth=4), backend=backend).fit(path, "label", sample_weight="w")

    features = frame.drop(columns=["label", "w"])
    assert clf.best_estimator_.columns_ == features.columns.tolist()
    assert clf.best_estimator_.types_ == features.dtypes.astype(str).tolist()
    assert set(clf.best_estimator_.weights_) <= set(frame.w)


@pytest.mark.parametrize("estimator", [TimeConstrainedClassifier, TimeConstrainedRegressor])
def test_a_folder_with_an_empty_file_is_learned(tmp_path, estimator):
    frame = make_numbers(3000).drop(columns="w").assign(label=lambda rows: (rows.x0 > 0).astype(float))
    frame[:0].to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet")
    learner = DecisionTreeClassifier() if estimator is TimeConstrainedClassifier else LinearRegression()

    fitted = estimator(learner, time_limit=30, backend="inline").fit(tmp_path, "label")

    assert fitted.n_rows_in_ == 3000
    assert fitted.n_rows_trained_ in (2700, 3000), "with or without the rows kept back"
    assert len(fitted.predict(tmp_path)) == 3000


def test_a_lazy_frame_reaches_the_learner_as_polars(tmp_path):
    path = write_blocks(make_mixed(3000), tmp_path / "rows.parquet")
    encoder = make_column_transformer((OneHotEncoder(), ["city"]), ("passthrough", ["x0", "x1"]))
    clf = a_classifier(make_pipeline(encoder, DecisionTreeClassifier(max_depth=5)))

    clf.fit(pl.scan_parquet(path).filter(pl.col("x2") > 0).drop("w"), "label")

    assert clf.n_rows_in_ < 2000
    assert clf.score_estimate_[0] > 0.8


def test_a_regressor_learns_a_column(tmp_path):
    frame = make_numbers(5000).drop(columns=["label", "w"])
    frame["value"] = 3 * frame.x0 - frame.x1
    reg = TimeConstrainedRegressor(LinearRegression(), time_limit=30, backend="inline", random_state=0)

    reg.fit(write_blocks(frame, tmp_path / "rows.parquet"), "value")

    assert reg.score_estimate_[0] > 0.999
    assert reg.predict(frame.drop(columns="value")).shape == (5000,)


def test_a_search_learns_from_a_data_set(tmp_path):
    path = write_blocks(make_numbers(4000).drop(columns="w"), tmp_path / "rows.parquet")
    search = TimeConstrainedSearch(
        DecisionTreeClassifier(), {"max_depth": [2, 6]}, time_limit=6, backend="inline", random_state=0
    )
    search.fit(path, "label")

    assert search.best_score_ > 0.8
    assert search.n_rows_in_ == 4000


@pytest.mark.parametrize("teacher", ["auto", "tct", "double", "full", "osct", "tct_al"])
def test_every_teacher_learns_from_a_data_set(tmp_path, teacher):
    path = write_blocks(make_numbers(1500).drop(columns="w"), tmp_path / "rows.parquet", 300)
    clf = a_classifier(DecisionTreeClassifier(max_depth=3), teacher=teacher, time_limit=4).fit(path, "label")

    assert clf.best_estimator_.classes_.tolist() == ["no", "yes"]


def test_a_learner_that_goes_on_learns_from_a_data_set(tmp_path):
    path = write_blocks(make_numbers(1500).drop(columns="w"), tmp_path / "rows.parquet", 300)

    assert a_classifier(GaussianNB(), teacher="sgd", time_limit=2).fit(path, "label").n_rows_trained_ > 0


def test_a_file_sorted_by_class_is_learned_like_a_shuffled_one(tmp_path):
    frame = make_numbers(20_000).drop(columns="w")
    test = make_numbers(5000, seed=9)
    ordered = write_blocks(frame.sort_values("label"), tmp_path / "sorted.parquet", 1000)
    shuffled = write_blocks(frame, tmp_path / "shuffled.parquet", 1000)
    stop = {"teacher": "double", "on_round": lambda finished: finished.rows >= 4000}
    scores = [
        a_classifier(GaussianNB(), **stop).fit(path, "label").score(test.drop(columns=["label", "w"]), test.label)
        for path in (ordered, shuffled)
    ]

    assert abs(scores[0] - scores[1]) < 0.01


def test_the_same_random_state_gives_the_same_model(tmp_path):
    path = write_blocks(make_numbers(5000).drop(columns="w"), tmp_path / "rows.parquet")
    fits = [a_classifier(teacher="double").fit(path, "label") for _ in range(2)]

    assert [finished.estimate for finished in fits[0].history_] == [finished.estimate for finished in fits[1].history_]


def test_a_fit_goes_on_from_its_checkpoint_unless_a_file_has_changed(tmp_path):
    frame = make_numbers(5000).drop(columns="w")
    path = write_blocks(frame, tmp_path / "rows.parquet")
    arguments = {"checkpoint": tmp_path / "fit.checkpoint", "on_round": lambda finished: True}
    first = a_classifier(**arguments).fit(path, "label")
    second = a_classifier(**arguments).fit(path, "label")
    assert len(second.history_) > len(first.history_)

    write_blocks(frame.iloc[:4000], path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="rows of X: 5000 then, 4000 now"):
            a_classifier(**arguments).fit(path, "label")


def test_a_warm_start_goes_on_with_the_same_rows(tmp_path):
    path = write_blocks(make_numbers(5000).drop(columns="w"), tmp_path / "rows.parquet")
    clf = a_classifier(warm_start=True, on_round=lambda finished: True)
    clf.fit(path, "label")
    n_before = len(clf.history_)
    clf.on_round = None
    clf.fit(path, "label")

    assert len(clf.history_) > n_before
    assert clf.stop_reason_ in ("all rows", "no gain")
    assert clf.n_rows_trained_ <= clf.history_[-1].rows == 4_500


def test_a_file_that_vanishes_during_fit_is_a_warning_and_leaves_a_model(tmp_path):
    folder = write_files(make_numbers(10_000).drop(columns="w"), tmp_path / "rows", 500)
    # Each file is opened for its schema or footer, its labels, and its rows: these are the last to go.
    n_openings = _count_openings(folder)
    with pytest.warns(DataSetWarning, match=r"parquet.*trained on rows of the [1-9][\d,]* of 10,000 rows"):
        clf = a_classifier(GaussianNB()).fit(open_troubled(folder, n_good=n_openings - 8), "label")

    assert clf.score_estimate_[0] > 0.8


def _count_openings(folder):
    data = open_troubled(folder, n_good=10**6)
    a_classifier(GaussianNB()).fit(data, "label")
    return 10**6 - data.filesystem.handler.fs.n_good


def test_a_data_set_without_any_rows_that_can_be_read_is_an_error(tmp_path):
    folder = write_files(make_numbers(2000).drop(columns="w"), tmp_path / "rows", 500)
    n_openings = _count_openings(folder)
    with pytest.raises(UserInputError, match="parquet"):
        a_classifier(GaussianNB()).fit(open_troubled(folder, n_good=n_openings - 4), "label")


def test_an_unusable_spool_folder_is_an_error(tmp_path):
    path = write_blocks(make_numbers(900).drop(columns="w"), tmp_path / "rows.parquet")
    with pytest.raises(UserInputError, match=r"spool folder .*missing cannot be used"):
        a_classifier(backend=Process(spool=tmp_path / "missing")).fit(path, "label")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.4, 2.0])
def test_a_slow_file_system_never_makes_a_fit_late(tmp_path, seconds):
    folder = write_files(make_numbers(4000).drop(columns="w"), tmp_path / "rows", 100)
    data = open_troubled(folder)
    data.filesystem.handler.fs.seconds = seconds / 8
    start = time.monotonic()
    with contextlib.suppress(NoModelInTime):
        a_classifier(GaussianNB(), backend="process", time_limit=6).fit(data, "label")

    assert time.monotonic() - start < 6.5 + seconds / 8


ENDING_CHILD = """
import sys
from disk_rows import open_troubled
from sklearn.naive_bayes import GaussianNB
from fitwithin import TimeConstrainedClassifier

data = open_troubled(sys.argv[1])
data.filesystem.handler.fs.seconds = 0.1
classifier = TimeConstrainedClassifier(GaussianNB(), time_limit=30, backend="inline", on_round=lambda finished: True)
classifier.fit(data, "label")
"""


@pytest.mark.slow
@pytest.mark.clockless
def test_a_program_may_end_while_a_block_is_read(tmp_path):
    folder = write_files(make_numbers(4000).drop(columns="w"), tmp_path / "rows", 100)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    done = subprocess.run([sys.executable, "-c", ENDING_CHILD, folder], env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


CHILD = """
import sys
BEGUN = sys.argv[3] + "/begun"
from sklearn.tree import DecisionTreeClassifier
from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Process

class Slow(DecisionTreeClassifier):
    def fit(self, X, y):
        import time
        open(BEGUN, "w").close()
        time.sleep(60)

TimeConstrainedClassifier(Slow(), time_limit=60, backend=Process(spool=sys.argv[2])).fit(sys.argv[1], "label")
"""


@pytest.mark.slow
@pytest.mark.clockless
@pytest.mark.skipif(sys.platform != "linux", reason="files of the spool have names elsewhere")
def test_a_kill_leaves_nothing_in_the_spool_folder(tmp_path):
    path = write_blocks(make_mixed(20_000).drop(columns="w"), tmp_path / "rows.parquet")
    spool = tmp_path / "spool"
    spool.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen([sys.executable, "-c", CHILD, path, spool, tmp_path], env=environment)
    try:
        while not (tmp_path / "begun").exists() and child.poll() is None:
            time.sleep(0.05)
        assert child.poll() is None
        assert any(str(spool) in os.readlink(file) for file in glob.glob(f"/proc/{child.pid}/fd/*"))
        assert not list(spool.iterdir())
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()

    assert not list(spool.iterdir())
