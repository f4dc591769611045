"""The fork server: stopped, killed, out of resources; `fit` is in time, and nothing is left."""

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import psutil
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import LearnerFailedWarning, NoModelInTime, TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin.backends import LearnerDied, LearnerRaised, Process
from fitwithin.backends._process import fork_host, subprocesses
from fitwithin.backends._process.connection import Channel, Request
from fitwithin.backends._process.fork_host import ForkServerGone, ForkServerHandle, fork_servers
from fitwithin.teachers import TCT
from fitwithin.testing import AwkwardClassifier
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner
from waiting import wait_until

# Room for a busy machine; measured by benchmarks/faults.py.
TOLERANCE_SECONDS = 0.5


@pytest.fixture
def server():
    """An idle fork server that the next fit takes."""
    fork_servers.clear()
    with open_runner(Process(start="fork"), GaussianNB(), make_pool()) as runner:
        runner.fit(np.arange(9))
        handle = runner.host._server
    assert wait_until(lambda: handle.alive and not handle.owes_answer)
    yield psutil.Process(handle._process.pid)
    fork_servers.clear()


@pytest.mark.slow
@pytest.mark.clockless
def test_a_stopped_server_is_replaced_within_the_fit(server):
    server.suspend()

    classifier = TimeConstrainedClassifier(GaussianNB(), time_limit=60, random_state=0)
    classifier.fit(make_pool().X, np.arange(200) % 3)

    assert classifier.stop_reason_ == "all rows"
    assert wait_until(lambda: has_ended(server))


@pytest.mark.slow
@pytest.mark.clockless
def test_a_stopped_server_does_not_outlive_the_program(server):
    server.suspend()
    assert wait_until(lambda: server.status() == psutil.STATUS_STOPPED)

    fork_servers.clear()

    assert wait_until(lambda: has_ended(server))


@pytest.mark.parametrize("end", [(Channel, "send"), (pickle, "loads")], ids=["command", "answer"])
def test_a_server_whose_messages_were_not_counted_for_an_interrupt_is_not_used_again(server, end, monkeypatch):
    handle = fork_servers.take()

    def interrupt_after(*arguments):
        call(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        call = getattr(*end)
        patch.setattr(*end, interrupt_after)
        with pytest.raises(KeyboardInterrupt):
            handle.ask(Request("end_session"), Budget(60))
    fork_servers.give_back(handle)

    assert wait_until(lambda: has_ended(server))
    with open_runner(Process(start="fork"), GaussianNB(), make_pool()) as runner:
        runner.fit(np.arange(9))


@pytest.fixture
def hanging(tmp_path, monkeypatch):
    """A fork server that hangs in an import."""
    (tmp_path / "endless.py").write_text("import time; time.sleep(3600)")
    monkeypatch.syspath_prepend(tmp_path)
    handle = ForkServerHandle()
    assert wait_until(lambda: handle.alive and not handle.owes_answer)
    handle.import_modules(["endless"])
    yield handle
    handle.close()


def test_a_server_that_hangs_in_an_import_does_not_outlive_the_program(hanging):
    server = psutil.Process(hanging._process.pid)

    hanging.close()

    assert wait_until(lambda: has_ended(server))


@pytest.mark.slow
@pytest.mark.clockless
def test_a_server_that_hangs_in_an_import_is_replaced_and_ended(hanging, monkeypatch):
    monkeypatch.setattr(fork_host, "_PATIENCE_SECONDS", 0.1)
    server = psutil.Process(hanging._process.pid)
    fork_servers.clear()
    fork_servers.give_back(hanging)
    assert wait_until(lambda: not hanging.alive)

    classifier = TimeConstrainedClassifier(GaussianNB(), time_limit=60, random_state=0)
    classifier.fit(make_pool().X, np.arange(200) % 3)

    assert classifier.stop_reason_ == "all rows"
    assert wait_until(lambda: has_ended(server))


def test_a_server_whose_imports_take_long_is_waited_for(monkeypatch):
    monkeypatch.setattr(subprocesses, "PROCESS_POLL_SECONDS", 0.01)
    fork_servers.clear()

    with open_runner(Process(start="fork"), GaussianNB(), make_pool()) as runner:
        runner.fit(np.arange(9))


@pytest.mark.slow
def test_many_fits_with_a_stopped_server_are_all_in_time(server):
    server.suspend()
    X, y, seconds = make_pool().X, np.arange(200) % 3, []

    for _ in range(60):
        start = time.monotonic()
        with pytest.raises(NoModelInTime):
            TimeConstrainedClassifier(GaussianNB(), time_limit=0.03).fit(X, y)
        seconds.append(time.monotonic() - start)

    assert max(seconds) < 0.03 + TOLERANCE_SECONDS


def test_a_server_that_does_not_take_commands_never_blocks():
    server = ForkServerHandle()
    psutil.Process(server._process.pid).suspend()
    try:
        with pytest.raises(ForkServerGone):
            send_many(server)
    finally:
        server.close()


def send_many(server):
    for _ in range(10_000):
        server.send(Request("end_session"))


@pytest.mark.slow
def test_children_in_sessions_of_their_own_end_with_a_server_that_is_killed(server):
    known = {process.pid for process in psutil.process_iter()}
    with open_runner(Process(start="fork"), AwkwardClassifier("starts a session"), make_pool(), 3) as runner:
        try:
            with pytest.raises(LearnerDied):
                fit_and_kill(runner, server, known)
        finally:
            strays = new_sleepers(known)
    assert strays
    assert wait_until(lambda: all(map(has_ended, strays)))


def fit_and_kill(runner, server, known):
    """Fit; kill the server when the learner has started a process of its own."""

    def kill():
        wait_until(lambda: new_sleepers(known))
        server.kill()

    threading.Thread(target=kill).start()
    runner.fit(np.arange(9))


def new_sleepers(known):
    """Return the processes that `AwkwardClassifier("starts a session")` started."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.pid not in known and "time.sleep(3600" in " ".join(process.info["cmdline"] or ())
    ]


def has_ended(process):
    """Whether a process has ended; who adopted it may not have asked for its exit status."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
@pytest.mark.clockless
@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGTERM, signal.SIGHUP)], ids=["term", "term and hup"])
def test_signals_to_the_program_and_the_server_leave_no_folder(signals, tmp_path):
    script = """
from fitwithin import TimeConstrainedClassifier
from fitwithin.testing import AwkwardClassifier
import numpy as np
print("ready", flush=True)
X = np.random.default_rng(0).random((3000, 3))
TimeConstrainedClassifier(AwkwardClassifier("hangs in Python", above=1000), time_limit=600).fit(X, X[:, 0] > 0.5)
"""
    program = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    program.stdout.readline()
    assert wait_until(lambda: list(tmp_path.glob("fitwithin-*")), seconds=60)
    family = [psutil.Process(program.pid), *psutil.Process(program.pid).children(recursive=True)]

    for name in signals:
        for process in family[1:2] + family[:1]:
            process.send_signal(name)
    program.wait()
    program.stdout.close()

    assert wait_until(lambda: not list(tmp_path.glob("fitwithin-*")))
    assert wait_until(lambda: all(map(has_ended, family[1:])))


def test_an_exception_that_is_kept_holds_no_rows():
    class Raising(RecordingClassifier):
        def fit(self, X, y):
            raise ValueError("no")

    pool = make_pool()
    with open_runner(Process(start="fork"), Raising(), pool) as runner:
        try:
            runner.fit(np.arange(9))
        except LearnerRaised as error:
            kept = error
        maps = [weakref.ref(array.base) for array in runner._rows._maps]
    gc.collect()

    assert kept.__traceback__ is not None
    assert not any(reference() for reference in maps)


@pytest.mark.slow
@pytest.mark.clockless
def test_refused_descriptors_leak_none():
    X, y = make_pool().X, np.arange(200) % 3
    TimeConstrainedClassifier(GaussianNB(), time_limit=60).fit(X, y)
    gc.collect()
    limits, outcomes = resource.getrlimit(resource.RLIMIT_NOFILE), []
    n_before = max(map(int, os.listdir("/proc/self/fd")))
    # Without gaps, a limit on the numbers is a limit on how many there can be.
    fillers = []
    while not fillers or fillers[-1] < n_before:
        fillers.append(os.dup(0))
    before = os.listdir("/proc/self/fd")
    for spare in range(20):
        resource.setrlimit(resource.RLIMIT_NOFILE, (fillers[-1] + 1 + spare, limits[1]))
        try:
            TimeConstrainedClassifier(GaussianNB(), time_limit=20).fit(X, y)
            outcomes.append("fitted")
        except Exception as error:
            outcomes.append(type(error).__name__)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    gc.collect()
    left = len(os.listdir("/proc/self/fd")) - len(before)
    for filler in fillers:
        os.close(filler)

    assert left <= 0
    assert outcomes[0] != "fitted"
    assert outcomes[-1] == "fitted"
    # A second fit, with the rows kept back, may be the one that fails; the first model is returned with a warning.
    assert set(outcomes) <= {"fitted", "OSError", "LearnerFailed", "LearnerFailedWarning"}


class SlowToLoad(GaussianNB):
    """A model that takes long to load if it has learned from many rows."""

    def fit(self, X, y):
        self.seconds_ = 4.0 if len(X) > 600 else 0.0
        return super().fit(X, y)

    def __setstate__(self, state):
        time.sleep(state.get("seconds_", 0.0))
        super().__setstate__(state)


class FailsToLoad(GaussianNB):
    """A model that cannot be loaded if it has learned from many rows."""

    def fit(self, X, y):
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def __setstate__(self, state):
        if state.get("n_rows_", 0) > 600:
            raise RuntimeError("not here")
        super().__setstate__(state)


@pytest.mark.slow
def test_a_model_that_takes_too_long_to_load_gives_way_to_the_one_before(rows):
    TimeConstrainedClassifier(GaussianNB(), time_limit=60).fit(rows[0][:600], rows[1][:600])
    start = time.monotonic()

    classifier = TimeConstrainedClassifier(SlowToLoad(), time_limit=2, teacher=TCT(first=500), random_state=0)
    classifier.fit(*rows)

    assert time.monotonic() - start < 2 + TOLERANCE_SECONDS
    assert classifier.n_rows_trained_ == 500


@pytest.mark.slow
@pytest.mark.clockless
def test_a_model_that_cannot_be_loaded_leaves_the_one_before_and_a_warning(rows):
    classifier = TimeConstrainedClassifier(FailsToLoad(), time_limit=20, teacher=TCT(first=500), random_state=0)

    with pytest.warns(LearnerFailedWarning, match="not here"):
        classifier.fit(*rows)

    assert classifier.stop_reason_ == "learner failed"
    assert classifier.n_rows_trained_ == 500


KILLED_WITH_A_FORK = """
import glob, os, threading, time
import numpy as np
from fitwithin import TimeConstrainedClassifier
from fitwithin.testing import AwkwardClassifier

def fork():
    while not glob.glob(os.environ["TMPDIR"] + "/fitwithin-*"):
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)

threading.Thread(target=fork).start()
X = np.random.default_rng(0).random((3000, 3))
TimeConstrainedClassifier(AwkwardClassifier("hangs in Python"), time_limit=600).fit(X, X[:, 0] > 0.5)
"""


@pytest.mark.slow
@pytest.mark.clockless
def test_server_and_learner_end_with_a_program_that_was_forked_during_fit(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED_WITH_A_FORK],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    fork = psutil.Process(int(program.stdout.readline()))
    # The folder is there before the first worker is.
    assert wait_until(lambda: len(psutil.Process(program.pid).children(recursive=True)) > 2)
    others = [child for child in psutil.Process(program.pid).children(recursive=True) if child != fork]

    program.kill()
    program.wait()
    program.stdout.close()

    assert len(others) >= 2
    assert wait_until(lambda: all(map(has_ended, others)))
    assert wait_until(lambda: not list(tmp_path.glob("fitwithin-*")))
    assert fork.is_running()
    fork.kill()
