"""A program without a working folder, a temporary folder or its environment: `fit` works, or says what is missing."""

import os
import socket
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import FitwithinError, TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.backends._process.spawn_host import spawned_workers
from fitwithin.backends._process.subprocesses import interpreter_flags, start_interpreter

X = np.random.default_rng(0).random((300, 2))
y = X[:, 0] > 0.5
STARTS = pytest.mark.parametrize("start", ["fork", "spawn"])


class Looking(GaussianNB):
    """Records its working folder and whether it can write there."""

    def fit(self, X, y):
        self.folder_ = os.getcwd()
        open("written", "w").close()
        return super().fit(X, y)


def fit(learner, start):
    return TimeConstrainedClassifier(learner, time_limit=60, backend=Process(start=start)).fit(X, y)


@STARTS
def test_a_deleted_working_folder_is_a_warning(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "gone"
    folder.mkdir()
    os.chdir(folder)
    folder.rmdir()

    with pytest.warns(RuntimeWarning, match=r"working folder of this program cannot be found .*os\.chdir"):
        found = fit(Looking(), start).best_estimator_.folder_

    assert os.path.basename(found).startswith(f"fitwithin-{os.getpid()}-")


@STARTS
def test_a_working_folder_that_is_deleted_during_fit_does_not_end_it(start, tmp_path, monkeypatch):
    class Deleting(Looking):
        def fit(self, X, y):
            super().fit(X, y)
            if os.path.basename(self.folder_) == "gone":
                os.unlink("written")
                os.rmdir(self.folder_)
            return self

    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")

    classifier = fit(Deleting(), start)

    assert classifier.stop_reason_ == "all rows"
    assert not (tmp_path / "gone").exists()


def test_a_spawned_worker_without_a_temporary_folder_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent/folder")

    with pytest.raises(FitwithinError, match=r"/nonexistent/folder.*TMPDIR"):
        fit(GaussianNB(), "spawn")
    spawned_workers.clear()


@pytest.mark.slow
def test_a_forked_worker_without_a_temporary_folder_is_refused_with_advice(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import tempfile; tempfile.tempdir = '/nonexistent/folder'")
    script = f"""
import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
import fitwithin
from test_missing_process_state import GaussianNB, fit
try:
    fit(GaussianNB(), "fork")
except fitwithin.FitwithinError as error:
    print(error)
"""
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = run([sys.executable, "-c", script], PYTHONPATH=path)

    assert "/nonexistent/folder" in done.stdout
    assert "TMPDIR" in done.stdout
    assert done.stderr == ""


def run(command, **variables):
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | variables)


@pytest.mark.slow
@STARTS
def test_an_isolated_interpreter_starts_isolated_ones(start, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('from the environment')")
    script = f"""
import sys
sys.path[:] = {sys.path!r}
from sklearn.naive_bayes import GaussianNB
from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import Process

class Looking(GaussianNB):
    def fit(self, X, y):
        self.flags_ = sys.flags.isolated, sys.flags.ignore_environment, sys.flags.no_user_site, sys.flags.safe_path
        return super().fit(X, y)

X = [[row % 7, row % 2] for row in range(300)]
y = [row % 2 for row in range(300)]
classifier = TimeConstrainedClassifier(Looking(), time_limit=60, backend=Process(start={start!r})).fit(X, y)
print(*classifier.best_estimator_.flags_)
"""
    done = run([sys.executable, "-I", "-c", script], PYTHONPATH=str(tmp_path))

    assert done.stdout.split()[1:] == ["1", "1", "True"]
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["-I"], ["-E", "-s"], ["-O", "-O", "-B"], ["-X", "utf8"]])
def test_the_flags_of_an_interpreter_are_found_again(flags):
    code = f"import sys; sys.path[:] = {sys.path!r}; from {interpreter_flags.__module__} import interpreter_flags; "
    first = run([sys.executable, *flags, "-c", code + "print(*interpreter_flags())"]).stdout.split()
    second = run([sys.executable, *first, "-c", code + "print(*interpreter_flags())"]).stdout.split()

    assert first == second
    assert set(flags) <= {"-I", *first}
    if flags == ["-I"]:
        assert {"-E", "-s", "-P"} <= set(first)


def test_a_program_that_embeds_python_is_told_what_is_missing(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")

    with pytest.raises(RuntimeError, match=r"sys\.executable=''.*backend='inline'"):
        start_interpreter("worker", socket.socket())
