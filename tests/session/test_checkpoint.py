"""A fit that is stored while it runs, and goes on after it was killed."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import textwrap
import time
import warnings
import zipfile
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from checkpoint_fits import KilledHere, TimedTree, UnstorableTree, kill_after, make_fit, make_rows
from fitwithin import CheckpointWarning, NoModelInTime, TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.exceptions import UserInputError
from fitwithin._session.checkpoint import Checkpoint, open_checkpoint, read_stored_seconds
from fitwithin._session.checkpoint_folder import STATE_FILE, read_checkpoint
from fitwithin.teachers import Auto, Exam, Lesson
from sample_fits import a_round


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.ckpt"


def kill(path, n_rounds, **settings):
    X, y = make_rows()
    with pytest.raises(KilledHere):
        make_fit(checkpoint=path, on_round=kill_after(n_rounds), **settings).fit(X, y)


def read_state(path):
    return read_checkpoint(path).state


def read_files(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def store_first_model_only(monkeypatch):
    """Let the first model and the last one be written."""
    monkeypatch.setattr(Checkpoint, "_is_due", lambda self, model, *, is_last: is_last or self._stored is None)


def list_named_files(path):
    """Return the names of the files that a checkpoint should have."""
    return {"fitwithin.lock", STATE_FILE, *json.loads((path / STATE_FILE).read_text())["files"].values()}


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_a_fit_that_was_killed_goes_on_with_its_history_its_time_and_its_model(path, n_rounds):
    X, y = make_rows()
    kill(path, n_rounds)
    before = read_state(path)

    resumed = make_fit(checkpoint=path).fit(X, y)

    assert tuple(resumed.history_[:n_rounds]) == before.history
    assert len(resumed.history_) > n_rounds
    assert [one.number for one in resumed.history_] == list(range(1, len(resumed.history_) + 1))
    elapsed = [one.elapsed for one in resumed.history_]
    assert elapsed == sorted(elapsed)
    assert before.seconds <= resumed.time_used_ <= 10
    # A model of more rows also wins if it is not clearly worse.
    assert resumed.n_rows_trained_ >= before.best.n_rows
    assert resumed.history_[-1].estimate >= before.best.estimate.low or resumed.n_rows_trained_ == before.best.n_rows


def test_auto_goes_on_from_the_best_rows_with_the_same_validation_rows_and_no_first_lesson(path):
    X, y = make_rows()
    kill(path, 2)
    before = read_state(path)

    resumed = make_fit(checkpoint=path).fit(X, y)

    after = read_state(path)
    np.testing.assert_array_equal(after.validation_rows, before.validation_rows)
    np.testing.assert_array_equal(after.holdout_rows, before.holdout_rows)
    assert min(one.rows for one in resumed.history_[2:]) >= before.best.n_rows
    assert all(one.predicted_fit is not None for one in resumed.history_[2:])
    assert not np.intersect1d(after.best.rows, after.validation_rows).size
    assert not np.intersect1d(after.best.rows, after.holdout_rows).size
    assert len(np.unique(after.best.rows)) == len(after.best.rows)


def test_all_calls_together_count_towards_the_limit(path):
    X, y = make_rows()
    first = make_fit(checkpoint=path, time_limit=6).fit(X, y)
    assert first.stop_reason_ == "time"

    second = make_fit(checkpoint=path, time_limit=10).fit(X, y)

    assert first.time_used_ <= 6 < second.time_used_ <= 10
    assert second.n_rows_trained_ >= first.n_rows_trained_
    assert second.history_[len(first.history_)].rows > first.n_rows_trained_
    assert second.time_limit_ == 10


def test_with_nothing_left_the_stored_model_comes_back_at_once(path):
    X, y = make_rows()
    first = make_fit(checkpoint=path, time_limit=6).fit(X, y)
    files = read_files(path)

    second = make_fit(checkpoint=path, time_limit=first.time_used_).fit(X, y)

    np.testing.assert_array_equal(second.predict(X), first.predict(X))
    assert second.history_ == first.history_
    assert second.stop_reason_ == "time"
    assert second.score_estimate_ == first.score_estimate_
    assert second.class_count_trained_.tolist() == first.class_count_trained_.tolist()
    assert read_files(path) == files


def test_the_same_call_after_all_rows_returns_the_stored_model(path):
    X, y = make_rows()
    first = make_fit(checkpoint=path, time_limit=1000).fit(X, y)
    assert first.stop_reason_ == "all rows"

    second = make_fit(checkpoint=path, time_limit=1000).fit(X, y)

    assert second.stop_reason_ == "all rows"
    assert second.history_ == first.history_
    assert second.time_used_ == pytest.approx(first.time_used_)


@pytest.mark.parametrize("teacher", ["tct", "double", "osct", "full"])
def test_other_teachers_begin_again_and_keep_the_stored_model_unless_they_beat_it(path, teacher):
    X, _ = make_rows()
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    stored = make_fit(checkpoint=path, time_limit=10).fit(X, y)

    again = make_fit(checkpoint=path, time_limit=stored.time_used_ + 0.5, teacher=teacher).fit(X, y)

    assert again.n_rows_trained_ == stored.n_rows_trained_
    np.testing.assert_array_equal(again.predict(X), stored.predict(X))


def test_a_teacher_that_returns_its_last_model_replaces_the_stored_one_by_a_larger_one(path):
    X, y = make_rows()
    stored = make_fit(checkpoint=path, time_limit=3, teacher="double").fit(X, y)

    again = make_fit(checkpoint=path, time_limit=1000, teacher="double").fit(X, y)

    assert again.n_rows_trained_ == len(X) > stored.n_rows_trained_


def test_auto_begins_again_after_another_teacher_and_validates_on_rows_that_it_did_not_train_on(path):
    X, y = make_rows()
    make_fit(checkpoint=path, time_limit=6).fit(X, y)
    make_fit(checkpoint=path, time_limit=12, teacher="tct").fit(X, y)

    make_fit(checkpoint=path, time_limit=30).fit(X, y)

    state = read_state(path)
    if state.history[-1].best:
        assert not np.intersect1d(state.best.rows, state.validation_rows).size


OTHER_FITS = {
    "rows of X: 20000 then, 19999 now": lambda X, y: (X[1:], y[1:], {}),
    "columns of X: 4 then, 3 now": lambda X, y: (X[:, :3], y, {}),
    "type of X: float64 then, float32 now": lambda X, y: (X.astype(np.float32), y, {}),
    "values of X: others now": lambda X, y: (X + 1, y, {}),
    "values of y: others now": lambda X, y: (X, np.where(np.arange(len(y)) == 77, 1 - y, y), {}),
    "sample_weight: none then": lambda X, y: (X, y, {"sample_weight": np.ones(len(y))}),
}


@pytest.mark.parametrize("difference", OTHER_FITS)
def test_other_rows_are_refused_with_what_differs(path, difference):
    X, y = make_rows()
    kill(path, 2)
    files = read_files(path)
    X, y, params = OTHER_FITS[difference](X, y)

    with pytest.raises(UserInputError, match="is of another fit") as caught:
        make_fit(checkpoint=path).fit(X, y, **params)

    assert difference in str(caught.value)
    assert "Name another folder, or delete this one" in str(caught.value)
    assert read_files(path) == files


@pytest.mark.parametrize(
    ("learner", "settings", "difference"),
    [
        (TimedTree(random_state=0, max_depth=3), {}, "its max_depth: None then, 3 now"),
        (
            UnstorableTree(random_state=0),
            {},
            "learner: checkpoint_fits.TimedTree then, checkpoint_fits.UnstorableTree now",
        ),
        (None, {"scoring": "roc_auc"}, "scoring: the default then, roc_auc now"),
    ],
)
def test_another_learner_is_refused_with_what_differs(path, learner, settings, difference):
    X, y = make_rows()
    kill(path, 2)

    with pytest.raises(UserInputError) as caught:
        make_fit(learner, checkpoint=path, **settings).fit(X, y)

    assert difference in str(caught.value)


def test_other_cores_and_another_seed_are_no_other_fit(path):
    X, y = make_rows()
    kill(path, 2)

    assert len(make_fit(checkpoint=path, random_state=7).fit(X, y).history_) > 2


def test_a_checkpoint_without_a_model_does_not_stand_in_the_way_of_another_fit(path):
    X, y = make_rows()
    with pytest.raises(NoModelInTime):
        make_fit(checkpoint=path, time_limit=0.1).fit(X, y)
    assert read_state(path).best is None

    assert make_fit(checkpoint=path).fit(X[1:], y[1:]).time_used_ <= 10
    assert set(os.listdir(path)) == list_named_files(path)


def test_time_that_earlier_calls_spent_without_a_model_does_not_count(path):
    X, y = make_rows()
    with pytest.raises(NoModelInTime):
        make_fit(checkpoint=path, time_limit=0.1).fit(X, y)
    assert read_state(path).seconds >= 0.1

    with pytest.raises(NoModelInTime) as caught:
        make_fit(checkpoint=path, time_limit=0.1).fit(X, y)

    assert "in earlier calls" not in str(caught.value)


def test_the_seconds_of_earlier_calls_are_known_before_the_rows(path):
    first = make_fit(checkpoint=path, time_limit=6).fit(*make_rows())

    assert read_stored_seconds(path) == pytest.approx(first.time_used_, abs=0.1)


def test_a_model_that_skops_cannot_store_is_fitted_again_on_its_rows(path):
    X, y = make_rows()
    with pytest.warns(CheckpointWarning, match="row numbers are stored") as caught:
        first = make_fit(UnstorableTree(random_state=0), checkpoint=path, time_limit=6).fit(X, y)
    assert len(caught) == 1
    assert read_state(path).model_record is None

    with pytest.warns(CheckpointWarning):
        second = make_fit(UnstorableTree(random_state=0), checkpoint=path, time_limit=60).fit(X, y)

    again = second.history_[len(first.history_)]
    assert again.rows == first.n_rows_trained_
    assert again.best
    assert again.estimate == first.history_[-1].estimate or not first.history_[-1].best
    with pytest.raises(NoModelInTime, match="in earlier calls"):
        make_fit(UnstorableTree(random_state=0), checkpoint=path, time_limit=6).fit(X, y)


def test_a_best_model_that_was_not_written_yet_is_fitted_again(path, monkeypatch):
    X, y = make_rows()
    store_first_model_only(monkeypatch)
    kill(path, 2)
    before = read_state(path)
    assert before.model_record.number == 1 < before.best.number

    resumed = make_fit(checkpoint=path).fit(X, y)

    assert read_state(path).model_record.number >= 3
    assert resumed.history_[2].rows == before.best.n_rows
    assert resumed.history_[2].best
    assert resumed.n_rows_trained_ >= before.best.n_rows


@pytest.mark.parametrize("lost", ["here", "here/fit.ckpt"])
def test_a_lost_folder_is_one_warning_and_not_the_end(lost, tmp_path):
    X, y = make_rows()
    path = tmp_path / "here" / "fit.ckpt"
    path.parent.mkdir()

    with pytest.warns(CheckpointWarning, match="could not be written: No such file or directory") as caught:
        fitted = make_fit(
            checkpoint=path, on_round=lambda finished: shutil.rmtree(tmp_path / lost, ignore_errors=True)
        ).fit(X, y)

    assert len(caught) == 1
    assert len(fitted.history_) > 2
    assert not path.exists()


def test_a_full_disk_is_one_warning_and_what_was_stored_stays(path):
    """A limit on the size of files stands for the disk."""
    X, y = make_rows()
    kill(path, 2)
    before = read_state(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.warns(CheckpointWarning, match="could not be written: File too large") as caught:
            fitted = make_fit(checkpoint=path).fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert len(caught) == 1
    assert len(fitted.history_) > 2
    assert read_state(path).history == before.history
    assert set(os.listdir(path)) == list_named_files(path)


def test_the_folder_must_be_there_at_the_start_and_hold_nothing_else(tmp_path):
    X, y = make_rows()
    with pytest.raises(UserInputError, match="There is no folder"):
        make_fit(checkpoint=tmp_path / "missing" / "fit.ckpt").fit(X, y)
    with pytest.raises(UserInputError, match="checkpoint must be a path or None; got 5"):
        make_fit(checkpoint=5).fit(X, y)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserInputError, match="holds other files and no checkpoint"):
        make_fit(checkpoint=tmp_path).fit(X, y)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_folder_that_cannot_be_written_to_is_said(path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(UserInputError, match="can't be written to: Permission denied"):
        make_fit(checkpoint=path).fit(*make_rows())


@pytest.mark.parametrize("missing", ["filelock", "skops"])
def test_without_a_library_the_error_says_what_to_install(path, monkeypatch, missing):
    X, y = make_rows()
    monkeypatch.setattr("fitwithin._core.install_command.find_spec", lambda name: None if name == missing else name)

    with pytest.raises(ImportError, match=rf"checkpoint needs {missing}.* pip install 'fitwithin\[models\]'"):
        make_fit(checkpoint=path).fit(X, y)


@pytest.mark.parametrize("content", [b"", b"label,a\n1,2\n", b"fitwithin checkpoint 1\n" + bytes(99)])
def test_a_file_is_refused_and_left_alone(path, content):
    X, y = make_rows()
    path.write_bytes(content)

    with pytest.raises(UserInputError, match=r"is a file; expected a folder\. Name another path, or delete it\.$"):
        make_fit(checkpoint=path).fit(X, y)

    assert path.read_bytes() == content


def test_a_damaged_model_is_refused(path):
    X, y = make_rows()
    kill(path, 2)
    file = path / read_checkpoint(path).state.model_record.file
    content = bytearray(file.read_bytes())
    content[3000] ^= 255
    file.write_bytes(content)

    with pytest.raises(UserInputError, match="damaged"):
        make_fit(checkpoint=path).fit(X, y)


def forge(path, **changes):
    """Rewrite a checkpoint: entries of ``state.json``, or arrays that it names."""
    state_file = path / STATE_FILE
    values = json.loads(state_file.read_text())
    rows_file = path / values["files"]["rows"]
    with np.load(rows_file) as file:
        arrays = dict(file)
    for name, value in changes.items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            values[name] = value
    state_file.write_text(json.dumps(values))
    np.savez(rows_file, **arrays)


FORGERIES = {
    "rows that do not exist": {"best_rows": np.array([10**6])},
    "negative rows": {"validation_rows": np.array([-5])},
    "rows that are no whole numbers": {"best_rows": np.array([0.5])},
    "a table of rows": {"best_rows": np.zeros((2, 2), dtype=int)},
    "rows in a pickle": {"holdout_rows": np.array([{}], dtype=object)},
    "marks of other rows": {"marks": np.zeros(3, dtype=np.uint8)},
    "no best": {"best": {}},
    "history of text": {"history": [{"number": "x"}]},
    "marks of a table": {"marks": np.zeros((20_000, 1), dtype=np.uint8)},
    "marks that are no bytes": {"marks": np.zeros(20_000)},
    "a stop reason": {"stop_reason": "because"},
    "costs": {"cost": [1]},
    "other costs": {"cost": {"fit_seconds": 1}},
    "a model of no rows": {"best_rows": np.zeros(0, dtype=int)},
    "infinite seconds": {"seconds": "x"},
    "files elsewhere": {"files": {"rows": "../rows-1.npz"}},
    "no files": {"files": []},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_state_is_refused_before_anything_is_done_with_it(path, forgery):
    X, y = make_rows()
    kill(path, 2)
    forge(path, **FORGERIES[forgery])

    with pytest.raises(UserInputError, match="damaged"):
        make_fit(checkpoint=path).fit(X, y)


class Stranger(BaseEstimator):
    """A type that is not the learner's."""

    opened = False

    def __setstate__(self, state):
        Stranger.opened = True


def test_a_checkpoint_of_a_newer_version_is_refused(path):
    X, y = make_rows()
    kill(path, 2)
    forge(path, version=4)

    with pytest.raises(UserInputError, match="written by a newer version"):
        make_fit(checkpoint=path).fit(X, y)


@pytest.mark.parametrize("name", ["model", "rows"])
def test_a_file_that_is_missing_is_named(path, name):
    kill(path, 2)
    file = json.loads((path / STATE_FILE).read_text())["files"][name]
    (path / file).unlink()

    with pytest.raises(UserInputError, match=f"is damaged: it has no file {file}"):
        make_fit(checkpoint=path).fit(*make_rows())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}"])
def test_a_damaged_state_is_refused(path, content):
    kill(path, 2)
    (path / STATE_FILE).write_bytes(content)

    with pytest.raises(UserInputError, match="is damaged"):
        make_fit(checkpoint=path).fit(*make_rows())


def test_a_strangers_model_of_other_types_is_not_opened(path):
    from fitwithin._core.model_file import dump_model

    X, y = make_rows()
    kill(path, 2)
    dump_model(Stranger(), path / read_checkpoint(path).state.model_record.file)
    Stranger.opened = False

    with pytest.raises(UserInputError, match=r"asks for .*Stranger.* Nothing in it was run"):
        make_fit(checkpoint=path).fit(X, y)

    assert not Stranger.opened


def test_nothing_in_a_checkpoint_is_a_pickle(path):
    kill(path, 3)

    assert {file.suffix for file in path.iterdir()} == {".json", ".lock", ".npz", ".skops"}
    for file in path.glob("*.npz"):
        with np.load(file, allow_pickle=False) as arrays:
            assert dict(arrays)
    for file in path.glob("*.skops"):
        assert zipfile.is_zipfile(file)
    json.loads((path / STATE_FILE).read_text())


def test_two_fits_on_one_checkpoint_are_refused(path):
    X, y = make_rows()
    messages = []

    def fit_again(finished):
        with pytest.raises(UserInputError) as caught:
            make_fit(checkpoint=path).fit(X, y)
        messages.append(str(caught.value))
        return True

    make_fit(checkpoint=path, on_round=fit_again).fit(X, y)

    assert "Another fit is using the checkpoint" in messages[0]
    assert set(os.listdir(path)) == list_named_files(path)


def test_what_a_kill_left_in_the_folder_is_deleted_and_files_of_others_are_not(path):
    X, y = make_rows()
    kill(path, 2)
    for name in (".state.json.0123abcd.part", "model-99.skops", "rows-98.npz"):
        (path / name).write_bytes(b"half a file")
    (path / "notes.txt").touch()

    make_fit(checkpoint=path).fit(X, y)

    assert set(os.listdir(path)) == {*list_named_files(path), "notes.txt"}


def test_the_working_folder_may_change_meanwhile(path, monkeypatch, tmp_path):
    X, y = make_rows()
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(tmp_path)

    make_fit(checkpoint="fit.ckpt", on_round=lambda finished: os.chdir(other)).fit(X, y)

    assert (path / STATE_FILE).exists()
    assert not os.listdir(other)


def test_the_folder_does_not_grow_without_end(path):
    X, y = make_rows()
    fitted = make_fit(checkpoint=path, teacher="osct", time_limit=3).fit(X, y)

    assert len(fitted.history_) > 5
    assert set(os.listdir(path)) == list_named_files(path)
    assert read_state(path).history == tuple(fitted.history_)


SLOW_TREE = """
    import time
    from sklearn.tree import DecisionTreeClassifier

    class SlowTree(DecisionTreeClassifier):
        def fit(self, X, y):
            time.sleep(0 if len(X) < 3000 else 60)
            return super().fit(X, y)
"""

SLOW_FIT = """
    import sys
    import numpy as np
    from fitwithin import TimeConstrainedClassifier
    from slow_tree import SlowTree

    X = np.random.default_rng(0).random((5000, 3))
    clf = TimeConstrainedClassifier(SlowTree(), time_limit=50, checkpoint=sys.argv[1], teacher="double", progress=False)
    clf.fit(X, (X[:, 0] > 0.5).astype(int))
"""


@pytest.mark.slow
def test_time_and_the_model_before_a_fit_that_was_killed_count(path):
    (path.parent / "slow_tree.py").write_text(textwrap.dedent(SLOW_TREE))
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SLOW_FIT), str(path)], cwd=path.parent)
    while not (path / STATE_FILE).exists():
        assert time.monotonic() < start + 60
        time.sleep(0.02)  # Another process begins its fit.
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=6)
    process.kill()
    process.wait()

    state = read_state(path)
    assert 2 < state.seconds < time.monotonic() - start
    assert state.model_record.number == state.best.number == len(state.history)
    with open_checkpoint(path, Budget(10)):
        assert read_stored_seconds(path) == state.seconds


@pytest.mark.slow
def test_writing_a_large_model_does_not_make_a_fit_late(path, rows):
    X, y = rows
    learner = ExtraTreesClassifier(100, random_state=0)
    clf = TimeConstrainedClassifier(learner, time_limit=12, checkpoint=path, progress=False)
    start = time.monotonic()

    with warnings.catch_warnings():
        # Whether there was time to store the best model depends on the machine.
        warnings.simplefilter("ignore", CheckpointWarning)
        clf.fit(X, y)

    assert time.monotonic() - start < 12.5
    assert read_state(path).best.n_rows == clf.n_rows_trained_


@pytest.mark.slow
@pytest.mark.clockless
@pytest.mark.long
def test_a_real_process_that_is_killed_at_random_moments_loses_the_fit_under_way_only(tmp_path):
    sys.path.insert(0, str(os.path.join(os.path.dirname(__file__), "..", "..", "benchmarks")))
    from _checkpoint_kills import kill_and_resume

    outcome = kill_and_resume(tmp_path, n_kills=3, time_limit=16.0, seed=0)

    assert outcome.n_kills == 3
    assert not outcome.losses
    assert outcome.seconds_used <= 16.0 + 0.5


def test_a_plain_tree_is_the_same_with_and_without_a_checkpoint(path):
    X, y = make_rows(5000)
    settings = {"time_limit": 60, "teacher": "tct"}

    plain = make_fit(DecisionTreeClassifier(random_state=0), **settings).fit(X, y)
    stored = make_fit(DecisionTreeClassifier(random_state=0), checkpoint=path, **settings).fit(X, y)

    assert [one.rows for one in stored.history_] == [one.rows for one in plain.history_]
    np.testing.assert_array_equal(stored.predict(X), plain.predict(X))


def test_a_model_that_there_was_no_time_to_store_is_said_at_once_and_by_the_next_call(path, monkeypatch):
    X, y = make_rows()
    monkeypatch.setattr(Checkpoint, "_predict_seconds", lambda self, model: 1e9 if self._stored else 0.0)
    with pytest.warns(CheckpointWarning, match="there was no time to store the best one"):
        first = make_fit(checkpoint=path, time_limit=6).fit(X, y)
    assert read_state(path).model_record.n_rows < first.n_rows_trained_

    with pytest.warns(
        CheckpointWarning, match=f"of {first.n_rows_trained_:,} rows. With a longer time_limit"
    ) as caught:
        second = make_fit(checkpoint=path, time_limit=first.time_used_).fit(X, y)

    assert len(caught) == 1
    assert second.n_rows_trained_ < first.n_rows_trained_


@pytest.mark.parametrize("n_rounds", [1, 2, 3])
def test_auto_goes_on_with_oversampling_although_it_has_no_model_to_examine_at_first(path, n_rounds):
    X, y = make_rows()
    kill(path, n_rounds, teacher=Auto(oversampling=True), time_limit=20)

    resumed = make_fit(checkpoint=path, teacher=Auto(oversampling=True), time_limit=20).fit(X, y)

    assert len(resumed.history_) > n_rounds


@pytest.mark.parametrize("has_lower_score", [False, True])
def test_a_best_model_that_was_not_written_survives_a_kill_before_it_is_fitted_again(
    has_lower_score, path, monkeypatch
):
    X, y = make_rows()
    store_first_model_only(monkeypatch)
    kill(path, 2)
    if has_lower_score:
        # It won with more rows.
        best = json.loads((path / STATE_FILE).read_text())["best"]
        forge(path, best={**best, "estimate": {**best["estimate"], "value": 0.1}})
    before = read_state(path)

    def be_killed(*_):
        raise KilledHere

    with monkeypatch.context() as patch:
        # The learner's own code is compared.
        patch.setattr(DecisionTreeClassifier, "fit", be_killed)
        with pytest.raises(KilledHere):
            make_fit(checkpoint=path).fit(X, y)

    after = read_state(path)
    assert after.best.number == before.best.number > 1
    np.testing.assert_array_equal(after.best.rows, before.best.rows)
    assert after.model_record.number == 1
    assert after.history == before.history


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_model_that_learns_in_batches_gives_way_to_one_that_had_as_many_rows(path, warm_start):
    X, y = make_rows(3000)
    learner = SGDClassifier(random_state=0)
    settings = {
        "teacher": "sgd",
        "backend": "inline",
        "warm_start": warm_start,
        "checkpoint": None if warm_start else path,
    }
    clf = make_fit(learner, time_limit=0.5, **settings).fit(X, y)
    assert clf.n_rows_trained_ == len(X)

    again = clf.set_params(time_limit=0.5 if warm_start else 1.5).fit(X, y)

    assert again.n_rows_trained_ == len(X)
    assert again.class_count_trained_.tolist() == np.bincount(y).tolist()
    assert any(one.best for one in again.history_ if one.elapsed > 0.5)


def test_a_state_is_written_at_the_deadline_in_the_time_that_is_reserved_for_the_model(path, monkeypatch):
    X, y = make_rows()
    monkeypatch.setattr(Checkpoint, "_predict_seconds", lambda self, model: 1e9 if self._stored else 0.0)
    with pytest.warns(CheckpointWarning, match="no time"):
        fitted = make_fit(checkpoint=path, time_limit=6).fit(X, y)

    state = read_state(path)

    assert state.history == tuple(fitted.history_)
    assert state.stop_reason == "time"
    assert state.best.n_rows == fitted.n_rows_trained_
    assert state.seconds == pytest.approx(fitted.time_used_, abs=0.1)


def test_a_model_that_is_not_the_best_of_all_calls_is_stored_until_the_best_is_fitted_again(path, monkeypatch):
    X, y = make_rows()
    with monkeypatch.context() as patch:
        store_first_model_only(patch)
        kill(path, 3)
    lost = read_state(path).best
    monkeypatch.setattr("fitwithin._core.cost.CostEstimates.may_finish", lambda self, rows: rows < lost.n_rows)

    with pytest.warns(CheckpointWarning, match="With a longer time_limit"):
        make_fit(checkpoint=path, teacher="tct").fit(X, y)

    state = read_state(path)
    if state.best.number == lost.number:
        assert state.best.estimate.value > state.model_record.estimate.value
    assert state.model_record.number > 1


def test_too_little_time_to_fit_the_only_model_again_is_said(path):
    X, y = make_rows(4000)
    with pytest.warns(CheckpointWarning):
        first = make_fit(UnstorableTree(random_state=0), checkpoint=path, time_limit=60).fit(X, y)
    assert first.stop_reason_ == "all rows"

    with pytest.raises(NoModelInTime, match=r"still training on .* in earlier calls"):
        make_fit(UnstorableTree(random_state=0), checkpoint=path, time_limit=first.time_used_ + 0.1).fit(X, y)


class Planning:
    """Fits and examines a few rows, and says what it expects."""

    returns = "best"

    def teach(self, deck):
        yield Lesson(np.arange(100), stop_after=1000.0, expected_score=0.75)
        yield Exam(np.arange(100, 200))
        return "all rows"


def test_plans_and_setups_are_stored(path):
    fitted = make_fit(ExtraTreesClassifier(5), teacher=Planning(), checkpoint=path).fit(*make_rows())

    (finished,) = fitted.history_
    assert finished.seconds_setup == 0.0
    assert finished.predicted_estimate == 0.75
    assert read_state(path).history == (finished,)


def test_a_round_of_another_version_is_read(path):
    kill(path, 2)
    values = asdict(a_round(1, peak_memory=7))
    for name in ("seconds_setup", "predicted_setup", "predicted_estimate"):
        assert values.pop(name) is None
    forge(path, history=[{**values, "a_number_of_later": 3.0}])

    assert read_state(path).history == (a_round(1, peak_memory=7),)


def test_a_call_that_finds_nothing_left_to_do_after_a_kill_has_ended_the_fit(path):
    X, y = make_rows()
    kill(path, 3)
    before = read_state(path)
    assert before.stop_reason is None

    again = make_fit(checkpoint=path, time_limit=before.seconds).fit(X, y)

    assert again.stop_reason_ == read_state(path).stop_reason == "time"
    assert read_state(path).history == before.history
    np.testing.assert_array_equal(read_state(path).best.rows, before.best.rows)


def make_transformed(function):
    return make_pipeline(FunctionTransformer(function), TimedTree(random_state=0))


def test_another_function_in_a_learner_is_refused(path):
    kill(path, 2, learner=make_transformed(lambda X: X))

    with pytest.raises(UserInputError, match=r"is of another fit\. its functiontransformer__func: others now"):
        make_fit(make_transformed(lambda X: -X), checkpoint=path).fit(*make_rows())


def test_a_function_that_skops_cannot_store_is_the_same_in_the_next_call(path):
    def transform(X):
        return X

    with pytest.warns(CheckpointWarning, match=r"transform'\. Its row numbers are stored"):
        first = make_fit(make_transformed(transform), checkpoint=path, time_limit=6).fit(*make_rows())

    with pytest.warns(CheckpointWarning, match="row numbers are stored"):
        second = make_fit(make_transformed(transform), checkpoint=path, time_limit=20).fit(*make_rows())

    assert tuple(second.history_[: len(first.history_)]) == tuple(first.history_)


UNCLEAR = make_transformed(np.frompyfunc(float, 1, 1))


def test_a_checkpoint_of_a_learner_that_cannot_be_compared_is_not_resumed(path):
    X, y = make_rows()
    kill(path, 2, learner=UNCLEAR)
    before = read_state(path)
    assert before.best is not None

    with (
        pytest.warns(CheckpointWarning, match="holds no model"),
        pytest.warns(
            CheckpointWarning, match="each call begins again: its functiontransformer__func cannot be compared"
        ),
    ):
        again = make_fit(UNCLEAR, checkpoint=path).fit(X, y)

    assert again.time_used_ <= 10
    assert again.history_[0].elapsed < before.seconds
    assert read_state(path).history == tuple(again.history_)


def test_warm_start_says_that_a_learner_cannot_be_compared():
    X, y = make_rows()
    clf = make_fit(UNCLEAR, warm_start=True).fit(X, y)

    with pytest.warns(RuntimeWarning, match="warm_start has no effect: its functiontransformer__func cannot"):
        clf.fit(X, y)

    assert clf.history_[0].elapsed < 10
