"""`fit` returns by its deadline with the best model so far, whatever the learner does."""

import os
import select
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
from fitwithin.testing import AwkwardClassifier, FakeClock

LIMIT_SECONDS = 1.5
# The deadline was missed by 0.04 s at most when measured; the rest is room for a slow or busy machine.
TOLERANCE_SECONDS = 0.5
# For fits that end by themselves.
AMPLE_SECONDS = 60

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
# Without a model there is less to do at the deadline, so these stand for the others.
HANGS_AT_ONCE = ["hangs in C", "ignores signals", "hangs in loky workers", "returns a large model"]
DEATHS = ["segfaults", "exits", "is killed"]


# A teacher whose rounds are known: 500, 1,000, 2,000, 4,000 rows.
SETTINGS = {"teacher": "tct", "random_state": 0}


@pytest.fixture(scope="module", autouse=True)
def warm_helper(rows):
    """Start the helper process, so that no test measures its imports."""
    X, y = rows
    TimeConstrainedClassifier(GaussianNB(), time_limit=AMPLE_SECONDS).fit(X[:600], y[:600])


def fit(learner, rows, **settings):
    """Return a fitted classifier and the seconds that the fit took."""
    classifier = TimeConstrainedClassifier(learner, **{"time_limit": LIMIT_SECONDS} | SETTINGS | settings)
    start = time.monotonic()
    classifier.fit(*rows)
    return classifier, time.monotonic() - start


def fit_with_late_round_4(learner, rows, *, seconds_left=LIMIT_SECONDS, start="auto", **settings):
    """Fit with a clock that skips ahead after round 3; return the classifier and the seconds from there to the end.

    Round 4 begins `seconds_left` before the deadline, however long the first three took.
    """
    skipped, skipped_at = FakeClock(), []

    def skip_ahead(finished):
        if finished.number == 3:
            skipped.advance(AMPLE_SECONDS - seconds_left - finished.elapsed)
            skipped_at.append(time.monotonic())

    classifier = TimeConstrainedClassifier(
        learner,
        time_limit=AMPLE_SECONDS,
        backend=Process(clock=lambda: time.monotonic() + skipped(), start=start),
        on_round=skip_ahead,
        **SETTINGS | settings,
    ).fit(*rows)
    return classifier, time.monotonic() - skipped_at[0]


def test_a_hanging_learner_is_stopped_and_the_model_of_an_earlier_round_returned(rows):
    classifier, _ = fit_with_late_round_4(AwkwardClassifier("hangs in Python", above=2000), rows, seconds_left=0.2)

    assert classifier.stop_reason_ == "time"
    assert [finished.rows for finished in classifier.history_] == [500, 1000, 2000]
    assert 0 < classifier.lost_seconds_ <= 0.2 + TOLERANCE_SECONDS
    assert classifier.score(*rows) > 0.5


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", HANGS)
def test_a_learner_that_hangs_in_round_4_leaves_the_model_of_an_earlier_one_in_time(trouble, rows):
    classifier, seconds = fit_with_late_round_4(AwkwardClassifier(trouble, above=2000), rows)

    assert seconds < LIMIT_SECONDS + TOLERANCE_SECONDS
    assert classifier.stop_reason_ == "time"
    # A large model that is no better than an earlier one is examined, and then not stored.
    assert len(classifier.history_) == 3 or trouble == "returns a large model"
    assert classifier.n_rows_trained_ in {finished.rows for finished in classifier.history_ if finished.best}
    assert classifier.score(*rows) > 0.5


class HangsWhenLoaded(GaussianNB):
    """Takes 40 MB above some rows, and then waits without end when it is loaded."""

    def fit(self, X, y):
        self.ballast_ = np.ones(5_000_000 if len(X) > 1000 else 1)
        return super().fit(X, y)

    def __setstate__(self, state):
        vars(self).update(state)
        if len(state.get("ballast_", ())) > 1:
            time.sleep(1000)


@pytest.mark.slow
def test_a_large_model_that_hangs_while_it_is_loaded_leaves_the_one_before_in_time(rows):
    skipped, skipped_at = FakeClock(), []

    def stop_late(finished):
        if finished.rows > 1000:
            skipped.advance(AMPLE_SECONDS - 1 - finished.elapsed)
            skipped_at.append(time.monotonic())
        return bool(skipped_at)

    backend = Process(clock=lambda: time.monotonic() + skipped())
    classifier = TimeConstrainedClassifier(
        HangsWhenLoaded(), time_limit=AMPLE_SECONDS, teacher=Double(first=500), backend=backend, on_round=stop_late
    ).fit(*rows)

    assert time.monotonic() - skipped_at[0] < 1 + TOLERANCE_SECONDS
    assert classifier.n_rows_trained_ == 1000
    assert [finished.rows for finished in classifier.history_] == [500, 1000, 2000]


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
def test_a_model_that_hangs_in_its_first_prediction_is_returned_without_a_score(rows):
    classifier, seconds = fit(AwkwardClassifier("hangs in predict"), rows)

    assert seconds < LIMIT_SECONDS + TOLERANCE_SECONDS
    assert classifier.stop_reason_ == "time"
    assert classifier.score_estimate_ is None


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", HANGS_AT_ONCE)
def test_a_learner_that_hangs_at_once_raises_no_model_in_time(trouble, rows):
    start = time.monotonic()
    with pytest.raises(NoModelInTime, match=r"No model within the limit of 1.5 s: after 1\.\d+ s .* Try a limit of \d"):
        fit(AwkwardClassifier(trouble), rows)

    assert time.monotonic() - start < LIMIT_SECONDS + TOLERANCE_SECONDS


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", [*DEATHS, "raises", "cannot be pickled"])
def test_a_learner_that_fails_in_a_later_round_leaves_an_earlier_model_and_a_warning(trouble, rows):
    with pytest.warns(RuntimeWarning, match=r"failed in round [45]") as warned:
        classifier, _ = fit(AwkwardClassifier(trouble, above=2000), rows, time_limit=AMPLE_SECONDS)

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.score(*rows) > 0.5
    if trouble == "raises":
        assert "in _raise" in str(warned[0].message)
        assert "ArithmeticError: no more than 2000 rows" in str(warned[0].message)


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", ["segfaults", "raises"])
def test_the_default_tries_fewer_rows_after_a_learner_that_failed(trouble, rows):
    with pytest.warns(RuntimeWarning, match="failed in round 2, training on") as warned:
        classifier, _ = fit(AwkwardClassifier(trouble, above=2000), rows, time_limit=AMPLE_SECONDS, teacher="auto")

    assert len(warned) == 1, "only the first failure is told"
    assert classifier.stop_reason_ == "learner failed"
    assert 1000 <= classifier.n_rows_trained_ <= 2000


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("trouble", DEATHS)
def test_a_death_in_round_1_raises_learner_failed(trouble, rows):
    with pytest.raises(LearnerFailed, match="died in round 1"):
        fit(AwkwardClassifier(trouble), rows, time_limit=AMPLE_SECONDS)


def test_an_exception_in_round_1_comes_out_as_itself_with_a_note(rows):
    with pytest.raises(ArithmeticError, match="no more than 0 rows") as caught:
        fit(AwkwardClassifier("raises"), rows, time_limit=AMPLE_SECONDS)

    assert "Raised by the learner in round 1" in caught.value.__notes__[0]
    assert "in _raise" in caught.value.__notes__[0]


def test_a_model_that_cannot_be_pickled_is_an_error_from_round_1(rows):
    with pytest.raises(TypeError, match="cannot be pickled"):
        fit(AwkwardClassifier("cannot be pickled"), rows, time_limit=AMPLE_SECONDS)


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize(
    "learner", [SVC(C=1e3, kernel="rbf"), RandomForestClassifier(300, n_jobs=2)], ids=["libsvm", "forest"]
)
def test_real_learners_that_need_longer_are_stopped(learner, rows):
    classifier, seconds = fit(learner, rows, teacher=TCT(first=200), time_limit=3)

    assert seconds < 3 + TOLERANCE_SECONDS
    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ < 100_000


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
def test_every_row_at_once_is_stopped_too(rows):
    with pytest.raises(NoModelInTime, match="training on 100,000 rows"):
        fit(SVC(C=1e3), rows, teacher=Full())


@pytest.mark.slow
def test_double_keeps_its_last_model_when_the_next_one_hangs(rows):
    classifier, seconds = fit_with_late_round_4(AwkwardClassifier("hangs in C", above=2000), rows, teacher=Double())

    assert seconds < LIMIT_SECONDS + TOLERANCE_SECONDS
    assert classifier.n_rows_trained_ == 2000
    assert classifier.score_estimate_ is None
    assert 0 < classifier.lost_seconds_ <= seconds


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
def test_a_spawned_worker_keeps_the_deadline_too(rows):
    learner = AwkwardClassifier("hangs in loky workers", above=2000)

    classifier, seconds = fit_with_late_round_4(learner, rows, start="spawn")

    assert seconds < LIMIT_SECONDS + TOLERANCE_SECONDS
    assert classifier.stop_reason_ == "time"
    assert classifier.n_rows_trained_ == 2000


SCRIPT = """
import numpy as np, os, signal, sys
from fitwithin import TimeConstrainedClassifier
from fitwithin.testing import AwkwardClassifier


class AnnouncingClassifier(AwkwardClassifier):
    # Hangs in C; once it has used the processor for half a second, the system writes a byte into the pipe.
    def fit(self, X, y):
        if len(X) > self.above:
            pipe = os.open(PIPE, os.O_WRONLY | os.O_NONBLOCK)
            signal.signal(signal.SIGVTALRM, lambda number, frame: None)
            signal.set_wakeup_fd(pipe)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)
        return super().fit(X, y)


# Tests that are started in the background ignore Ctrl-C, and so do their children.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.random((100_000, 4))
y = (X[:, 0] > 0.5).astype(int)
clf = TimeConstrainedClassifier(AnnouncingClassifier("hangs in C", above=ABOVE), time_limit=200, teacher="tct")
try:
    clf.fit(X, y)
    print("returned", clf.stop_reason_, clf.n_rows_trained_, clf.time_used_ < 190, flush=True)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""


@pytest.fixture
def script_with_hanging_learner(tmp_path):
    """A function that starts a script and returns it once the learner hangs."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Opened for reading and writing, the pipe does not block, and never reads as closed.
    reader = os.open(pipe, os.O_RDWR)

    def start(above):
        script = SCRIPT.replace("PIPE", repr(str(pipe))).replace("ABOVE", str(above))
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        started.append(process)
        ready, _, _ = select.select([reader], [], [], AMPLE_SECONDS)
        assert ready, "the learner did not hang"
        return process

    started = []
    yield start
    for process in started:
        process.kill()
        process.communicate()
    os.close(reader)


@pytest.mark.slow
@pytest.mark.clockless
def test_ctrl_c_means_deadline_now(script_with_hanging_learner):
    process = script_with_hanging_learner(above=1000)
    process.send_signal(signal.SIGINT)

    said, reason, rows, early = process.stdout.read().split()
    assert (said, reason, early) == ("returned", "interrupted", "True")
    assert int(rows) in (500, 1000)


@pytest.mark.slow
@pytest.mark.clockless
def test_ctrl_c_without_a_model_is_a_keyboard_interrupt(script_with_hanging_learner):
    process = script_with_hanging_learner(above=0)
    process.send_signal(signal.SIGINT)

    assert process.stdout.read().split() == ["KeyboardInterrupt"]


@pytest.mark.slow
@pytest.mark.clockless
def test_when_the_parent_is_killed_its_children_die_too(script_with_hanging_learner):
    process = script_with_hanging_learner(above=1000)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()

    assert len(children) >= 2
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive


@pytest.fixture
def attentive():
    """Turn Ctrl-C on: tests that are started in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("attentive")
def test_an_interrupted_fit_leaves_a_helper_that_works(rows):
    class Interrupting(GaussianNB):
        pass

    def interrupt(finished):
        os.kill(os.getpid(), signal.SIGINT)

    classifier, _ = fit(Interrupting(), rows, on_round=interrupt, time_limit=AMPLE_SECONDS)
    again, _ = fit(Interrupting(), rows, on_round=None, time_limit=AMPLE_SECONDS)

    assert classifier.stop_reason_ == "interrupted"
    assert len(classifier.history_) == 1
    assert again.stop_reason_ in ("all rows", "time")
    np.testing.assert_array_equal(classifier.classes_, again.classes_)
