"""The spawned worker: no other process can talk to it, and it ends with the program."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from fitwithin.backends import LearnerDied, Process
from fitwithin.backends._process.spawn_host import WorkerHandle
from fitwithin.teachers import Exam
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner


class Reading(RecordingClassifier):
    """Reads standard input in `fit`."""

    def fit(self, X, y):
        super().fit(X, y)
        self.read_ = sys.stdin.read(), os.read(0, 10)
        return self


class Forking(RecordingClassifier):
    """Dies in `fit`, and leaves a child that holds everything open."""

    def __init__(self, path=""):
        self.path = path

    def fit(self, X, y):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        Path(self.path).write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def has_ended(pid):
    end = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_running(pid)


def test_a_worker_serves_rounds_without_a_port():
    with open_runner(Process(start="spawn"), RecordingClassifier(), make_pool()) as runner:
        runner.fit(np.arange(9))
        assert runner.examine(Exam(np.arange(9, 12))).wrong.shape == (3,)
        ours = {os.getpid(), runner._learner.pid}
        listening = [found for found in psutil.net_connections("inet") if found.pid in ours]

    assert not listening


def test_a_learner_finds_the_end_of_standard_input():
    with open_runner(Process(start="spawn"), Reading(), make_pool()) as runner:
        runner.fit(np.arange(9))
        model = runner.save()

        assert model.load().read_ == ("", b"")
        model.discard()


def test_a_learner_in_a_fork_finds_the_end_of_standard_input():
    with open_runner(Process(start="fork"), Reading(), make_pool()) as runner:
        runner.fit(np.arange(9))
        model = runner.save()

    assert model.load().read_ == ("", b"")
    model.discard()


@pytest.mark.slow
def test_the_end_of_a_worker_is_seen_although_a_child_of_the_learner_holds_its_socket(tmp_path):
    learner = Forking(str(tmp_path / "child"))
    with (
        open_runner(Process(start="spawn"), learner, make_pool()) as runner,
        pytest.raises(LearnerDied, match="SIGKILL"),
    ):
        runner.fit(np.arange(9))

    assert has_ended(int((tmp_path / "child").read_text()))


def test_a_worker_whose_end_was_interrupted_can_be_ended_again(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    handle = WorkerHandle()
    with monkeypatch.context() as patch:
        patch.setattr(handle, "_kill", interrupt)
        with pytest.raises(KeyboardInterrupt):
            handle.end()

    handle.end()

    assert has_ended(handle.pid)


KILLED_DURING_FIT = """
import os, sys, threading, time
import numpy as np
from fitwithin.backends import Process
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner

class Endless(RecordingClassifier):
    def fit(self, X, y):
        open(self.warning, "w").close()
        time.sleep(60)

with open_runner(Process(start="spawn"), Endless(sys.argv[1]), make_pool()) as runner:
    def fork():
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        sibling = os.fork()
        if sibling == 0:
            time.sleep(60)
            os._exit(0)
        print(runner._learner.pid, sibling, runner.host._folder, flush=True)

    threading.Thread(target=fork).start()
    runner.fit(np.arange(30))
"""


@pytest.mark.slow
def test_a_worker_ends_with_the_program_although_a_fork_of_it_lives_on(tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED_DURING_FIT, str(tmp_path / "fitting")],
        stdout=subprocess.PIPE,
        text=True,
    )
    worker, sibling, folder = program.stdout.readline().split()
    program.kill()
    program.wait()

    worker_ended = has_ended(int(worker))
    sibling_lives = psutil.pid_exists(int(sibling))
    os.kill(int(sibling), signal.SIGKILL)
    program.stdout.close()

    assert worker_ended
    assert sibling_lives
    assert not os.path.exists(folder)
