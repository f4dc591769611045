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

from fitwithin._core.budget import Budget
from fitwithin.backends import LearnerDied, Process
from fitwithin.backends._process import spawn_host
from fitwithin.backends._process.parent_watch import ParentWatch
from fitwithin.backends._process.spawn_host import WorkerHandle, spawned_workers
from fitwithin.teachers import Exam
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner


@pytest.fixture(params=["socket", "port"])
def way(request, monkeypatch):
    """The two ways to reach a worker; Windows has only the second."""
    monkeypatch.setattr(spawn_host, "CAN_INHERIT_SOCKETS", request.param == "socket")
    spawned_workers.clear()
    yield request.param
    spawned_workers.clear()


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


def has_ended(pid):
    watch = ParentWatch(pid)
    end = time.monotonic() + 10
    while not watch.has_ended() and time.monotonic() < end:
        time.sleep(0.01)
    ended = watch.has_ended()
    watch.close()
    return ended


def test_a_worker_serves_rounds_over_both_ways(way):
    with open_runner(Process(start="spawn"), RecordingClassifier(), make_pool()) as runner:
        runner.fit(np.arange(9))
        assert runner.examine(Exam(np.arange(9, 12))).wrong.shape == (3,)
        ours = {os.getpid(), runner._learner.pid}
        listening = [found for found in psutil.net_connections("inet") if found.pid in ours]

    assert way == "port" or not listening


def test_no_secret_stands_in_the_arguments_or_the_environment(way, monkeypatch):
    secrets = []
    generate = spawn_host.Secret.generate
    monkeypatch.setattr(spawn_host.Secret, "generate", lambda: secrets.append(generate()) or secrets[-1])
    worker = WorkerHandle()
    worker.connect(Budget(60))
    readable = b"".join(Path(f"/proc/{worker.pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
    worker.close()

    assert len(secrets) == (way == "port")
    for secret in secrets:
        for part in (secret.worker, secret.parent):
            assert part not in readable
            assert part.hex().encode() not in readable
            assert repr(part)[2:-1].encode() not in readable


def test_a_learner_finds_the_end_of_standard_input(way):
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
def test_the_end_of_a_worker_is_seen_although_a_child_of_the_learner_holds_its_socket(way, tmp_path):
    learner = Forking(str(tmp_path / "child"))
    with (
        open_runner(Process(start="spawn"), learner, make_pool()) as runner,
        pytest.raises(LearnerDied, match="SIGKILL"),
    ):
        runner.fit(np.arange(9))

    assert has_ended(int((tmp_path / "child").read_text()))


KILLED_DURING_FIT = """
import os, sys, threading, time
import numpy as np
from fitwithin.backends import Process
from fitwithin.backends._process import spawn_host
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner

class Endless(RecordingClassifier):
    def fit(self, X, y):
        open(self.warning, "w").close()
        time.sleep(60)

spawn_host.CAN_INHERIT_SOCKETS = sys.argv[1] == "socket"
with open_runner(Process(start="spawn"), Endless(sys.argv[2]), make_pool()) as runner:
    def fork():
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.01)
        sibling = os.fork()
        if sibling == 0:
            time.sleep(60)
            os._exit(0)
        print(runner._learner.pid, sibling, runner._host.folder, flush=True)

    threading.Thread(target=fork).start()
    runner.fit(np.arange(30))
"""


@pytest.mark.slow
def test_a_worker_ends_with_the_program_although_a_fork_of_it_lives_on(way, tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED_DURING_FIT, way, str(tmp_path / "fitting")],
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
