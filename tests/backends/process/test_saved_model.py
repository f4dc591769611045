"""The process backend saves models to shared files, and knows their size."""

import os
import threading
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from fitwithin.backends import Process
from fitwithin.backends._process.saved_model import Loader, ProcessModel, predict_load_seconds
from fitwithin.backends._process.shared_memory import PickledObject, SharedFile
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner


def test_a_loaded_forest_predicts_the_same_after_its_file_is_closed():
    X = np.random.default_rng(0).random((200, 3))
    forest = RandomForestClassifier(5, random_state=0).fit(X, X[:, 0] > 0.5)
    file = SharedFile()
    PickledObject(forest).write(file.fd)
    saved = ProcessModel(file, save_seconds=0.0, load_seconds=0.0, warnings=[], n_bytes=file.n_bytes, begin_dump=None)

    model = saved.load()
    saved.discard()

    np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))


def test_a_model_is_expected_to_load_a_little_slower_than_in_a_clean_process():
    assert predict_load_seconds(1.0) > 1.0
    assert predict_load_seconds(0.0) > 0.0


def test_a_saved_model_knows_the_size_of_its_file():
    with open_runner(Process(), RecordingClassifier(), make_pool()) as runner:
        runner.fit(np.arange(9))
        saved = runner.save()
        size = saved.file.n_bytes
        saved.discard()

    assert saved.n_bytes == size > 0


class Heavy(RecordingClassifier):
    """Takes 4 MB a row, and notes in a file who loads it."""

    def __init__(self, file=""):
        super().__init__()
        self.file = file

    def fit(self, X, y):
        self.ballast_ = np.ones(len(X) * 500_000)
        return super().fit(X, y)

    def __setstate__(self, state):
        vars(self).update(state)
        if "ballast_" in state:
            with open(self.file, "a", encoding="utf-8") as log:
                log.write(f"{os.getpid()} {len(self.ballast_) // 500_000}\n")


def read_loads(file):
    """Return the rows of the models that other processes have loaded, and of those that this one has."""
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    here = str(os.getpid())
    return [int(rows) for pid, rows in lines if pid != here], [int(rows) for pid, rows in lines if pid == here]


def test_a_large_model_of_types_that_loaded_before_is_loaded_once(tmp_path):
    file = tmp_path / "loads"
    with open_runner(Process(), Heavy(str(file)), make_pool()) as runner:
        for n_rows in (2, 20):
            runner.fit(np.arange(n_rows))
            saved = runner.save()
        model = saved.load()

    assert len(model.X_) == 20
    assert read_loads(file) == ([2], [20])
    assert 0 < saved.load_seconds < 5


def test_a_large_model_of_types_that_no_process_has_loaded_is_loaded_in_a_clean_one_first(tmp_path):
    file = tmp_path / "loads"
    with open_runner(Process(), Heavy(str(file)), make_pool()) as runner:
        runner.fit(np.arange(20))
        runner.save()

    assert read_loads(file) == ([20], [])


def no_process():
    """Start no process: none is needed to decide what must be loaded, or to predict how long it takes."""
    raise AssertionError


def test_types_of_scikit_learn_need_no_clean_process():
    rows = np.random.default_rng(0).random((100, 2))
    kinds = PickledObject(GaussianNB().fit(rows, rows[:, 0] > 0.5)).kinds

    assert "sklearn.naive_bayes.GaussianNB" in kinds
    assert not Loader(no_process).must_check(kinds, 1 << 30, 1 << 10)
    assert Loader(no_process).must_check({*kinds, "mine.Learner"}, 1 << 30, 1 << 10)


def test_a_model_of_many_small_objects_is_loaded_in_a_clean_process_first():
    assert Loader(no_process).must_check(set(), 1 << 30, 1 << 29)


def test_seconds_of_loading_follow_the_bytes_of_the_largest_model():
    loaded = Loader(no_process)
    assert 1 < loaded.predict(1_000_000_000) < 10

    loaded.observe(set(), 1_000_000, 0.001)
    loaded.observe(set(), 10_000_000, 0.02)
    loaded.observe(set(), 2_000_000, 0.001)

    assert loaded.predict(1_000_000_000) == 2.0


def test_the_size_of_a_model_is_known_before_it_is_saved():
    with open_runner(Process(), RecordingClassifier(), make_pool()) as runner:
        report = runner.fit(np.arange(9))
        saved = runner.save()

    assert 0 < report.model_bytes <= saved.n_bytes < report.model_bytes + 1000


def test_an_object_that_cannot_be_pickled_has_no_size_before_it_is_saved():
    with open_runner(Process(), Unpicklable(), make_pool()) as runner:
        assert runner.fit(np.arange(9)).model_bytes is None


class Unpicklable(RecordingClassifier):
    def fit(self, X, y):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


class NotesProcesses(RecordingClassifier):
    """Notes in a file who unpickles it."""

    def __init__(self, file=""):
        super().__init__()
        self.file = file

    def __setstate__(self, state):
        vars(self).update(state)
        with open(self.file, "a", encoding="utf-8") as log:
            log.write(f"{os.getpid()}\n")


def test_what_the_learner_needs_is_imported_for_its_models_before_the_first_is_saved(tmp_path):
    file = tmp_path / "processes"
    end = time.monotonic() + 30

    with open_runner(Process(), NotesProcesses(str(file)), make_pool()) as runner:
        runner.fit(np.arange(9))
        while len(set(file.read_text().split())) < 2 and time.monotonic() < end:
            time.sleep(0.01)  # The other process sends nothing before it is asked.

    assert len(set(file.read_text().split())) == 2
