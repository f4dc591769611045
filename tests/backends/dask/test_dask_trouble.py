"""Workers that are killed, hang or are full cost their work, and never the deadline."""

import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest
from sklearn.naive_bayes import GaussianNB

pytest.importorskip("distributed", reason="Dask is an extra")

from distributed import Status

from dask_clusters import find_our_processes, find_worker_pids, local_cluster, scheduler_process
from fitwithin import LearnerFailed, TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin.backends import Dask, FitLimits, LearnerDied, OutOfTime
from fitwithin.backends._dask.cluster import Cluster
from fitwithin.teachers import TCT, Exam
from fitwithin.testing import AwkwardClassifier
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner
from waiting import wait_until

pytestmark = pytest.mark.slow

LATE_SECONDS = 1.0
"""How late a fit may be on a busy machine; `benchmarks/cluster.py` measures it on a quiet one."""


def make_hanging_learner(folder, method):
    """Return a learner that hangs once, in `fit` or `predict`, and tells which process hangs."""

    class HangsOnce(RecordingClassifier):
        def hang_once(self, name):
            if name != method:
                return
            try:
                file = os.open(os.path.join(folder, "hangs"), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                return
            os.write(file, str(os.getppid()).encode())
            os.close(file)
            time.sleep(3600)

        def fit(self, X, y):
            self.hang_once("fit")
            return super().fit(X, y)

        def predict(self, X):
            self.hang_once("predict")
            return super().predict(X)

    return HangsOnce()


def kill_hanging_worker(folder):
    """Kill the Dask worker whose learner hangs; return its process number."""
    path = os.path.join(folder, "hangs")
    assert wait_until(lambda: os.path.exists(path) and os.path.getsize(path))
    with open(path) as file:
        # The learner's process was forked by our fork server, which the worker started.
        worker = psutil.Process(int(file.read())).parent()
    worker.send_signal(signal.SIGKILL)
    return worker.pid


@pytest.mark.parametrize("trouble", [signal.SIGSTOP, signal.SIGKILL])
@pytest.mark.filterwarnings("ignore::fitwithin.LearnerFailedWarning")
def test_a_fit_whose_scheduler_stops_or_dies_returns_the_best_model_in_time(tmp_path, rows, trouble):
    X, y = rows
    with scheduler_process(tmp_path) as (scheduler, address):
        ours = psutil.Process(scheduler.pid)
        workers = []

        def make_trouble(finished):
            if not workers:
                # Workers are the grandchildren that have children of ours.
                workers.extend(child.pid for child in ours.children(recursive=True))
                scheduler.send_signal(trouble)

        clf = TimeConstrainedClassifier(
            AwkwardClassifier("hangs in Python", above=3000),
            time_limit=14,
            backend=Dask(address),
            teacher=TCT(first=500),
            on_round=make_trouble,
        )
        clf.fit(X[:20_000], y[:20_000])

        assert workers
        assert clf.stop_reason_ == ("time" if trouble == signal.SIGSTOP else "learner failed")
        assert clf.time_used_ < 14 + LATE_SECONDS
        assert clf.score(X[:1000], y[:1000]) > 0.5
        assert wait_until(lambda: not [pid for pid in workers if is_fork_server(pid)], 5.0)


def is_fork_server(pid):
    try:
        return "fork_server" in " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_worker_that_is_killed_costs_its_work_only(dask_client, tmp_path, method):
    pool, rows = make_pool(), np.arange(40, 140)
    with open_runner(Dask(dask_client), make_hanging_learner(str(tmp_path), method), pool) as runner:
        killer = threading.Thread(target=kill_hanging_worker, args=(str(tmp_path),))
        killer.start()
        runner.fit(np.arange(30))
        examined = runner.examine(Exam(rows))
        killer.join()
        saved = runner.save()
        scored = runner.score(np.ones(len(rows), dtype=bool))

    np.testing.assert_array_equal(examined.wrong, pool.read(rows).y != "a")
    np.testing.assert_array_equal(saved.load().X_, pool.X[:30])
    assert scored.overall.value == pytest.approx(1 - examined.wrong.mean())
    saved.discard()
    assert wait_until(lambda: len(dask_client.scheduler_info()["workers"]) == 2)


def test_a_model_that_lost_its_worker_is_trained_again_before_its_next_exam(dask_client):
    pool = make_pool()
    with open_runner(Dask(dask_client), GaussianNB(), pool) as runner:
        runner.fit(np.arange(20), batch=5)
        runner.fit(np.arange(20, 50), batch=5)
        before = runner.examine(Exam(np.arange(50, 80)))
        os.kill(find_worker_pids(dask_client)[runner._home.address], signal.SIGKILL)
        after = runner.examine(Exam(np.arange(50, 80)))
        scored = runner.score(np.ones(60, dtype=bool))
        saved = runner.save()

    np.testing.assert_array_equal(before.wrong, after.wrong)
    assert saved.load().class_count_.sum() == 50
    assert scored.overall.value == pytest.approx(1 - before.wrong.mean())
    saved.discard()
    assert wait_until(lambda: len(dask_client.scheduler_info()["workers"]) == 2)


def test_a_hanging_learner_is_stopped_in_time_and_leaves_nothing_on_the_workers(dask_client, rows):
    X, y = rows
    pids = find_worker_pids(dask_client).values()
    learner = AwkwardClassifier("ignores signals", above=3000)
    clf = TimeConstrainedClassifier(learner, time_limit=12, backend=Dask(dask_client), teacher=TCT(first=500))

    clf.fit(X[:20_000], y[:20_000])

    assert clf.stop_reason_ == "time"
    assert clf.time_used_ < 12 + LATE_SECONDS
    assert 500 <= clf.n_rows_trained_ <= 3000
    assert wait_until(lambda: not find_our_processes(pids), 5.0)


def test_a_model_that_hangs_in_an_exam_is_killed_after_its_seconds(dask_client, tmp_path):
    pool, exams, limits = make_pool(), [Exam(np.arange(40, 140))], FitLimits(kill_after=3.0)
    with open_runner(Dask(dask_client), make_hanging_learner(str(tmp_path), "predict"), pool) as runner:
        with pytest.raises(LearnerDied, match="stopped after 3 s"):
            runner.fit(np.arange(30), exams=exams, limits=limits)
        (examined,) = runner.fit(np.arange(30), exams=exams, limits=limits).exams

    np.testing.assert_array_equal(examined.wrong, pool.read(np.arange(40, 140)).y != "a")


def test_no_thread_is_started_between_the_deadline_and_the_return(dask_client, monkeypatch):
    """Starting a thread waits until it runs, on a busy machine for seconds."""
    start, started = threading.Thread.start, []

    def note_start(thread):
        if threading.current_thread() is threading.main_thread():
            started.append(thread.name)
        start(thread)

    with open_runner(Dask(dask_client), AwkwardClassifier("ignores signals"), make_pool(), seconds=60) as runner:
        runner._session_budget.reserves.load = runner._session_budget.until_deadline() - 1
        monkeypatch.setattr(threading.Thread, "start", note_start)
        with pytest.raises(OutOfTime):
            runner.fit(np.arange(30))

    assert not started


def test_a_full_worker_is_left_for_another_one(dask_client):
    def pause(dask_worker, status):
        dask_worker.status = status

    pool = make_pool()
    with open_runner(Dask(dask_client), RecordingClassifier(), pool) as runner:
        runner.fit(np.arange(30))
        full = runner._home.address
        dask_client.run(pause, status=Status.paused, workers=[full])
        runner.fit(np.arange(50))
        elsewhere = runner._home.address
        dask_client.run(pause, status=Status.running, workers=[full])
        saved = runner.save()

    assert elsewhere != full
    np.testing.assert_array_equal(saved.load().X_, pool.X[:50])
    saved.discard()


class SlowToSend:
    """Takes longer to leave its worker than the program waits between two looks at that worker."""

    def __reduce__(self):
        time.sleep(0.7)
        return str, ("arrived",)


def test_a_result_arrives_however_long_its_transfer_takes(dask_client):
    cluster = Cluster(dask_client, "fitwithin-test", Budget(60))
    home = cluster.choose_home(0)

    assert cluster.result(cluster.submit(SlowToSend, home=home), home) == "arrived"


def test_a_worker_that_is_stopped_by_a_signal_makes_nothing_late(dask_client):
    pids = find_worker_pids(dask_client)
    pool = make_pool()
    with open_runner(Dask(dask_client), RecordingClassifier(), pool, seconds=12) as runner:
        runner.fit(np.arange(30))
        saved = runner.save()
        stopped = pids[runner._home.address]
        os.kill(stopped, signal.SIGSTOP)
        start = time.monotonic()
        try:
            with pytest.raises(OutOfTime):
                runner.fit(np.arange(50))
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert time.monotonic() - start < 12 + LATE_SECONDS
    assert len(saved.load().X_) == 30
    saved.discard()


@pytest.mark.clockless
@pytest.mark.parametrize("end", ["cluster", "client"])
def test_a_cluster_that_is_closed_before_the_first_model_is_said(end, tmp_path, rows):
    learner = make_hanging_learner(str(tmp_path), "fit")
    with local_cluster(1) as client:

        def close():
            assert wait_until(lambda: (tmp_path / "hangs").exists(), 40.0)
            (client if end == "client" else client.cluster).close()

        thread = threading.Thread(target=close)
        thread.start()
        with pytest.raises(LearnerFailed, match="the Dask cluster or its client was closed or lost; start it again"):
            TimeConstrainedClassifier(learner, time_limit=60, backend=Dask(client), progress=False).fit(*rows)
        thread.join()
