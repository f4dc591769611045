"""Learners' processes beside each other survive what happens to one of them, and to their fork server."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from fitwithin.backends import LearnerDied, OutOfMemory, Process
from fitwithin.teachers import Exam
from fitwithin.testing import AwkwardClassifier, HungryClassifier
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner, save_and_load


def call_both(runners, method, *arguments):
    """Call a method of two runners at the same time; return what each returned or raised."""
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(getattr(runner, method), *arguments) for runner in runners]
    return [call.exception() or call.result() for call in calls]


def test_a_fork_server_that_dies_is_replaced_for_all_siblings(nothing_left_behind):
    with (
        open_runner(
            Process(start="fork"), AwkwardClassifier("hangs in Python", above=20), make_pool(), n_jobs=2
        ) as runner,
        runner.open_sibling() as sibling,
    ):
        both = runner, sibling
        call_both(both, "fit", np.arange(10))
        server = psutil.Process(runner.host._server._process.pid)
        threading.Timer(0.3, server.kill).start()

        deaths = call_both(both, "fit", np.arange(30))
        reports = call_both(both, "fit", np.arange(12))

    assert [type(death) for death in deaths] == [LearnerDied, LearnerDied]
    assert all(report.fit_seconds >= 0 for report in reports)


def test_many_workers_start_at_the_same_time():
    with (
        open_runner(Process(start="fork"), AwkwardClassifier("is killed", above=20), make_pool(), n_jobs=2) as runner,
        runner.open_sibling() as sibling,
    ):
        for _ in range(10):
            deaths = call_both((runner, sibling), "fit", np.arange(30))

            assert all("SIGKILL" in str(death) for death in deaths)
            assert all(isinstance(death, LearnerDied) for death in deaths)


def test_each_learner_has_a_memory_limit_of_its_own():
    pool, learner = make_pool(), HungryClassifier(1_000_000)
    with open_runner(Process(), learner, pool) as runner:
        limit = (runner.fit(np.arange(10)).peak_memory or 0) + 200_000_000
    with (
        open_runner(Process(), learner, pool, memory_limit=limit, n_jobs=2) as runner,
        runner.open_sibling() as sibling,
    ):
        sibling.fit(np.arange(5))
        with pytest.raises(OutOfMemory):
            runner.fit(np.arange(200))

        assert sibling.examine(Exam(np.arange(10))).wrong.shape == (10,)


def test_siblings_read_one_copy_of_the_rows():
    pool = make_pool(5_000)
    order = np.random.default_rng(0).permutation(5_000)
    with (
        open_runner(Process(start="fork"), RecordingClassifier(), pool, n_jobs=2) as runner,
        runner.open_sibling() as sibling,
    ):
        for size in (100, 1_000, 4_000):
            for each in (runner, sibling):
                each.fit(order[:size])
                each.examine(Exam(order[4_500:]))
                np.testing.assert_array_equal(save_and_load(each).X_, pool.X[order[:size]])
        shared = runner._rows
        used = os.fstat(shared.files[-1].fd).st_blocks * 512

        assert sibling._rows is shared
        assert shared.n_appended == 4_000
        assert used <= pool.X.nbytes + 2 * 4096


def test_a_sibling_counts_no_start_of_a_process_as_hand_over():
    with (
        open_runner(Process(start="fork"), RecordingClassifier(), make_pool(), n_jobs=2) as runner,
        runner.open_sibling() as sibling,
    ):
        runner.fit(np.arange(10))
        started = []
        start_worker = runner.host.start_worker
        runner.host.start_worker = lambda *arguments: started.append(1) or _slowly(start_worker, *arguments)
        report = sibling.fit(np.arange(10))

    assert started
    assert report.handover_seconds < 0.5


def _slowly(start_worker, *arguments):
    threading.Event().wait(0.5)
    return start_worker(*arguments)
