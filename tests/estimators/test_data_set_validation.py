"""Validation rows of data sets on disk that the user chose: groups, the last rows, and a validation set."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from disk_rows import make_mixed, make_numbers, write_blocks, write_files
from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.reading_order import choose_reading_order
from fitwithin._pools.sources.opening import open_source
from fitwithin._pools.target_pass import read_target
from fitwithin._session.held_out_rows import hold_out_in_blocks
from fitwithin.teachers import Auto


class Remembers(DecisionTreeClassifier):
    """A tree that remembers the places of its rows."""

    def fit(self, X, y):
        self.places_ = np.sort(X["place"].to_numpy())
        return super().fit(X[["x0", "x1"]], y)

    def predict(self, X, check_input=True):
        self.predicted_ = X["place"].to_numpy()
        return super().predict(X[["x0", "x1"]])


def fit(X, learner=None, validation="random", teacher="auto", backend="inline", **arguments):
    learner = Remembers(max_depth=5) if learner is None else learner
    clf = TimeConstrainedClassifier(
        learner, time_limit=30, backend=backend, validation=validation, teacher=teacher, random_state=0
    )
    return clf.fit(X, "label", **arguments)


@pytest.fixture
def frame():
    """Rows with their place in the data set, and a group of 50 rows side by side."""
    frame = make_numbers(6000).drop(columns="w")
    return frame.assign(place=np.arange(6000.0), group=[f"g{place // 50}" for place in range(6000)])


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("teacher", ["auto", "tct", "double"])
def test_the_last_rows_are_validation_and_holdout_rows(tmp_path, frame, backend, teacher):
    folder = write_files(frame.drop(columns="group"), tmp_path / "rows", 500)
    clf = fit(folder, validation="last", teacher=teacher, backend=backend)

    # One row in 20 is a validation row, and as many are holdout rows; a last fit may take them too.
    assert clf.history_[0].rows <= 5400
    first = [finished for finished in clf.history_ if finished.rows <= 5400]
    assert max(finished.validation_rows for finished in first) <= 300
    assert clf.n_rows_in_ == 6000
    assert clf.score_estimate_[0] > 0.85


def test_no_model_is_trained_on_the_last_rows_before_it_is_chosen(tmp_path, frame):
    folder = write_files(frame.drop(columns="group"), tmp_path / "rows", 500)
    clf = fit(folder, validation="last", teacher="double")

    assert clf.best_estimator_.places_.max() < 5700


def test_the_rows_of_a_group_stay_together(tmp_path, frame):
    folder = write_files(frame, tmp_path / "rows", 500)
    clf = fit(folder, groups="group", teacher="double")

    assert "group" not in clf.feature_names_in_
    groups, counts = np.unique(clf.best_estimator_.places_ // 50, return_counts=True)
    assert 100 <= len(groups) <= 114
    assert (counts == 50).all()


def test_a_group_by_name_works_for_a_frame_too(frame):
    named = fit(frame, groups="group", teacher="double")
    given = fit(frame.drop(columns="group"), groups=frame["group"], teacher="double")

    np.testing.assert_array_equal(named.best_estimator_.places_, given.best_estimator_.places_)


@pytest.mark.parametrize("kind", ["path", "pandas", "arrow", "polars", "values"])
def test_a_validation_set_is_a_path_or_a_frame(tmp_path, frame, kind):
    rows, more = frame.drop(columns="group"), make_numbers(900, seed=1).drop(columns="w").assign(place=-1.0)
    path = write_blocks(rows, tmp_path / "rows.parquet")
    shuffled = more[["place", "label", "x3", "x2", "x1", "x0"]]
    X_val, y_val = {
        "path": lambda: (write_blocks(shuffled, tmp_path / "more.parquet"), "label"),
        "pandas": lambda: (shuffled.rename(columns={"label": "truth"}), "truth"),
        "arrow": lambda: (pa.Table.from_pandas(shuffled), "label"),
        "polars": lambda: (pl.from_pandas(shuffled), "label"),
        "values": lambda: (shuffled.drop(columns="label"), shuffled["label"]),
    }[kind]()
    clf = fit(path, X_val=X_val, y_val=y_val)

    assert clf.n_rows_in_ == clf.n_rows_trained_ == 6000
    assert clf.class_count_.tolist() == rows["label"].value_counts().sort_index().tolist()
    np.testing.assert_array_equal(clf.best_estimator_.places_, np.arange(6000))
    assert clf.score_estimate_[1] < clf.score(more.drop(columns="label"), more["label"]) < clf.score_estimate_[2]


def test_rows_of_every_type_are_validation_rows(tmp_path):
    frame, more = make_mixed(3000), make_mixed(600, seed=1).drop(columns="w")
    path = write_blocks(frame, tmp_path / "rows.parquet")

    class Sums(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X.select_dtypes("float32"), y, sample_weight)

        def predict(self, X, check_input=True):
            return super().predict(X.select_dtypes("float32"))

    clf = fit(path, Sums(max_depth=5), sample_weight="w", X_val=more, y_val="label", backend="process")

    assert clf.score_estimate_[0] > 0.8


def test_a_regressor_is_chosen_on_its_last_rows(tmp_path):
    frame = make_numbers(4000).drop(columns=["label", "w"]).assign(value=lambda rows: 2 * rows.x0)
    path = write_blocks(frame, tmp_path / "rows.parquet")
    reg = TimeConstrainedRegressor(LinearRegression(), time_limit=30, backend="inline", validation="last")

    assert reg.fit(path, "value").score_estimate_[0] > 0.99


@pytest.mark.parametrize("arguments", [{"validation": "last"}, {"groups": "group"}])
def test_a_resumed_fit_holds_out_the_same_rows(tmp_path, frame, arguments):
    path = write_blocks(frame, tmp_path / "rows.parquet")
    columns = {} if "groups" in arguments else {"groups": None}
    validation = arguments.get("validation", "random")
    clf = TimeConstrainedClassifier(
        DecisionTreeClassifier(max_depth=5),
        time_limit=20,
        backend="inline",
        warm_start=True,
        validation=validation,
        teacher="tct",
    )
    X = path if "groups" in arguments else write_blocks(frame.drop(columns="group"), tmp_path / "plain.parquet")
    groups = arguments.get("groups", columns.get("groups"))
    first = clf.fit(X, "label", groups=groups).history_
    again = clf.fit(X, "label", groups=groups).history_

    assert list(again)[: len(first)] == list(first)


def refuse(X, error, match, **arguments):
    with pytest.raises(error, match=match):
        fit(X, **arguments)


def test_what_cannot_be_chosen_is_refused_in_a_sentence(tmp_path, frame):
    path = write_blocks(frame, tmp_path / "rows.parquet")
    known = frame.drop(columns="group")
    other_label = known.assign(label="maybe")

    refuse(path, UserInputError, "X_val has 0 rows; at least 2 are needed", X_val=frame[:0], y_val="label")
    empty = write_blocks(frame[:0], tmp_path / "empty.parquet")
    refuse(path, ValueError, "X_val has 0 rows; at least 2 are needed", X_val=empty, y_val="label")

    refuse(
        path,
        UserInputError,
        "the groups must be the name of one of its columns; got ndarray",
        groups=frame.place.to_numpy(),
    )
    refuse(path, UserInputError, "no column 'groop'.*Did you mean 'group'", groups="groop")
    refuse(path, UserInputError, "One column is the target and the groups", groups="label")
    refuse(path, UserInputError, "X_val has no column 'place'", X_val=known.drop(columns="place"), y_val="label")
    refuse(
        path,
        UserInputError,
        "'x0' of X_val holds .*string, which does not become float",
        X_val=frame.assign(x0="text"),
        y_val="label",
    )
    refuse(
        path,
        ValueError,
        "y_val holds labels that y does not have: 'maybe'",
        X_val=other_label.assign(group="a"),
        y_val="label",
    )
    refuse(path, UserInputError, "y_val must be 'label'", X_val=path, y_val="labels")
    refuse(path, UserInputError, "X_val is of type ndarray", X_val=np.zeros((2, 6)), y_val=[0, 1])
    missing = write_blocks(frame.assign(group=frame["group"].where(frame["place"] > 5)), tmp_path / "missing.parquet")
    refuse(missing, UserInputError, "'group' has missing values", groups="group")


@pytest.mark.parametrize("column", ["label", "x0"])
def test_the_interval_of_sorted_files_is_narrow_and_holds_the_score_once_all_are_read(tmp_path, column):
    n_held = 0
    for seed in range(8):
        rng, frame = np.random.default_rng(seed), make_numbers(20_000, seed).drop(columns="w")
        # Labels are noise where x0 is large, so that blocks of files sorted by it differ in accuracy.
        noise = rng.random(20_000) < np.where(frame.x0 > 0.5, 0.5, 0.03)
        frame["label"] = np.where((frame.x1 + frame.x2 > 0) ^ noise, "yes", "no")
        rows, test = frame[:16_000].sort_values(column), frame[16_000:]
        clf = fit(write_files(rows, tmp_path / str(seed), 500), DecisionTreeClassifier(max_depth=5), teacher=Auto())
        score, (_, low, high) = clf.score(test.drop(columns="label"), test["label"]), clf.score_estimate_
        # The score on 4,000 other rows has an error of its own.
        n_held += low - 0.01 < score < high + 0.01
        assert clf.n_rows_trained_ < 16_000 or high - low < 0.1

    assert n_held >= 7


@pytest.mark.parametrize("kind", ["path", "frame"])
def test_the_interval_of_a_validation_set_is_not_wider_for_the_blocks_of_the_training_rows(tmp_path, frame, kind):
    more = make_numbers(1000, seed=1).drop(columns="w").assign(place=0.0, group="b")
    X_val, y_val = more.drop(columns="label"), more["label"].to_numpy()
    if kind == "path":
        X_val, y_val = write_blocks(more, tmp_path / "val.parquet", 1000), "label"
    clf = fit(write_files(frame, tmp_path / "rows", 500), X_val=X_val, y_val=y_val)

    score, low, high = clf.score_estimate_
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(score * (1 - score) / 500), rel=0.02)


def test_random_held_out_rows_come_from_every_block(tmp_path):
    folder = write_files(make_numbers(20_000).drop(columns="w"), tmp_path / "rows", 500)
    found = read_target(open_source(folder, "label"), regression=False)
    found = hold_out_in_blocks(found, None, 0, seed=0, last=False, teacher_holds_out=True)
    index = choose_reading_order(found, np.random.default_rng(0))
    validation, holdout = index.list_held_out(np.random.default_rng(0))

    per_block = np.bincount(index.find_places(holdout), minlength=40)
    # 12.5 of each are expected, with a standard deviation of 3.5.
    assert 1 <= per_block.min() <= per_block.max() <= 30
    assert len(validation) == len(holdout) == 500
    assert not set(validation.tolist()) & set(holdout.tolist())
    training = index.list_training_rows(40)
    assert sorted([*training, *validation, *holdout]) == list(range(20_000))
    np.testing.assert_array_equal(index.drop_held_out(np.arange(20_000)), training)
