"""Faults by memory: learners that take too much of it, under a limit, in a full memory group, in their children."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from _fault import FaultCases, FaultOutcome
from fitwithin import NoModelInMemory, TimeConstrainedClassifier
from fitwithin.testing import HungryClassifier

memory = FaultCases("memory")

_LIMIT = 500_000_000  # bytes; a learner on all rows takes 800 MB beside its process

# Bytes above the limit until a learner is stopped: 2 to 40 MB when measured.
_ROOM = 100_000_000

_GROUP_BYTES = 1_200_000_000

_GROUP = Path("/sys/fs/cgroup/memory")


def _fit(**settings: Any) -> Any:
    """Fit a learner that takes 50 bytes for each byte of its rows."""
    X = np.random.default_rng(0).random((100_000, 20))
    y = (X.sum(axis=1) > 10).astype(int)
    return TimeConstrainedClassifier(HungryClassifier(50), time_limit=30, random_state=0, **settings).fit(X, y)


@memory.add("50 bytes per byte of rows, a limit, auto", "a model of fewer rows, all rounds within the limit")
def _auto(folder: Path) -> FaultOutcome:
    clf = _fit(memory_limit=_LIMIT)
    peak = max(finished.peak_memory for finished in clf.history_)
    held = clf.stop_reason_ == "memory" and peak <= _LIMIT and clf.n_rows_trained_ > 20_000
    return FaultOutcome(held, f"{clf.stop_reason_}, {clf.n_rows_trained_:,} rows, {peak / 1e6:.0f} of 500 MB")


@memory.add("the same, TCT", 'ends with "memory"')
def _tct(folder: Path) -> FaultOutcome:
    clf = _fit(memory_limit=_LIMIT, teacher="tct")
    return FaultOutcome(clf.stop_reason_ == "memory", f"{clf.stop_reason_}, {clf.n_rows_trained_:,} rows")


@memory.add("the same in the first round", "stopped soon above the limit, an error with the figures")
def _first_round(folder: Path) -> FaultOutcome:
    try:
        _fit(memory_limit=_LIMIT, teacher="full")
    except NoModelInMemory as error:
        taken = float(error.sentence.split("the learner took ")[1].split(" MB")[0]) * 1e6
        return FaultOutcome(_LIMIT <= taken < _LIMIT + _ROOM, error.sentence)
    return FaultOutcome(False, "no error")


@memory.add("a memory group of 1.2 GB is full, no limit", "the learner dies, the program lives and has a model")
def _full_group(folder: Path) -> FaultOutcome:
    with _memory_group() as group:
        if group is None:
            return FaultOutcome(True, "not tried: no memory group of version 1 can be made here")
        program = (
            f"open('{group}/cgroup.procs', 'w').write('0')\n"
            "import numpy as np, _fault_memory\n"
            "held = np.ones(700_000_000, dtype=np.uint8)\n"
            "print(_fault_memory._fit(teacher='double').stop_reason_)"
        )
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            check=False,
        )
    return FaultOutcome(done.stdout.strip() == "learner failed", done.stdout.strip() or f"exit code {done.returncode}")


@contextmanager
def _memory_group() -> Iterator[Path | None]:
    """Make a memory group below our own, and remove it when its last process, a fork server, has ended."""
    lines = Path("/proc/self/cgroup").read_text().splitlines() if sys.platform == "linux" else []
    own = next((line.split(":", 2)[2] for line in lines if line.split(":")[1] == "memory"), None)
    group = None if own is None else _GROUP / own.lstrip("/") / f"fitwithin-{os.getpid()}"
    try:
        if group is not None:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(_GROUP_BYTES))
    except OSError:
        group = None
    yield group
    while group is not None and group.exists():
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
