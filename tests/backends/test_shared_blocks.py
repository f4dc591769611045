"""Named shared memory of a learner that is killed is removed, and counts as its memory; that of others stays."""

import os
import subprocess
import sys
import time
from multiprocessing import resource_tracker, shared_memory

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.backends._memory_use import MemoryWatch, find_mapped_blocks, list_shared_blocks, remove_abandoned_blocks
from fitwithin.testing import FakeClock
from waiting import wait_until

MB = 1_000_000
AMPLE_SECONDS = 60
SECONDS_LEFT = 2.5
START_METHODS = ["fork", pytest.param("spawn", marks=pytest.mark.slow)]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /dev/shm and /proc")


class Sharing(ClassifierMixin, BaseEstimator):
    """Above 500 rows, fills a block of shared memory, attaches to one of the program, and hangs."""

    def __init__(self, n_bytes, others="", program=""):
        self.n_bytes = n_bytes
        self.others = others
        self.program = program

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        if len(X) > 500:
            if self.n_bytes:
                block = shared_memory.SharedMemory(create=True, size=self.n_bytes)
                np.ndarray(self.n_bytes, np.uint8, block.buf)[:] = 1
            if self.others:
                attached = shared_memory.SharedMemory(self.others)
                assert attached.size
            if self.program:
                subprocess.run([sys.executable, "-c", self.program], check=True)
            time.sleep(1000)
        return self

    def predict(self, X):
        return self.model_.predict(X)


SEMAPHORE = "import multiprocessing as m, time; lock = m.get_context('spawn').Lock(); time.sleep(1000)"


@pytest.fixture(scope="module", autouse=True)
def resource_tracker_of_its_own():
    """Start the process in which `multiprocessing` keeps the names of blocks; it lives as long as the tests."""
    resource_tracker.ensure_running()


@pytest.fixture
def block():
    """A block of this program."""
    block = shared_memory.SharedMemory(create=True, size=1000)
    yield block
    block.close()
    block.unlink()


def fit(rows, learner, start="auto", **settings):
    """Fit with a clock that skips ahead after round 1, to some seconds before the deadline."""
    skipped = FakeClock()

    def skip_ahead(finished):
        skipped.advance(max(0.0, AMPLE_SECONDS - SECONDS_LEFT - finished.elapsed))

    backend = Process(clock=lambda: time.monotonic() + skipped(), start=start)
    settings = {"time_limit": AMPLE_SECONDS, "teacher": "tct", "on_round": skip_ahead, "random_state": 0} | settings
    return TimeConstrainedClassifier(learner, backend=backend, **settings).fit(*rows)


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("start", START_METHODS)
def test_a_block_that_a_killed_learner_holds_is_removed_and_one_of_the_program_stays(rows, block, start):
    before = list_shared_blocks()

    clf = fit(rows, Sharing(200 << 20, others=block.name), start)

    assert clf.stop_reason_ == "time"
    assert wait_until(lambda: list_shared_blocks() <= before)
    assert block.name in list_shared_blocks()


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_behind")
def test_semaphores_of_a_program_that_the_learner_started_are_removed(rows):
    before = list_shared_blocks()

    clf = fit(rows, Sharing(0, program=SEMAPHORE))

    assert clf.stop_reason_ == "time"
    assert wait_until(lambda: list_shared_blocks() <= before)


@pytest.mark.usefixtures("nothing_left_behind")
def test_shared_memory_of_the_learner_counts_for_the_memory_limit(rows):
    clf = fit(rows, Sharing(400 * MB), memory_limit="450MB", on_round=None)

    assert clf.stop_reason_ == "memory"
    assert clf.n_rows_trained_ == 500


def test_blocks_are_those_that_are_mapped_and_new(block):
    before = list_shared_blocks()
    new = shared_memory.SharedMemory(create=True, size=1000)
    unmapped = shared_memory.SharedMemory(create=True, size=1000)
    unmapped.close()

    assert MemoryWatch(os.getpid(), None, before).find_blocks() == {new.name}
    assert find_mapped_blocks({block.name, unmapped.name}, [os.getpid()]) == {block.name}

    new.close()
    new.unlink()
    unmapped.unlink()


def test_blocks_count_with_the_memory_of_the_process():
    watch = MemoryWatch(os.getpid(), None, list_shared_blocks())
    watch.begin()
    block = shared_memory.SharedMemory(create=True, size=50 * MB)
    np.ndarray(50 * MB, np.uint8, block.buf)[:] = 1

    watch.measure()

    block.close()
    block.unlink()
    assert watch.peak - watch.before >= 50 * MB


def test_a_block_that_any_process_has_mapped_is_not_removed(block):
    remove_abandoned_blocks({block.name})
    assert block.name in list_shared_blocks()

    abandoned = shared_memory.SharedMemory(create=True, size=1000)
    abandoned.close()
    remove_abandoned_blocks({abandoned.name, "missing"})

    assert abandoned.name not in list_shared_blocks()
    with pytest.raises(FileNotFoundError):
        abandoned.unlink()
