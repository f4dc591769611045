"""`fit` returns by its deadline with the best model so far, whatever the learner does."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from fitwithin import LearnerFailed, NoModelInTime, TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.teachers import TCT, Double, Full
from fitwithin.testing import AwkwardClassifier

LIMIT = 1.5
NOISE = 0.5

HANGS = [
    "hangs in Python",
    "hangs in C",
    "ignores signals",
    "hangs in threads",
    "hangs in loky workers",
    "returns a large model",
    "hangs in predict",
    "starts a session",
]
DEATHS = ["segfaults", "exits", "is killed"]


@pytest.fixture(scope="module", autouse=True)
def warm_helper(rows):
    """A cold start imports the libraries, which is not what is tested here."""
    X, y = rows
    TimeConstrainedClassifier(GaussianNB(), time_limit=60).fit(X[:600], y[:600])


def fit(learner, rows, **settings):
    """A classifier that was fitted, and the seconds that took."""
    # A teacher whose rounds are known: 500, 1,000, 2,000, 4,000 rows.
    known = {"time_limit": LIMIT, "teacher": "tct", "random_state": 0}
    classifier = TimeConstrainedClassifier(learner, **known | settings)
    start = time.monotonic()
    classifier.fit(*rows)
    return classifier, time.monotonic() - start


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", HANGS)
def test_a_learner_that_hangs_in_round_4_leaves_the_model_of_an_earlier_one_in_time(trouble, rows):
    classifier, seconds = fit(AwkwardClassifier(trouble, above=2000), rows)

    assert seconds < LIMIT + NOISE
    assert classifier.stop_reason_ == "time"
    # A large model that is no better than an earlier one is examined, and then not stored.
    assert len(classifier.history_) == 3 or trouble == "returns a large model"
    assert classifier.n_rows_taught_ in {finished.rows for finished in classifier.history_ if finished.best}
    assert classifier.score(*rows) > 0.5


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", HANGS)
def test_a_learner_that_hangs_at_once_raises_no_model_in_time(trouble, rows):
    start = time.monotonic()
    with pytest.raises(NoModelInTime, match=r"No model within the limit of 1.5 s: after 1\.\d+ s .* A limit of \d"):
        fit(AwkwardClassifier(trouble), rows)

    assert time.monotonic() - start < LIMIT + NOISE


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", [*DEATHS, "raises", "cannot be pickled"])
def test_a_learner_that_fails_in_a_later_round_leaves_an_earlier_model_and_a_warning(trouble, rows):
    with pytest.warns(RuntimeWarning, match=r"failed in round [45]") as warned:
        classifier, _ = fit(AwkwardClassifier(trouble, above=2000), rows, time_limit=20)

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.score(*rows) > 0.5
    if trouble == "raises":
        assert "in _raise" in str(warned[0].message)
        assert "ArithmeticError: no more than 2000 rows" in str(warned[0].message)


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", DEATHS)
def test_a_death_in_round_1_raises_learner_failed(trouble, rows):
    with pytest.raises(LearnerFailed, match="died in round 1"):
        fit(AwkwardClassifier(trouble), rows, time_limit=20)


def test_an_exception_in_round_1_comes_out_as_itself_with_a_note(rows):
    with pytest.raises(ArithmeticError, match="no more than 0 rows") as caught:
        fit(AwkwardClassifier("raises"), rows, time_limit=20)

    assert "Raised by the learner in round 1" in caught.value.__notes__[0]
    assert "in _raise" in caught.value.__notes__[0]


def test_a_model_that_cannot_be_pickled_is_an_error_from_round_1(rows):
    with pytest.raises(TypeError, match="cannot be pickled"):
        fit(AwkwardClassifier("cannot be pickled"), rows, time_limit=20)


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize(
    "learner", [SVC(C=1e3, kernel="rbf"), RandomForestClassifier(300, n_jobs=2)], ids=["libsvm", "forest"]
)
def test_real_learners_that_need_longer_are_stopped(learner, rows):
    classifier, seconds = fit(learner, rows, teacher=TCT(first=200), time_limit=3)

    assert seconds < 3 + NOISE
    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_taught_ < 100_000


@pytest.mark.usefixtures("nothing_left_behind")
def test_every_row_at_once_is_stopped_too(rows):
    with pytest.raises(NoModelInTime, match="training on 100,000 rows"):
        fit(SVC(C=1e3), rows, teacher=Full())


def test_double_keeps_its_last_model_when_the_next_one_hangs(rows):
    classifier, seconds = fit(AwkwardClassifier("hangs in C", above=2000), rows, teacher=Double())

    assert seconds < LIMIT + NOISE
    assert classifier.n_rows_taught_ == 2000
    assert classifier.score_estimate_ is None


@pytest.mark.usefixtures("nothing_left_behind")
def test_a_spawned_worker_keeps_the_deadline_too(rows):
    backend = Process(start="spawn")
    X, y = rows
    TimeConstrainedClassifier(GaussianNB(), time_limit=60, backend=backend).fit(X[:600], y[:600])

    classifier, seconds = fit(AwkwardClassifier("hangs in loky workers", above=2000), rows, backend=backend)

    assert seconds < LIMIT + NOISE
    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_taught_ == 2000


SCRIPT = """
import numpy as np, signal, sys, time
from fitwithin import TimeConstrainedClassifier
from fitwithin.testing import AwkwardClassifier

# Whoever starts the tests in the background lets them ignore Ctrl-C, and their children too.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.random((100_000, 4))
y = (X[:, 0] > 0.5).astype(int)
clf = TimeConstrainedClassifier(AwkwardClassifier("hangs in C", above=ABOVE), time_limit=60, teacher="tct")
clf.set_params(on_round=lambda r: print("round", r.number, flush=True))
print("begin", flush=True)
try:
    clf.fit(X, y)
    print("returned", clf.stop_reason_, clf.n_rows_taught_, clf.time_used_ < 50, flush=True)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""


def start_script(above):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.replace("ABOVE", str(above))], stdout=subprocess.PIPE, text=True
    )


def read_until(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")


def hanging_learner(process):
    """Wait until the learner is at work: a fork of the helper that uses the processor."""
    parent = psutil.Process(process.pid)
    while True:
        for child in parent.children(recursive=True):
            if child.ppid() != process.pid and child.cpu_times().user > 0.5:
                return child
        time.sleep(0.02)


def test_ctrl_c_means_deadline_now():
    with start_script(above=1000) as process:
        read_until(process, "round 2")
        hanging_learner(process)
        process.send_signal(signal.SIGINT)

        said, reason, rows, early = process.stdout.read().split()
    assert (said, reason, early) == ("returned", "interrupted", "True")
    assert int(rows) in (500, 1000)


def test_ctrl_c_without_a_model_is_a_keyboard_interrupt():
    with start_script(above=0) as process:
        read_until(process, "begin")
        hanging_learner(process)
        process.send_signal(signal.SIGINT)

        assert process.stdout.read().split() == ["KeyboardInterrupt"]


def test_when_the_parent_is_killed_its_children_die_too():
    with start_script(above=1000) as process:
        read_until(process, "round 2")
        hanging_learner(process)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()

    assert len(children) >= 2
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive


@pytest.fixture
def attentive():
    """Ctrl-C is heard, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("attentive")
def test_an_interrupted_fit_leaves_a_helper_that_works(rows):
    class Interrupting(GaussianNB):
        pass

    def interrupt(finished):
        os.kill(os.getpid(), signal.SIGINT)

    classifier, _ = fit(Interrupting(), rows, on_round=interrupt)
    again, _ = fit(Interrupting(), rows, on_round=None)

    assert classifier.stop_reason_ == "interrupted"
    assert len(classifier.history_) == 1
    assert again.stop_reason_ in ("all rows", "time")
    np.testing.assert_array_equal(classifier.classes_, again.classes_)
