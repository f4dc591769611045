"""`fit` works wherever Python code runs: scripts, notebooks, threads, workers."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import joblib
import nbclient
import nbformat
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.backends._process.fork_host import fork_servers
from fitwithin.backends._process.subprocesses import find_modules
from fitwithin.testing._backends import RecordingClassifier

pytestmark = pytest.mark.usefixtures("workers_of_its_own")

SCRIPT = """
import numpy as np
from sklearn.naive_bayes import GaussianNB
from fitwithin import TimeConstrainedClassifier

class Mine(GaussianNB):
    '''A learner that is defined in this script.'''

    def predict(self, X):
        return np.asarray(helper(super().predict(X)))

def helper(labels):
    return labels

X = np.random.default_rng(0).random((3000, 3))
y = np.where(X[:, 0] + 0.3 * X[:, 1] ** 3 > 0.6, "high", "low")
clf = TimeConstrainedClassifier(Mine(), time_limit=60).fit(X, y)
assert type(clf.best_estimator_) is Mine, type(clf.best_estimator_)
print(clf.stop_reason_ in ('all rows', 'no gain'), clf.score(X, y) > 0.9)
"""
EXPECTED = "True True"


def small_fit(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((3000, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] ** 3 > 0.6).astype(int)
    classifier = TimeConstrainedClassifier(GaussianNB(), time_limit=60, random_state=seed).fit(X, y)
    return classifier.stop_reason_, classifier.score(X, y) > 0.9


@pytest.mark.slow
def test_a_script_on_standard_input():
    done = subprocess.run([sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == EXPECTED
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_script_without_a_main_guard(start, tmp_path):
    script = tmp_path / "script.py"
    backend = f"backend=__import__('fitwithin.backends').backends.Process(start={start!r})"
    script.write_text(SCRIPT.replace("time_limit=60", f"time_limit=60, {backend}"))

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == EXPECTED
    assert done.stderr == ""


def test_the_module_of_a_learner_is_imported_ahead():
    assert find_modules(pickle.dumps(GaussianNB())) == ["sklearn.naive_bayes"]


def test_this_package_is_imported_ahead_however_it_is_installed():
    """An editable installation is in no folder of installed modules."""
    assert find_modules(pickle.dumps(RecordingClassifier())) == ["fitwithin.testing._backends"]


@pytest.mark.slow
def test_a_module_of_the_user_that_changed_is_imported_again(tmp_path):
    module = "from sklearn.naive_bayes import GaussianNB\nclass Own(GaussianNB):\n    VERSION = {version}\n"
    script = f"""
import importlib, pathlib, sys
import numpy as np
from fitwithin import TimeConstrainedClassifier

sys.path.insert(0, {str(tmp_path)!r})
sys.dont_write_bytecode = True
X = np.random.default_rng(0).random((300, 3))
y = X[:, 0] > 0.5
for version in (1, 22):
    pathlib.Path({str(tmp_path / "own.py")!r}).write_text({module!r}.format(version=version))
    sys.modules.pop("own", None)
    importlib.invalidate_caches()
    import own
    class Telling(own.Own):
        def fit(self, X, y):
            self.version_ = own.Own.VERSION
            return super().fit(X, y)
    print(TimeConstrainedClassifier(Telling(), time_limit=60).fit(X, y).best_estimator_.version_)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    # The second is longer, so that cached bytecode of the same second is not taken for it.
    assert done.stdout.split() == ["1", "22"]


@pytest.mark.slow
def test_a_notebook():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SCRIPT)])

    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()

    printed = [output["text"] for output in notebook.cells[0].outputs if output.get("name") == "stdout"]
    assert EXPECTED in "".join(printed)


@pytest.mark.slow
def test_a_joblib_worker():
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(small_fit)(seed) for seed in range(3))

    assert results == [("all rows", True)] * 3


@pytest.mark.slow
def test_a_daemonic_worker():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(small_fit) == ("all rows", True)


@pytest.mark.slow
def test_a_forked_worker_does_not_share_its_parents_helper():
    small_fit()
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from test_process_state import small_fit; small_fit(); "
        "pid = os.fork(); ok = small_fit() == ('all rows', True); "
        "os._exit(not ok) if pid == 0 else sys.exit(not ok or os.waitpid(pid, 0)[1])"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, os.path.dirname(__file__)], check=True, timeout=120)


def test_two_threads_at_the_same_time():
    results = {}
    threads = [
        threading.Thread(target=lambda seed=seed: results.update({seed: small_fit(seed)}), name=f"fit-{seed}")
        for seed in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {0: ("all rows", True), 1: ("all rows", True)}


def test_a_changed_environment_and_folder_reach_the_learner(tmp_path, monkeypatch):
    class Looking(GaussianNB):
        def fit(self, X, y):
            import os

            self.seen_ = os.environ["FITWITHIN_TEST"], os.getcwd()
            return super().fit(X, y)

    small_fit()
    monkeypatch.setenv("FITWITHIN_TEST", "here")
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).random((300, 2))
    for start in ("fork", "spawn"):
        classifier = TimeConstrainedClassifier(Looking(), time_limit=60, backend=Process(start=start))
        assert classifier.fit(X, X[:, 0] > 0.5).best_estimator_.seen_ == ("here", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("own", "expected"), [(None, ("passive", "1000")), ("active", ("active", None))])
def test_openmp_threads_sleep_after_a_short_wait_unless_the_user_set_a_policy(monkeypatch, own, expected):
    class Looking(GaussianNB):
        def fit(self, X, y):
            import os

            self.seen_ = os.environ.get("OMP_WAIT_POLICY"), os.environ.get("GOMP_SPINCOUNT")
            return super().fit(X, y)

    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if own is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", own)
    fork_servers.clear()
    X = np.random.default_rng(0).random((300, 2))

    classifier = TimeConstrainedClassifier(Looking(), time_limit=60).fit(X, X[:, 0] > 0.5)

    assert classifier.best_estimator_.seen_ == expected
    fork_servers.clear()
