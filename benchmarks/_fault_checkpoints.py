"""Faults that a checkpoint is there for: kills, full disks, other data, strangers' files."""

from __future__ import annotations

import json
import logging
import resource
import shutil
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from _checkpoint_kills import kill_and_resume
from _fault import FaultCases, FaultOutcome
from _synthetic_data import make_pool
from fitwithin import CheckpointWarning, FitwithinError, TimeConstrainedClassifier

checkpoints = FaultCases("checkpoints and the log")

_N_KILLS = 50

# Of one fit, all calls together. A call is killed after 10 s on average, so that all kills take about nine minutes.
_FIT_SECONDS = 60.0


def _fit(path: Path | None, rows: int = 8_000, learner: Any = None, **settings: Any) -> Any:
    X, y = make_pool(rows, 5)
    options = {"time_limit": 20, "random_state": 0} | settings
    return TimeConstrainedClassifier(learner or DecisionTreeClassifier(), checkpoint=path, **options).fit(X, y)


@checkpoints.add(
    f"SIGKILL at {_N_KILLS} random moments, each time the same call again",
    "nothing is lost but the fit under way",
    once=True,
)
def _kills(folder: Path) -> FaultOutcome:
    outcome = kill_and_resume(folder, _N_KILLS, time_limit=_FIT_SECONDS)
    lost = "; ".join(outcome.losses) or "nothing"
    used = f"{outcome.seconds_used:.0f} of {_FIT_SECONDS:.0f} s"
    figure = f"{outcome.n_kills} kills, {outcome.n_rounds} rounds, {used} used, lost: {lost}"
    return FaultOutcome(outcome.n_kills >= _N_KILLS and not outcome.losses, figure)


@checkpoints.add("the same call with nothing left of the limit", "the stored model, at once")
def _nothing_left(folder: Path) -> FaultOutcome:
    first = _fit(folder / "fit.ckpt", rows=200_000, time_limit=12)
    start = time.perf_counter()
    # Auto may have ended early, with time left.
    again = _fit(folder / "fit.ckpt", rows=200_000, time_limit=0.9 * first.time_used_)
    seconds = time.perf_counter() - start
    figure = f"{first.n_rows_trained_:,} rows, then {again.n_rows_trained_:,} after {seconds:.2f} s"
    return FaultOutcome(again.n_rows_trained_ == first.n_rows_trained_ and seconds < 1, figure)


@checkpoints.add("the folder of the checkpoint disappears", "a model, and one warning")
def _lost_folder(folder: Path) -> FaultOutcome:
    (folder / "gone").mkdir()

    rounds: list[int] = []

    def on_round(finished: Any) -> None:
        rounds.append(finished.number)
        if len(rounds) == 1:
            shutil.rmtree(folder / "gone")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = _fit(folder / "gone" / "fit.ckpt", on_round=on_round)
    named = [one for one in caught if issubclass(one.category, CheckpointWarning)]
    return FaultOutcome(len(named) == 1, f"{classifier.stop_reason_}, {len(named)} warning")


@checkpoints.add("the disk is full", "a model, and one warning")
def _full_disk(folder: Path) -> FaultOutcome:
    # A limit on the size of files fails like a full disk, with another number.
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier = _fit(folder / "fit.ckpt", backend="inline")
    named = [one for one in caught if issubclass(one.category, CheckpointWarning)]
    return FaultOutcome(len(named) == 1, f"{classifier.stop_reason_}, {len(named)} warning")


@checkpoints.add("the same file with other rows, then with another learner", "refused with what differs")
def _other_fit(folder: Path) -> FaultOutcome:
    _fit(folder / "fit.ckpt")
    said = []
    for settings in ({"rows": 7_000}, {"learner": GaussianNB()}):
        try:
            _fit(folder / "fit.ckpt", **settings)
        except FitwithinError as error:
            said.append(str(error).split(". ")[1])
    return FaultOutcome(len(said) == 2, "; ".join(said))


@checkpoints.add("a stranger's checkpoint", "refused, and nothing in it is run")
def _stranger(folder: Path) -> FaultOutcome:
    _fit(folder / "fit.ckpt", learner=LogisticRegression())
    (model,) = (folder / "fit.ckpt").glob("*.skops")
    with zipfile.ZipFile(model) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries["schema.json"])
    schema["__class__"], schema["__module__"] = "system", "os"
    with zipfile.ZipFile(model, "w", zipfile.ZIP_STORED) as archive:
        for name, body in (entries | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, body)
    try:
        _fit(folder / "fit.ckpt", learner=LogisticRegression())
    except FitwithinError as error:
        return FaultOutcome(True, type(error).__name__)
    return FaultOutcome(False, "opened")


@checkpoints.add("warm_start: more time for a fit that has a model", "never worse on its own validation rows")
def _warm_start(folder: Path) -> FaultOutcome:
    classifier = TimeConstrainedClassifier(DecisionTreeClassifier(), time_limit=6, warm_start=True, random_state=0)
    X, y = make_pool(200_000, 10)
    scores = []
    for _ in range(3):
        classifier.fit(X, y)
        scores.append([one.estimate for one in classifier.history_ if one.best][-1])
    return FaultOutcome(bool(np.all(np.diff(scores) >= 0)), " -> ".join(f"{score:.3f}" for score in scores))


@checkpoints.add("a learner fails, with a handler at the logger", "rounds at INFO, the fault at WARNING")
def _log(folder: Path) -> FaultOutcome:
    from _fault_learners import Dying

    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]  # collects
    logger = logging.getLogger("fitwithin")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    _fit(None, learner=Dying(above=500))
    levels = {record.levelname for record in records}
    return FaultOutcome(levels == {"INFO", "WARNING"}, f"{len(records)} lines, {' and '.join(sorted(levels))}")
