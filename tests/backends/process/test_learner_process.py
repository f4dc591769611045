"""The learner's process: one a session, and clean before each lesson."""

import importlib
import os
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin.backends import Inline, LearnerDied, LearnerRaised, Process
from fitwithin.backends._process.connection import describe_exit
from fitwithin.backends._process.subprocesses import ProcessState
from fitwithin.teachers import Exam
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner, save_and_load

STARTS = ["fork", pytest.param("spawn", marks=pytest.mark.slow)]


class Probe(RecordingClassifier):
    """Record what `look` returns in the learner's process, at each fit."""

    def __init__(self, look, warning=""):
        super().__init__(warning)
        self.look = look

    def fit(self, X, y):
        self.seen_ = self.look()
        return super().fit(X, y)


def seen_in_lessons(look, n_lessons=3, start="fork", pool=None):
    """Return what a probe saw in each lesson of one session."""
    with open_runner(Process(start=start), Probe(look), pool or make_pool()) as runner:
        found = []
        for n_rows in range(5, 5 + n_lessons):
            runner.fit(np.arange(n_rows))
            found.append(save_and_load(runner).seen_)
        return found


@pytest.mark.parametrize("start", STARTS)
def test_one_process_serves_all_lessons_and_ends_with_the_session(start):
    pids = seen_in_lessons(os.getpid, start=start)

    assert len(set(pids)) == 1
    assert seen_in_lessons(os.getpid, start=start)[0] != pids[0]


@pytest.mark.parametrize("start", STARTS)
def test_what_the_first_use_in_a_process_costs_is_paid_once_a_session(start):
    def wake_the_device():
        if not hasattr(sys, "device_is_awake"):
            time.sleep(1.0)
            sys.device_is_awake = True
            return "slept"
        return "awake"

    assert seen_in_lessons(wake_the_device, start=start) == ["slept", "awake", "awake"]


def test_a_second_fit_finds_the_imports_done():
    # A module that neither this package nor scikit-learn needs.
    pytest.importorskip("catboost")
    from catboost import CatBoostClassifier

    X, y = make_pool().X, np.arange(200) % 2
    learner = CatBoostClassifier(iterations=2, verbose=False, allow_writing_files=False)
    pool = TablePool(X, Labels.encode(y))
    with open_runner(Process(start="fork"), learner, pool) as runner:
        runner.fit(np.arange(50))

    def imported():
        return "catboost" in sys.modules

    assert seen_in_lessons(imported, n_lessons=1) == [True]


@pytest.mark.parametrize("start", STARTS)
def test_global_state_that_a_lesson_changed_is_as_in_the_program_again(start, monkeypatch):
    monkeypatch.setenv("FITWITHIN_TEST", "program")

    def spoil():
        seen = (
            os.environ["FITWITHIN_TEST"],
            os.getcwd(),
            "elsewhere" in sys.path,
            np.geterr()["divide"],
            sys.getrecursionlimit(),
            sklearn.get_config()["assume_finite"],
            len(warnings.filters),
            np.random.random(),
            random.random(),
        )
        os.environ["FITWITHIN_TEST"] = "learner"
        os.chdir("/")
        sys.path.append("elsewhere")
        np.seterr(all="raise")
        sys.setrecursionlimit(1500)
        sklearn.set_config(assume_finite=True)
        warnings.simplefilter("ignore")
        np.random.seed(3)
        random.seed(3)
        return seen

    first, second, third = seen_in_lessons(spoil, start=start)

    assert first == second == third


@pytest.mark.parametrize("start", STARTS)
def test_the_learner_sees_the_settings_of_the_program(start):
    def look():
        mask = os.umask(0)
        os.umask(mask)
        return np.geterr()["under"], sys.getrecursionlimit(), sklearn.get_config()["working_memory"], mask

    limit, mask = sys.getrecursionlimit(), os.umask(0o027)
    sys.setrecursionlimit(limit + 123)
    try:
        with np.errstate(under="print"), sklearn.config_context(working_memory=77):
            seen = seen_in_lessons(look, n_lessons=1, start=start)
    finally:
        sys.setrecursionlimit(limit)
        os.umask(mask)

    assert seen == [("print", limit + 123, 77, 0o027)]


def test_weights_are_routed_through_a_pipeline():
    X, y = np.random.default_rng(0).random((600, 3)), np.arange(600) % 2
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), LogisticRegression().set_fit_request(sample_weight=True))
        pipeline[0].set_fit_request(sample_weight=False)
        classifier = TimeConstrainedClassifier(pipeline, time_limit=60, random_state=0)

        classifier.fit(X, y, sample_weight=np.linspace(1, 2, 600))

    assert classifier.stop_reason_ == "all rows"


class Spoiler(ClassifierMixin, BaseEstimator):
    """Count what it is given, then overwrite it, in `fit` and in `predict`."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.fit_sum_ = total(X)
        overwrite(X)
        return self

    def predict(self, X):
        self.exam_sums_ = [*getattr(self, "exam_sums_", []), total(X)]
        overwrite(X)
        return np.repeat(self.classes_[:1], X.shape[0])


def total(X):
    return float(X.to_numpy().sum() if isinstance(X, pd.DataFrame) else X.sum())


def overwrite(X):
    if isinstance(X, pd.DataFrame):
        X.iloc[:, :] = 0.0
    elif scipy.sparse.issparse(X):
        X.data[:] = 0.0
    else:
        X[:] = 0.0


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("backend", [Inline(), Process(start="fork")], ids=["inline", "fork"])
def test_lessons_and_exams_that_overwrite_their_rows_do_not_change_those_of_later_ones(form, backend):
    values = np.random.default_rng(0).random((60, 3))
    pool = TablePool(form(values.copy()), Labels.encode(np.arange(60) % 2))
    first, second = np.arange(30), np.arange(50)

    with open_runner(backend, Spoiler(), pool) as runner:
        runner.fit(first)
        runner.examine(Exam(first))
        runner.examine(Exam(first))
        runner.fit(second)
        runner.examine(Exam(first))
        runner.examine(Exam(np.arange(60)))
        model = save_and_load(runner)

    assert model.fit_sum_ == pytest.approx(values[second].sum())
    assert model.exam_sums_ == pytest.approx([values[first].sum(), values.sum()])


@pytest.mark.slow
def test_a_process_whose_memory_grew_between_lessons_is_replaced():
    def leak():
        sys.leaked = [*getattr(sys, "leaked", []), np.ones(50_000_000)]
        return os.getpid()

    pids = seen_in_lessons(leak, n_lessons=6)

    assert 1 < len(set(pids)) < 6


def test_a_process_that_grows_once_lives_on():
    def grow():
        if not hasattr(sys, "context"):
            sys.context = np.ones(100_000_000)
        return os.getpid()

    assert len(set(seen_in_lessons(grow, n_lessons=3))) == 1


@pytest.mark.parametrize("start", STARTS)
def test_a_learner_that_reads_standard_input_finds_its_end(start):
    assert seen_in_lessons(lambda: (sys.stdin.read(), os.read(0, 10)), n_lessons=1, start=start) == [("", b"")]


class Unloadable(RecordingClassifier):
    """A model that the process that trained it can load, and no other."""

    def fit(self, X, y):
        sys.only_here = True
        return super().fit(X, y)

    def __setstate__(self, state):
        if "X_" in state and not hasattr(sys, "only_here"):
            raise ModuleNotFoundError("No module named 'only_here'")
        vars(self).update(state)


@pytest.mark.parametrize("start", STARTS)
def test_a_model_that_only_the_learners_process_can_load_is_refused_when_it_is_saved(start):
    with open_runner(Process(start=start), Unloadable(), make_pool()) as runner:
        runner.fit(np.arange(5))
        with pytest.raises(LearnerRaised, match=r"a clean process could not load it.*only_here"):
            runner.save()
        assert runner.examine(Exam(np.arange(5))).wrong.shape == (5,)


class CrashesOnLoad(RecordingClassifier):
    def __setstate__(self, state):
        if "X_" in state:
            os.abort()
        vars(self).update(state)


def test_a_model_that_crashes_whoever_loads_it_does_not_crash_the_program():
    with open_runner(Process(start="fork"), CrashesOnLoad(), make_pool()) as runner:
        runner.fit(np.arange(5))
        with pytest.raises(LearnerDied, match="cannot be loaded in a clean process: it was killed by SIGABRT"):
            runner.save()


def test_looking_for_modules_does_not_touch_lazy_globals():
    script = """
import importlib.util, sys
import numpy as np
from sklearn.naive_bayes import GaussianNB
from fitwithin import TimeConstrainedClassifier

class Lazy:
    def __getattribute__(self, name):
        print("touched", name)
        raise SystemExit(3)

spec = importlib.util.find_spec("wsgiref.handlers")
spec.loader = importlib.util.LazyLoader(spec.loader)
module = importlib.util.module_from_spec(spec)
sys.modules["wsgiref.handlers"] = module
spec.loader.exec_module(module)

lazy = Lazy()

class Mine(GaussianNB):
    pass

X = np.random.default_rng(0).random((100, 3))
TimeConstrainedClassifier(Mine(), time_limit=60).fit(X, X[:, 0] > 0.5)
print(type(module).__name__)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["_LazyModule"]


def test_a_signal_without_a_name_is_described_by_its_number():
    assert describe_exit(False, signal.SIGRTMIN + 1) == f"it was killed by signal {signal.SIGRTMIN + 1}"


def test_modes_of_numpy_that_need_a_callback_become_warnings():
    with np.errstate(all="call"):
        process_state = ProcessState.current()

    assert set(process_state.numpy_errors.values()) == {"warn"}


class LazyClassifier(RecordingClassifier):
    """Hold an object of a module that only the learner's process has imported, and that is slow to import."""

    def fit(self, X, y):
        super().fit(X, y)
        self.part_ = importlib.import_module("slow_to_import").Part()
        return self


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_importing_what_a_model_needs_is_reserved_for_every_model(start, tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.5)\nclass Part: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with open_runner(Process(start=start), LazyClassifier(), make_pool(), 60) as runner:
        seconds = []
        for n_rows in (5, 6, 7):
            runner.fit(np.arange(n_rows))
            model = runner.save()
            seconds.append(model.load_seconds)
            model.discard()

    assert min(seconds) > 0.5
    assert "slow_to_import" not in sys.modules


@pytest.mark.slow
def test_a_fit_is_not_lost_if_no_worker_can_be_started_for_the_next(monkeypatch):
    with open_runner(Process(start="spawn"), RecordingClassifier(), make_pool(), 60) as runner:
        runner.fit(np.arange(9))
        save_and_load(runner)
        monkeypatch.setattr(subprocess, "Popen", refuse)


def refuse(*arguments, **options):
    raise BlockingIOError("no more processes")


class LazyWarner(RecordingClassifier):
    """Warn by a class of a module that the program has not imported."""

    def fit(self, X, y):
        warnings.warn("careful", importlib.import_module("has_a_warning").Careful, stacklevel=1)
        return super().fit(X, y)


def test_a_warning_of_a_module_that_the_program_has_not_imported_does_not_import_it(tmp_path, monkeypatch):
    (tmp_path / "has_a_warning.py").write_text("class Careful(FutureWarning): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with open_runner(Process(start="fork"), LazyWarner(), make_pool()) as runner:
            runner.fit(np.arange(9))
            save_and_load(runner)

    assert [(warning.category, str(warning.message)) for warning in caught] == [(FutureWarning, "careful")]

    assert "has_a_warning" not in sys.modules
