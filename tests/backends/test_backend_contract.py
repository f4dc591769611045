"""Every backend passes the same contract; those that can stop a learner pass a longer one."""

import os
import socket
import subprocess
import sys
import threading
import warnings

import numpy as np
import psutil
import pytest

from fitwithin._core.budget import Budget
from fitwithin.backends import FitSettings, Inline, LearnerDied, Process
from fitwithin.backends._process import subprocesses
from fitwithin.backends._process.connection import Request
from fitwithin.backends._process.fork_host import ForkServerHandle, fork_servers
from fitwithin.backends._process.spawn_host import WorkerHandle
from fitwithin.teachers import Exam
from fitwithin.testing import AwkwardClassifier, BackendContract, KillableBackendContract
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner
from waiting import wait_until


class TestInline(BackendContract):
    make = staticmethod(Inline)


class TestFork(KillableBackendContract):
    make = staticmethod(lambda: Process(start="fork"))


@pytest.mark.slow
class TestSpawn(KillableBackendContract):
    make = staticmethod(lambda: Process(start="spawn"))


@pytest.mark.parametrize("backend", [Inline(), Process()], ids=["inline", "process"])
def test_a_fit_before_prepare_is_refused(backend):
    with backend.open(Budget(60)) as runner, pytest.raises(RuntimeError, match=r"prepare\(\) must be called"):
        runner.fit(np.arange(5))


def test_an_exam_before_a_fit_is_refused():
    with (
        open_runner(Inline(), RecordingClassifier(), make_pool()) as runner,
        pytest.raises(RuntimeError, match=r"fit\(\) must be called before examine"),
    ):
        runner.examine(Exam(np.arange(5)))


def test_an_unknown_start_method_is_refused():
    with pytest.raises(ValueError, match="'thread'"):
        Process(start="thread").open(None)


def test_a_learner_that_cannot_be_pickled_is_refused_with_advice():
    learner = RecordingClassifier()
    learner.warning = (part for part in "generators cannot be pickled")

    with pytest.raises(TypeError, match="backend='inline'"):
        open_runner(Process(), learner, make_pool())


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_memory_mapped_array_is_mapped_and_not_copied(start, tmp_path):
    pool = make_pool()
    mapped = np.memmap(tmp_path / "rows", mode="w+", shape=(210, 3), dtype=np.float32)
    mapped[10:] = pool.X
    pool.X = np.asarray(mapped)[10:]

    with open_runner(Process(start=start), RecordingClassifier(), pool) as runner:
        runner.fit(np.array([3, 100, 7]))
        model = runner.save()
        files = [os.readlink(f"/proc/self/fd/{file.fd}") for file in runner._rows.files]

    np.testing.assert_array_equal(model.load().X_, make_pool().X[[3, 100, 7]])
    model.discard()
    # The labels alone are copied.
    assert files[1:] == [str(tmp_path / "rows")]


def test_a_private_or_deleted_memory_map_is_read_like_any_array(tmp_path):
    pool = make_pool()
    pool.X.tofile(tmp_path / "rows")
    private = np.memmap(tmp_path / "rows", mode="c", shape=(200, 3), dtype=np.float32)
    private[5] = -1
    deleted = np.memmap(tmp_path / "rows", mode="r", shape=(200, 3), dtype=np.float32)
    os.unlink(tmp_path / "rows")

    for X in (private, deleted):
        pool.X = X
        with open_runner(Process(), RecordingClassifier(), pool) as runner:
            runner.fit(np.array([5, 6]))
            model = runner.save()
        np.testing.assert_array_equal(model.load().X_, X[[5, 6]])
        model.discard()


def test_each_row_enters_the_shared_map_once():
    pool = make_pool()
    with open_runner(Process(start="fork"), RecordingClassifier(), pool) as runner:
        runner.fit(np.arange(50))
        runner.examine(Exam(np.arange(50, 100)))
        runner.fit(np.arange(25, 75))
        runner.examine(Exam(np.arange(100)))

        assert runner._rows.n_appended == 100


def test_the_global_random_state_is_the_same_with_a_seed_and_differs_between_rounds_without():
    class Random(RecordingClassifier):
        def fit(self, X, y):
            self.draw_ = np.random.random()
            return super().fit(X, y)

    def draws(seed):
        models = []
        with Process().open(Budget(60)) as runner:
            runner.prepare(Random(), make_pool(), FitSettings(seed=seed))
            for _ in range(2):
                runner.fit(np.arange(5))
                models.append(runner.save())
        found = [model.load().draw_ for model in models]
        for model in models:
            model.discard()
        return found

    assert draws(1) == draws(1)
    assert len(set(draws(None) + draws(None))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("handle", [ForkServerHandle, WorkerHandle])
def test_an_idle_process_ends_by_itself_and_is_reaped(handle, monkeypatch):
    monkeypatch.setattr(subprocesses, "IDLE_SECONDS", 0.1)
    idle = handle()
    pid = idle._process.pid

    gone = wait_until(lambda: not psutil.pid_exists(pid), seconds=30)
    idle.close()

    assert gone


@pytest.mark.slow
def test_a_fork_server_that_died_while_idle_is_replaced():
    with open_runner(Process(start="fork"), RecordingClassifier(), make_pool()) as runner:
        server = psutil.Process(runner.host._server._process.pid)
    server.kill()

    with open_runner(Process(start="fork"), RecordingClassifier(), make_pool()) as runner:
        assert runner.fit(np.arange(9)).fit_seconds >= 0


def test_a_fork_server_that_dies_during_a_fit_is_reported_as_the_learners_death():
    with open_runner(Process(start="fork"), AwkwardClassifier("hangs in Python"), make_pool()) as runner:
        server = psutil.Process(runner.host._server._process.pid)
        threading.Timer(0.3, server.kill).start()
        with pytest.raises(LearnerDied):
            runner.fit(np.arange(30))


@pytest.mark.slow
def test_a_session_that_gave_up_on_a_fork_does_not_confuse_the_next_one():
    # The server answers a command of a session that no longer waits, as after a cold start that took too long.
    server = ForkServerHandle()
    ours, theirs = socket.socketpair()
    server.send(Request("fork_worker", (0,)), [theirs.fileno()])
    server.send(Request("end_session"))
    fork_servers.clear()
    fork_servers.give_back(server)

    with open_runner(Process(start="fork"), RecordingClassifier(), make_pool()) as runner:
        assert runner.host._server is server
        assert runner.fit(np.arange(9)).fit_seconds >= 0
        assert runner.examine(Exam(np.arange(9, 12))).wrong.shape == (3,)
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
print(clf.set_params(time_limit=60).fit(X, y).stop_reason_ in ("all rows", "no gain"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["True", "True"]


def test_an_exit_of_the_learner_is_reported_with_its_code():
    class Quitting(RecordingClassifier):
        def fit(self, X, y):
            sys.exit(4)

    with (
        open_runner(Process(start="fork"), Quitting(), make_pool()) as runner,
        pytest.raises(LearnerDied, match="exit code 4"),
    ):
        runner.fit(np.arange(5))


def test_a_warning_class_that_exists_only_here_reaches_the_user():
    class OwnWarning(UserWarning):
        pass

    class Warner(RecordingClassifier):
        def fit(self, X, y):
            warnings.warn("mine", OwnWarning, stacklevel=2)
            return super().fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with open_runner(Process(), Warner(), make_pool()) as runner:
            runner.fit(np.arange(5))
            saved = runner.save()
    with pytest.warns(OwnWarning, match="mine"):
        saved.load()
    saved.discard()
