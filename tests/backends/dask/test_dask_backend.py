"""Addresses without a scheduler, a missing extra, and imports that must not happen."""

import socket
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.records import FitLimits
from fitwithin.backends import Dask
from fitwithin.testing import FakeClock


def test_an_address_without_a_scheduler_is_reported():
    pytest.importorskip("distributed", reason="Dask is an extra")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(ConnectionError, match=rf"No Dask scheduler answers at 'tcp://127.0.0.1:{port}'.*Check"):
        TimeConstrainedClassifier(backend=Dask(f"tcp://127.0.0.1:{port}"), time_limit=3).fit([[0], [1]], [0, 1])


def test_anything_but_a_client_or_an_address_is_refused():
    pytest.importorskip("distributed", reason="Dask is an extra")

    with pytest.raises(TypeError, match=r"type int; expected a distributed\.Client"):
        TimeConstrainedClassifier(backend=Dask(8786)).fit([[0], [1]], [0, 1])


def test_a_learner_that_is_distributed_itself_is_refused():
    pytest.importorskip("distributed", reason="Dask is an extra")
    learner = pytest.importorskip("lightgbm").DaskLGBMClassifier()

    with pytest.raises(TypeError, match=r"Got DaskLGBMClassifier,.* cannot be stopped.* Use LGBMClassifier\."):
        TimeConstrainedClassifier(learner, backend=Dask("tcp://127.0.0.1:1"), time_limit=3).fit([[0], [1]], [0, 1])


def test_without_the_extra_the_error_says_what_to_install():
    script = """
import sys
sys.modules["distributed"] = None
from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.records import FitLimits
from fitwithin.backends import Dask
from fitwithin.testing import FakeClock
try:
    TimeConstrainedClassifier(backend=Dask("tcp://127.0.0.1:8786")).fit([[0], [1]], [0, 1])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "pip install 'fitwithin[dask]'" in done.stdout


def test_importing_fitwithin_does_not_import_dask():
    script = "import sys, fitwithin.backends; print([name for name in ('dask', 'distributed') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.clockless
def test_a_share_of_the_memory_is_one_of_a_workers_memory():
    distributed = pytest.importorskip("distributed", reason="Dask is an extra")
    X = np.random.default_rng(0).random((500, 3))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="2GB", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        clf = TimeConstrainedClassifier(GaussianNB(), backend=Dask(client), time_limit=30, memory_limit="50%")
        clf.fit(X, X[:, 0] > 0.5)

    assert clf.memory_limit_ == 1_000_000_000


def test_the_time_in_which_rows_are_under_way_is_no_time_for_the_fit():
    clusters = pytest.importorskip("dask_clusters", reason="Dask is an extra", exc_type=ImportError)
    from fitwithin.backends._dask.worker_session import RunnerTasks

    class Learner:
        rows = SimpleNamespace(find_missing=lambda rows: rows[:0])

        def fit(self, rows, *, exams, limits):
            return limits.stop_after

    def fit_after(seconds):
        clock = FakeClock()
        tasks = RunnerTasks(1, Learner(), Learner(), Budget(10.0, clock))
        clock.advance(seconds)
        return tasks.fit(np.arange(2), [], [], {"limits": FitLimits(stop_after=8.0)}, 10.0)

    with clusters.local_cluster(1, processes=False) as client:
        assert client.submit(fit_after, 3.0).result() == 5.0
