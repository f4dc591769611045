"""Faults that one process can make for itself: models that do not load, files that change, settings that get lost."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _fault import FaultCases, FaultOutcome
from _fault_learners import Dying, LookingAround, Mutating, Plain, ReadingInput, SlowFirstUse, SlowToLoad
from _synthetic_data import make_pool
from fitwithin import FitwithinError, NoModelInTime, TimeConstrainedClassifier
from fitwithin.backends import Process
from fitwithin.backends._process.fork_host import fork_servers
from fitwithin.backends._process.spawn_host import WorkerHandle
from fitwithin.teachers import TCT

# Largest lateness that counts as "in time", in seconds.
MAX_LATE_SECONDS = 0.25

# Rows of the first lesson; learners go wrong above.
_FIRST = 500

process = FaultCases("one process a session")
late = FaultCases("late or lost")
door = FaultCases("the door")
process_state = FaultCases("what the learner sees")


def fit(learner: Any, seconds: float = 20.0, start: str = "auto", rows: int = 8_000, **settings: Any) -> Any:
    """Fit a classifier on synthetic rows."""
    X, y = make_pool(rows, 5)
    classifier = TimeConstrainedClassifier(
        learner, time_limit=seconds, teacher=TCT(first=_FIRST), backend=Process(start=start), random_state=0, **settings
    )
    return classifier.fit(X, y)


def _late(seconds: float, start: float) -> float:
    return max(0.0, time.perf_counter() - start - seconds)


@process.add("a learner whose first use in a process takes a second", "paid once a session")
def _slow_first_use(folder: Path) -> FaultOutcome:
    classifier = fit(SlowFirstUse(str(folder / "uses")))
    uses = len((folder / "uses").read_text())
    return FaultOutcome(uses == 1, f"{uses} x in {len(classifier.history_)} rounds")


def _mutate(X: Any, y: Any) -> FaultOutcome:
    classifier = TimeConstrainedClassifier(Mutating(), time_limit=20, teacher=TCT(first=_FIRST), random_state=0)
    classifier.fit(X, y)
    zeros = classifier.best_estimator_.n_zeros_
    return FaultOutcome(zeros == 0, f"{zeros} overwritten rows seen in {len(classifier.history_)} rounds")


@process.add("lessons that overwrite a frame", "exams and later lessons see the rows as they were")
def _mutate_frame(folder: Path) -> FaultOutcome:
    X, y = make_pool(8_000, 5)
    return _mutate(pd.DataFrame(np.asarray(X, dtype=float)).add_prefix("x"), y)


@process.add("lessons that overwrite a sparse matrix", "exams and later lessons see the rows as they were")
def _mutate_sparse(folder: Path) -> FaultOutcome:
    X, y = make_pool(8_000, 5)
    return _mutate(sparse.csr_matrix(X), y)


@process.add("a second fit of the same learner", "its libraries are imported already")
def _second_fit(folder: Path) -> FaultOutcome:
    # LightGBM is imported by its module alone; the fork server does not need it for anything else.
    from lightgbm import LGBMClassifier

    fit(LGBMClassifier(n_estimators=2, verbosity=-1), rows=1_000)
    imported = fit(LookingAround()).best_estimator_.has_lightgbm_
    return FaultOutcome(imported, "imported" if imported else "not imported")


@late.add("an exception is kept", "it does not hold the shared rows")
def _kept_exception(folder: Path) -> FaultOutcome:
    X, y = make_pool(400_000, 50)
    before = psutil.Process().memory_info()
    try:
        TimeConstrainedClassifier(Dying(above=0), teacher="full", time_limit=60).fit(X, y)
        kept: Exception | None = None
    except FitwithinError as error:
        kept = error
    held = (psutil.Process().memory_info().rss - before.rss) / 1e6
    return FaultOutcome(kept is not None and held < 40, f"{held:.0f} MB more; the rows have {X.nbytes / 1e6:.0f} MB")


@late.add("a model that takes 4 s to load, time limit 2 s", "an earlier model, in time")
def _slow_to_load(folder: Path) -> FaultOutcome:
    fit(Plain())
    start = time.perf_counter()
    classifier = fit(SlowToLoad(above=_FIRST), seconds=2)
    lateness = _late(2, start)
    rows = classifier.best_estimator_.n_rows_
    return FaultOutcome(lateness <= MAX_LATE_SECONDS and rows <= _FIRST, f"{lateness:.3f} s late, model of {rows} rows")


@late.add("a model that cannot be loaded", "an earlier model, with a warning")
def _cannot_load(folder: Path) -> FaultOutcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = fit(SlowToLoad(above=_FIRST, fails=True))
    rows = classifier.best_estimator_.n_rows_
    return FaultOutcome(rows <= _FIRST and bool(caught), f"model of {rows} rows, {len(caught)} warnings")


@late.add("a learner that is killed in its second lesson", "the first model, with a warning")
def _dies(folder: Path) -> FaultOutcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = fit(Dying(above=_FIRST))
    text = str(caught[0].message) if caught else ""
    return FaultOutcome("SIGKILL" in text, f"{classifier.stop_reason_}; {len(classifier.history_)} rounds")


@late.add("60 fits of 0.03 s with a helper that is stopped by a signal", f"none more than {MAX_LATE_SECONDS} s late")
def _stopped_helper(folder: Path) -> FaultOutcome:
    fit(Plain())
    handle = fork_servers.take()
    os.kill(handle._process.pid, signal.SIGSTOP)
    fork_servers.give_back(handle)
    worst = 0.0
    for _ in range(60):
        start = time.perf_counter()
        with contextlib.suppress(NoModelInTime):
            fit(Plain(), seconds=0.03, rows=1_000)
        worst = max(worst, _late(0.03, start))
    return FaultOutcome(worst <= MAX_LATE_SECONDS, f"at most {worst:.3f} s late")


def _undefined_later(model: Any, X: Any, y: Any) -> float:
    return 1.0 if model.n_rows_ <= _FIRST else float("nan")


@late.add("models whose score is not a number", "never better than one with a score")
def _nan_score(folder: Path) -> FaultOutcome:
    # A model of all rows has no exam, and so no score; stop before it.
    classifier = fit(Plain(), scoring=_undefined_later, on_round=lambda finished: finished.number >= 3)
    rows = classifier.best_estimator_.n_rows_
    return FaultOutcome(rows == _FIRST, f"model of {rows} rows after {len(classifier.history_)} rounds")


@late.add("a memory-mapped file is replaced before fit", "trained on the rows that were opened")
def _replaced_map(folder: Path) -> FaultOutcome:
    X, y = make_pool(8_000, 5)
    X.astype(np.float32).tofile(folder / "rows")
    mapped = np.memmap(folder / "rows", mode="r", shape=X.shape, dtype=np.float32)
    np.zeros(X.shape, np.float32).tofile(folder / "new")
    os.replace(folder / "new", folder / "rows")
    model = TimeConstrainedClassifier(Plain(), time_limit=20).fit(mapped, y).best_estimator_
    return FaultOutcome(bool(model.var_.max() > 1e-3), f"largest variance of a feature {model.var_.max():.3f}")


@late.add("a memory-mapped file is cut short before fit", "refused with a sentence, not SIGBUS")
def _cut_map(folder: Path) -> FaultOutcome:
    X, y = make_pool(8_000, 5)
    X.astype(np.float32).tofile(folder / "rows")
    mapped = np.memmap(folder / "rows", mode="r", shape=X.shape, dtype=np.float32)
    os.truncate(folder / "rows", 100)
    try:
        TimeConstrainedClassifier(Plain(), time_limit=20).fit(mapped, y)
    except FitwithinError as error:
        return FaultOutcome("cut short" in str(error), type(error).__name__)
    return FaultOutcome(False, "no error")


@late.add("20 fits that get no descriptors", "no descriptor is lost")
def _no_descriptors(folder: Path) -> FaultOutcome:
    fit(Plain())
    me = psutil.Process()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = me.num_fds()
    for extra in range(20):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + extra % 6, hard))
        try:
            fit(Plain(), rows=1_000)
        except (OSError, FitwithinError):
            pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    fit(Plain())
    lost = me.num_fds() - before
    return FaultOutcome(lost <= 0, f"{lost} descriptors more")


@late.add("a learner that reads standard input", "end of file, no hang")
def _reads_input(folder: Path) -> FaultOutcome:
    read = [fit(ReadingInput(), start=start).best_estimator_.read_ for start in ("fork", "spawn")]
    return FaultOutcome(read == ["", ""], f"read {read}")


@late.add("the working folder was deleted", "a model, and a warning that says so")
def _deleted_folder(folder: Path) -> FaultOutcome:
    (folder / "gone").mkdir()
    os.chdir(folder / "gone")
    (folder / "gone").rmdir()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in ("fork", "spawn"):
            fit(Plain(), start=start)
    os.chdir("/")
    named = sum("working folder" in str(one.message) for one in caught)
    return FaultOutcome(named == 2, f"{named} warnings in 2 fits")


@late.add("no temporary folder can be written to", "an error that names the folder and TMPDIR")
def _no_temporary_folder(folder: Path) -> FaultOutcome:
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "missing")
    try:
        fit(Plain(), start="spawn")
    except FitwithinError as error:
        return FaultOutcome("missing" in str(error) and "TMPDIR" in str(error), type(error).__name__)
    return FaultOutcome(False, "no error")


_ISOLATED = """
import sys
sys.path[:] = {path!r}
from _fault_cases import Plain, fit
print(*(fit(Plain(), start=start).stop_reason_ for start in ("fork", "spawn")), sep=", ")
"""


@late.add("python -I, and a hostile sitecustomize in PYTHONPATH", "models; the file is not run")
def _isolated(folder: Path) -> FaultOutcome:
    (folder / "sitecustomize.py").write_text(f"open({str(folder / 'hostile')!r}, 'w').close()")
    script = _ISOLATED.format(path=sys.path)
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, env=environment)
    ran = (folder / "hostile").exists()
    return FaultOutcome(done.returncode == 0 and not ran, f"{done.stdout.strip()}; {'run' if ran else 'not run'}")


@door.add("the spawned worker, seen by another user", "no port, nothing secret in its arguments")
def _seen_by_others(folder: Path) -> FaultOutcome:
    worker = WorkerHandle()
    arguments = Path(f"/proc/{worker.pid}/cmdline").read_bytes()
    mine = {os.getpid(), worker.pid}
    ports = [found for found in psutil.net_connections("inet") if found.pid in mine]
    worker.close()
    secret = b"token" in arguments or b"\\x" in arguments
    return FaultOutcome(not ports and not secret, f"{len(ports)} ports, arguments of {len(arguments):,} bytes")


@door.add("os.memfd_create and os.pidfd_open are missing", "the default backend works")
def _no_memfd(folder: Path) -> FaultOutcome:
    (folder / "sitecustomize.py").write_text("import os\nfor name in ('memfd_create', 'pidfd_open'): delattr(os, name)")
    script = (
        "import os; assert not hasattr(os, 'memfd_create'); from _fault_cases import Plain, fit; "
        "print(fit(Plain()).stop_reason_)"
    )
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    return FaultOutcome(done.returncode == 0, done.stdout.strip() or done.stderr.strip().splitlines()[-1])


@process_state.add("sklearn.set_config, np.seterr, recursion limit and umask were changed", "the learner sees them")
def _settings(folder: Path) -> FaultOutcome:
    fit(LookingAround())
    sklearn.set_config(enable_metadata_routing=True)
    np.seterr(divide="raise")
    sys.setrecursionlimit(1_234)
    os.umask(0o027)
    seen = dict(fit(LookingAround()).best_estimator_.seen_)
    seen.pop("oom")
    expected = {"routing": True, "divide": "raise", "recursion": 1_234, "umask": 0o027}
    return FaultOutcome(seen == expected, ", ".join(f"{name} {value}" for name, value in seen.items()))


@process_state.add("weights routed to the last step of a Pipeline", "they reach it")
def _routed_weights(folder: Path) -> FaultOutcome:
    X, y = make_pool(2_000, 5)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True))
        weighted = TimeConstrainedClassifier(pipeline, time_limit=20, random_state=0)
        share = weighted.fit(X, y, sample_weight=np.where(y == 1, 100.0, 1.0)).predict(X).mean()
    return FaultOutcome(bool(share > y.mean() + 0.1), f"{share:.0%} predicted positive, {y.mean():.0%} are")


@process_state.add("a library in the user's site folder", "imported once, by the fork server")
def _user_site(folder: Path) -> FaultOutcome:
    script = (
        "import os, site, sys; os.makedirs(site.getusersitepackages()); "
        "open(os.path.join(site.getusersitepackages(), 'user_lib.py'), 'w').write("
        '\'import os; from sklearn.naive_bayes import GaussianNB; open(os.environ["IMPORTS"], "a").write("x")\\n\''
        "'class Mine(GaussianNB): pass'); sys.path.append(site.getusersitepackages()); "
        "import user_lib; from _fault_cases import fit; [fit(user_lib.Mine()) for _ in range(3)]"
    )
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONUSERBASE": str(folder), "IMPORTS": str(folder / "imports")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    imports = len((folder / "imports").read_text()) if done.returncode == 0 else -1
    # Once in the program, once in the fork server.
    return FaultOutcome(imports == 2, f"{imports} imports in 3 fits" if imports >= 0 else done.stderr[-100:])


@process_state.add("a module of the script that makes its attributes lazily", "looking for modules touches none")
def _lazy_globals(folder: Path) -> FaultOutcome:
    (folder / "lazy_script.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n"
        "touched = []\n"
        "class Lazy:\n"
        "    def __getattribute__(self, name):\n"
        "        touched.append(name)\n"
        "        return object.__getattribute__(self, name)\n"
        "resource = Lazy()\n"
        "class Own(GaussianNB): pass\n"
    )
    sys.path.insert(0, str(folder))
    import lazy_script  # type: ignore[import-not-found]  # written above

    fit(lazy_script.Own())
    return FaultOutcome(not lazy_script.touched, f"{len(lazy_script.touched)} attributes touched")
