"""Real processes under a memory limit, with a learner that takes 50 bytes for each byte of its rows."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from fitwithin import NoModelInMemory, TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.teachers import TCT
from fitwithin.testing import HungryClassifier

MB = 1_000_000
ROWS = 100_000
ROW_BYTES = 20 * 8
BYTES_PER_BYTE = 50


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).random((ROWS, 20))
    return X, (X.sum(axis=1) > 10).astype(int)


def fitted(data, *, learner=None, **settings):
    learner = HungryClassifier(BYTES_PER_BYTE) if learner is None else learner
    clf = TimeConstrainedClassifier(learner, **{"time_limit": 60, "progress": False, "random_state": 0, **settings})
    return clf.fit(*data)


def base_bytes(clf):
    """The memory of the learner's process without its rows."""
    first = clf.history_[0]
    return first.peak_memory - BYTES_PER_BYTE * ROW_BYTES * first.rows


@pytest.mark.usefixtures("nothing_left_behind")
def test_without_a_limit_every_round_has_its_peak(data):
    clf = fitted(data)

    assert clf.stop_reason_ == "all rows"
    last = clf.history_[-1]
    assert last.peak_memory - base_bytes(clf) == pytest.approx(BYTES_PER_BYTE * ROW_BYTES * last.rows, rel=0.2)


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_auto_returns_a_model_of_fewer_rows_that_stayed_within_the_limit(data, start):
    clf = fitted(data, memory_limit="500MB", backend=Process(start=start))

    assert clf.stop_reason_ == "memory"
    assert clf.memory_limit_ == 500 * MB
    assert max(finished.peak_memory for finished in clf.history_) <= 500 * MB
    # All rows would take 800 MB beside the process itself, which has 100 to 200 MB.
    assert 0.2 * ROWS < clf.n_rows_trained_ < 0.6 * ROWS
    assert (clf.predict(data[0][:10]) == data[1][:10]).mean() > 0.5


@pytest.mark.usefixtures("nothing_left_behind")
def test_tct_ends_with_memory(data):
    clf = fitted(data, memory_limit="500MB", teacher=TCT(first=5000))

    assert clf.stop_reason_ == "memory"
    assert clf.history_[-1].rows in (20_000, 40_000)
    assert max(finished.peak_memory for finished in clf.history_) <= 500 * MB


@pytest.mark.usefixtures("nothing_left_behind")
def test_in_the_first_round_the_error_has_the_figures(data):
    with pytest.raises(NoModelInMemory, match=r"limit of 500 MB: in round 1, training on 100,000 rows") as refused:
        fitted(data, memory_limit="500MB", teacher="full")

    # The exception keeps its figures in its text alone.
    taken = float(str(refused.value).split("the learner took ")[1].split(" MB")[0]) * MB
    # How far it got is a matter of time: all rows take 800 MB beside the process itself.
    assert 500 * MB <= taken < 1100 * MB


class SuddenlyHungry(ClassifierMixin, BaseEstimator):
    """Takes memory without end above a number of rows, in itself or in two children."""

    def __init__(self, above, in_children=False):
        self.above = above
        self.in_children = in_children

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        if len(X) > self.above and self.in_children:
            joblib.Parallel(n_jobs=2)(joblib.delayed(take)(2000) for _ in range(2))
        elif len(X) > self.above:
            take(4000)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def take(megabytes):
    return len([np.ones(MB, dtype=np.uint8) for _ in range(megabytes)])


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("in_children", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_learner_that_takes_more_than_predicted_is_stopped_with_its_children(data, in_children):
    learner = SuddenlyHungry(3000, in_children)

    clf = fitted(data, learner=learner, memory_limit="600MB", teacher=TCT(first=1000))

    assert clf.stop_reason_ == "memory"
    assert [finished.rows for finished in clf.history_] == [1000, 2000]


@pytest.mark.usefixtures("nothing_left_behind")
def test_auto_goes_on_with_a_smaller_lesson_in_a_new_process(data):
    clf = fitted(data, learner=SuddenlyHungry(30_000), memory_limit="600MB")

    assert clf.stop_reason_ == "memory"
    assert 5000 < clf.n_rows_trained_ <= 30_000


class AdjustmentReader(GaussianNB):
    """Keeps the kernel's adjustments of its own process and of a child's."""

    def fit(self, X, y):
        self.own_ = Path("/proc/self/oom_score_adj").read_text()
        self.childs_ = subprocess.run(
            ["cat", "/proc/self/oom_score_adj"], capture_output=True, text=True, check=True
        ).stdout
        return super().fit(X, y)


@pytest.mark.skipif(sys.platform != "linux", reason="an adjustment of Linux")
@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_the_learners_process_is_the_systems_first_choice_when_memory_runs_out(data, start):
    ours = Path("/proc/self/oom_score_adj").read_text()

    model = fitted(data, learner=AdjustmentReader(), backend=Process(start=start)).best_estimator_

    assert int(model.own_) == int(model.childs_) == 1000
    assert Path("/proc/self/oom_score_adj").read_text() == ours


# A program that holds more than its learner takes, in a group that is full before the learner is done.
PROGRAM = """
    import warnings
    import numpy as np
    from fitwithin import TimeConstrainedClassifier
    from fitwithin.testing import HungryClassifier

    held = np.ones(700_000_000, dtype=np.uint8)
    X = np.random.default_rng(0).random((100_000, 20))
    warnings.simplefilter("ignore")
    clf = TimeConstrainedClassifier(HungryClassifier(50), teacher="double", time_limit=60, random_state=0)
    clf.fit(X, (X.sum(axis=1) > 10).astype(int))
    print(clf.stop_reason_, held[-1])
"""


def remove_group(folder):
    """Remove a memory group as soon as its last process, a fork server, has ended."""
    end = time.monotonic() + 10
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


@pytest.fixture
def memory_group():
    """A memory group of 1.2 GB below our own, of version 1: groups of version 2 that hold processes have none below."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" not in controllers.split(","):
            continue
        folder = Path("/sys/fs/cgroup/memory", path.lstrip("/"), f"fitwithin-test-{os.getpid()}")
        try:
            folder.mkdir()
        except OSError:
            continue
        (folder / "memory.limit_in_bytes").write_text("1200000000")
        yield folder
        remove_group(folder)
        return
    pytest.skip("no memory group can be made here")


@pytest.mark.slow
def test_in_a_full_memory_group_the_learner_dies_and_the_program_lives(memory_group):
    program = f"open('{memory_group}/cgroup.procs', 'w').write('0')\n" + textwrap.dedent(PROGRAM)

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["learner", "failed", "1"]
