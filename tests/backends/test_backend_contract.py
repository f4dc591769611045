"""The contract of all backends, the longer one of those that can stop a learner, and details of the process backend."""

import os
import signal
import socket
import subprocess
import sys
import threading
import warnings

import numpy as np
import psutil
import pytest

from fitwithin._core.exceptions import LearnerDied
from fitwithin.backends import FitSettings, Inline, Process
from fitwithin.backends._process.fork_host import Helper, helpers
from fitwithin.backends._process.spawn_host import Worker
from fitwithin.testing import BackendContract, KillableBackendContract
from fitwithin.testing._backends import RecordingClassifier, a_pool, seated


class TestInline(BackendContract):
    make = staticmethod(Inline)


class TestFork(KillableBackendContract):
    make = staticmethod(lambda: Process(start="fork"))


@pytest.mark.slow
class TestSpawn(KillableBackendContract):
    make = staticmethod(lambda: Process(start="spawn"))


def test_an_unknown_way_to_start_is_refused():
    with pytest.raises(ValueError, match="'thread'"):
        Process(start="thread").open(None)


def test_a_learner_that_cannot_be_pickled_is_refused_with_advice():
    learner = RecordingClassifier()
    learner.warning = (part for part in "generators cannot be pickled")

    with pytest.raises(TypeError, match="backend='inline'"):
        seated(Process(), learner, a_pool())


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_memory_mapped_array_is_mapped_and_not_copied(start, tmp_path):
    pool = a_pool()
    mapped = np.memmap(tmp_path / "rows", mode="w+", shape=(210, 3), dtype=np.float32)
    mapped[10:] = pool.X
    pool.X = np.asarray(mapped)[10:]

    with seated(Process(start=start), RecordingClassifier(), pool) as runner:
        runner.fit(np.array([3, 100, 7]))
        model = runner.save()
        shared = len(runner._rows.files)

    np.testing.assert_array_equal(model.load().X_, a_pool().X[[3, 100, 7]])
    model.discard()
    assert shared == 1  # The labels alone.


def test_a_private_or_deleted_memory_map_is_read_like_any_array(tmp_path):
    pool = a_pool()
    pool.X.tofile(tmp_path / "rows")
    private = np.memmap(tmp_path / "rows", mode="c", shape=(200, 3), dtype=np.float32)
    private[5] = -1
    deleted = np.memmap(tmp_path / "rows", mode="r", shape=(200, 3), dtype=np.float32)
    os.unlink(tmp_path / "rows")

    for X in (private, deleted):
        pool.X = X
        with seated(Process(), RecordingClassifier(), pool) as runner:
            runner.fit(np.array([5, 6]))
            model = runner.save()
        np.testing.assert_array_equal(model.load().X_, X[[5, 6]])
        model.discard()


def test_each_row_enters_the_shared_map_once():
    pool = a_pool()
    with seated(Process(start="fork"), RecordingClassifier(), pool) as runner:
        runner.fit(np.arange(50))
        runner.examine(np.arange(50, 100))
        runner.fit(np.arange(25, 75))
        runner.examine(np.arange(100))

        assert runner._rows.length == 100


def test_a_learner_with_the_global_random_state_repeats_itself_under_a_seed_and_differs_between_rounds_without():
    class Random(RecordingClassifier):
        def fit(self, X, y):
            self.draw_ = np.random.random()
            return super().fit(X, y)

    def draws(seed):
        models = []
        with Process().open(_long()) as runner:
            runner.prepare(Random(), a_pool(), FitSettings(seed=seed))
            for _ in range(2):
                runner.fit(np.arange(5))
                models.append(runner.save())
        found = [model.load().draw_ for model in models]
        for model in models:
            model.discard()
        return found

    assert draws(1) == draws(1)
    assert len(set(draws(None) + draws(None))) == 4


def _long():
    from fitwithin._core.budget import Budget

    return Budget(60)


@pytest.mark.slow
@pytest.mark.parametrize("handle", [Helper, Worker])
def test_an_idle_process_ends_by_itself_and_is_reaped(handle):
    before = set(threading.enumerate())
    idle = handle(idle_seconds=0.1)
    (reaper,) = set(threading.enumerate()) - before

    if handle is Worker:
        idle.channel(_long())
        idle.rest()
    reaper.join(timeout=60)
    idle.close()

    assert not psutil.pid_exists(idle._process.pid)


@pytest.mark.slow
def test_a_helper_that_died_while_idle_is_replaced():
    with seated(Process(start="fork"), RecordingClassifier(), a_pool()) as runner:
        helper = psutil.Process(runner._host._helper._process.pid)
    helper.kill()

    with seated(Process(start="fork"), RecordingClassifier(), a_pool()) as runner:
        assert runner.fit(np.arange(9)).fit_seconds >= 0


def test_a_helper_that_dies_during_a_fit_is_reported_as_the_death_of_the_learner():
    class KillsItsHelper(RecordingClassifier):
        def fit(self, X, y):
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()

    with seated(Process(start="fork"), KillsItsHelper(), a_pool()) as runner:
        helper = runner._host._helper._process
        with pytest.raises(LearnerDied):
            runner.fit(np.arange(30))

    assert helper.wait(timeout=60) == -signal.SIGKILL


@pytest.mark.slow
def test_a_session_that_gave_up_on_a_fork_does_not_confuse_the_next_one():
    # The helper answers an order of an earlier session, as after a cold start that took too long.
    helper = Helper()
    helper._serial += 1
    ours, theirs = socket.socketpair()
    helper._order("fork", helper._serial, descriptors=[theirs.fileno()])
    helper.rest()
    helpers.clear()
    helpers.give_back(helper)

    with seated(Process(start="fork"), RecordingClassifier(), a_pool()) as runner:
        assert runner._host._helper is helper
        assert runner.fit(np.arange(9)).fit_seconds >= 0
        assert runner.examine(np.arange(9, 12)).wrong.shape == (3,)
    for end in (ours, theirs):
        end.close()


@pytest.mark.slow
def test_a_retry_after_a_cold_start_that_took_too_long_works():
    script = """
import numpy as np
from fitwithin import NoModelInTime, TimeConstrainedClassifier
from sklearn.naive_bayes import GaussianNB

X = np.random.default_rng(0).random((3000, 3))
y = X[:, 0] + 0.3 * X[:, 1] ** 3 > 0.6
clf = TimeConstrainedClassifier(GaussianNB(), time_limit=0.2)
try:
    clf.fit(X, y)
except NoModelInTime as error:
    print("process was still starting" in str(error))
print(clf.set_params(time_limit=60).fit(X, y).stop_reason_)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["True", "all rows"]


def test_an_exit_of_the_learner_is_reported_with_its_code():
    class Quitting(RecordingClassifier):
        def fit(self, X, y):
            sys.exit(4)

    with (
        seated(Process(start="fork"), Quitting(), a_pool()) as runner,
        pytest.raises(LearnerDied, match="exit code 4"),
    ):
        runner.fit(np.arange(5))


def test_a_warning_of_a_class_defined_here_reaches_the_user():
    class OwnWarning(UserWarning):
        pass

    class Warner(RecordingClassifier):
        def fit(self, X, y):
            warnings.warn("mine", OwnWarning, stacklevel=2)
            return super().fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with seated(Process(), Warner(), a_pool()) as runner:
            runner.fit(np.arange(5))
            kept = runner.save()
    with pytest.warns(OwnWarning, match="mine"):
        kept.load()
    kept.discard()
