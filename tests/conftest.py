"""Shared by all tests: rows to learn from, pages that are slow, and a look at what a fit leaves behind."""

import contextlib
import glob
import os
import re
import tempfile
import time

import numpy as np
import psutil
import pytest
from hypothesis import settings
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

# There is another file of this name in docs, and doctest could not import both.
collect_ignore = ["conftest.py"]

SLOW_PAGES = {
    "docs/after-fit.md",
    "docs/deadline.md",
    "docs/estimates.md",
    "docs/how-to/cluster.md",
    "docs/how-to/memory.md",
    "docs/how-to/report.md",
    "docs/index.md",
    "docs/inputs.md",
}
"""Pages whose examples take more than two seconds."""

# Continuous integration tries the same examples each time: what fails there fails again, and not by chance.
settings.register_profile(
    "continuous integration", derandomize=True, deadline=None, database=None, print_blob=True, max_examples=30
)
# No example has a time limit: a busy machine says nothing about the code.
settings.register_profile("no time limit", deadline=None)
settings.load_profile("continuous integration" if os.environ.get("CI") else "no time limit")

CLEANUP_SECONDS = 5.0
"""How long a fit may take to clean up after it returned: 0.06 s when measured, and room for a busy machine."""


CLOCKLESS_FILES = {
    "test_accuracy_benchmark.py",
    "test_backend_contract.py",
    "test_cli_console.py",
    "test_cli_data_sets.py",
    "test_cli_search.py",
    "test_cli_train.py",
    "test_core_binding.py",
    "test_dask_collections.py",
    "test_dask_contract.py",
    "test_docs.py",
    "test_early_stopping_sessions.py",
    "test_examples.py",
    "test_fitted_estimators.py",
    "test_interval_coverage_benchmark.py",
    "test_learner_process.py",
    "test_memory_limit_sessions.py",
    "test_missing_process_state.py",
    "test_nesting.py",
    "test_osct.py",
    "test_progress.py",
    "test_registry.py",
    "test_scoring.py",
    "test_search_benchmark.py",
    "test_setup_seconds.py",
    "test_spawn_host.py",
    "test_study.py",
    "test_study_evaluation_backend.py",
    "test_study_resume.py",
    "test_study_run.py",
    "test_process_state.py",
    "test_teacher_comparison.py",
    "test_without_memfd.py",
}
"""Files whose slow tests do not measure the time, so that they can run side by side."""

LONG_FILES = {
    "test_accuracy_benchmark.py",
    "test_cli_search.py",
    "test_examples.py",
    "test_interval_coverage_benchmark.py",
    "test_regression_benchmark.py",
    "test_scoring.py",
    "test_search_benchmark.py",
    "test_study.py",
    "test_study_evaluation_backend.py",
    "test_study_resume.py",
    "test_study_run.py",
    "test_without_memfd.py",
}
"""Files whose slow tests continuous integration leaves out, to end within 15 minutes on two cores."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.relative_to(item.config.rootpath).as_posix() in SLOW_PAGES:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.clockless)
        if item.path.name in CLOCKLESS_FILES and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.clockless)
        if item.path.name in LONG_FILES and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def rows():
    """100,000 rows with a boundary that can be learned, and some noise."""
    rng = np.random.default_rng(0)
    X = rng.random((100_000, 10), dtype=np.float32)
    y = ((X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=len(X))) * 3).astype(int).clip(0, 4)
    return X, y


def _find_idle_helpers():
    """Return one fork server and one spawned worker, which wait for the next fit."""
    idle = {}
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            for kind in ("_process.fork_server import", "_process.worker import"):
                if kind in " ".join(process.cmdline()):
                    idle.setdefault(kind, process.pid)
    return set(idle.values())


def _is_abandoned(name):
    """Whether a name in /dev/shm holds no number of a living process; anonymous semaphores are documented."""
    return not name.startswith("sem.mp-") and not any(psutil.pid_exists(int(pid)) for pid in re.findall(r"\d+", name))


def _find_leftovers():
    return {
        "processes": {process.pid for process in psutil.Process().children(recursive=True)} - _find_idle_helpers(),
        "shared memory": set(filter(_is_abandoned, os.listdir("/dev/shm"))),
        "folders": set(glob.glob(os.path.join(tempfile.gettempdir(), f"fitwithin-{os.getpid()}-*"))),
    }


@pytest.fixture
def nothing_left_behind():
    """Fail if processes, shared memory or folders of the test are still there after `CLEANUP_SECONDS`."""
    before = _find_leftovers()
    yield
    end = time.monotonic() + CLEANUP_SECONDS
    while True:
        left = {kind: found - before[kind] for kind, found in _find_leftovers().items()}
        if not any(left.values()):
            return
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.02)  # Another process cleans up, and sends no event when it is done.


@pytest.fixture(scope="module")
def dask_client():
    """A client of a real cluster of two workers, in processes of their own."""
    clusters = pytest.importorskip("dask_clusters", reason="Dask is an extra", exc_type=ImportError)
    with clusters.local_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def workers_of_its_own():
    """Shut down joblib's idle workers: they end after five minutes, and joblib hangs if work comes just then."""
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.fixture
def one_thread():
    """Limit learners to one thread: with more, sums come out in another order."""
    with threadpool_limits(1):
        yield
