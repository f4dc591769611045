"""Learners that could make `fit` late: all simulated faults, and real learners."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from _learners import LargeWhenLate, MajorityClassifier, MemoryHog, SlowWhenLarge
from _synthetic_data import Features, Target, make_pool
from fitwithin.teachers import TCT, Auto, Teacher
from fitwithin.testing import FAULTS, AwkwardClassifier

# Size of the large forest.
_FOREST_BYTES = 243e6

# Largest number of rows on which the faulty learners work.
_HARMLESS_ROWS = 500

# Memory that the largest learner holds.
_HOG_BYTES = 4e9

# A pool of 3.8 GB, and a limit that allows for sharing all of it.
_WIDE_ROWS = 229_142
_WIDE_COLUMNS = 4_167
_WIDE_SECONDS = 6.0

# Bytes of a pool from which on its size is named.
_LARGE_BYTES = 1e9

_LIGHTGBM = LGBMClassifier(n_jobs=2, verbosity=-1)

# Rows that check whether the returned model works.
_N_TEST_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Training rows, and test rows that check the returned model."""

    X: Features
    y: Target
    X_test: Features
    y_test: Target

    @classmethod
    def of(cls, rows: int, columns: int = 20) -> LabelledPool:
        """Make a pool with this number of training rows."""
        X, y = make_pool(rows + _N_TEST_ROWS, columns)
        return cls(X[:rows], y[:rows], X[rows:], y[rows:])


@dataclass(frozen=True, eq=False)
class DeadlineCase:
    """A learner that returns a model in the first round and threatens the deadline afterwards.

    Parameters
    ----------
    name : str
        Description of the learner.
    learner : callable
        Returns the learner of a run, given the share of finished runs, from 0 to 1.
    pool : LabelledPool
        Training and test rows.
    teacher : Teacher
        The teacher.
    seconds : float
        Time limit.
    """

    name: str
    learner: Callable[[float], Any]
    pool: LabelledPool
    teacher: Teacher
    seconds: float


def make_cases(scale: float, seconds: float, folder: Path) -> Iterator[DeadlineCase]:
    """Yield all cases, each with TCT and with the default teacher; a pool is made when its first case is due.

    Parameters
    ----------
    scale : float
        Share of the large pools' rows, for a quick try.
    seconds : float
        Time limit; the pool of 4 GB has a longer one.
    folder : Path
        Folder for the forest.
    """
    yield from _make_small_cases(LabelledPool.of(20_000), scale, seconds, folder)
    yield from _make_large_cases(LabelledPool.of(round(1_000_000 * scale)), scale, seconds)
    # Here the learner takes no time, so only our own row selection and copying can be late.
    huge = LabelledPool.of(round(10_000_000 * scale))
    yield from _with_both_teachers("healthy: trivial learner", MajorityClassifier(), huge, TCT(), seconds)
    del huge
    wide = LabelledPool.of(round(_WIDE_ROWS * scale), _WIDE_COLUMNS)
    yield from _make_slow_cases(_LIGHTGBM, wide, _WIDE_SECONDS, MajorityClassifier())


def _make_small_cases(pool: LabelledPool, scale: float, seconds: float, folder: Path) -> Iterator[DeadlineCase]:
    for fault in FAULTS:
        learner = AwkwardClassifier(fault, above=_HARMLESS_ROWS)
        yield from _with_both_teachers(fault, learner, pool, TCT(first=_HARMLESS_ROWS), seconds)
    n_bytes = round(_HOG_BYTES * scale)
    hog = MemoryHog(n_bytes, above=_HARMLESS_ROWS)
    name = f"learner of {n_bytes / 1e9:.1f} GB"
    yield from _with_both_teachers(name, hog, pool, TCT(first=_HARMLESS_ROWS), 2 * seconds)
    yield _make_late_forest_case(pool, seconds, scale, folder / "forest.joblib")


def _make_large_cases(pool: LabelledPool, scale: float, seconds: float) -> Iterator[DeadlineCase]:
    yield from _make_slow_cases(RandomForestClassifier(n_jobs=2), pool, seconds)
    yield from _make_slow_cases(SVC(), LabelledPool.of(round(100_000 * scale)), seconds)
    yield from _make_slow_cases(_LIGHTGBM, pool, seconds)
    yield from _with_both_teachers("healthy: decision tree", DecisionTreeClassifier(), pool, TCT(), seconds)


def _make_slow_cases(learner: Any, pool: LabelledPool, seconds: float, quick: Any = None) -> Iterator[DeadlineCase]:
    """Yield a case in which the cost model has seen only quick fits when the slow one begins, and one with auto."""
    # Half of the rows, then all.
    slow = SlowWhenLarge(learner, above=len(pool.X) // 2, quick=quick)
    name = _describe(type(learner).__name__, pool)
    yield DeadlineCase(f"{name}, TCT", lambda _: slow, pool, TCT(first=0.5), seconds)
    yield DeadlineCase(f"{name}, auto", lambda _: learner, pool, Auto(), seconds)


def _with_both_teachers(
    name: str, learner: Any, pool: LabelledPool, teacher: Teacher, seconds: float
) -> Iterator[DeadlineCase]:
    yield DeadlineCase(f"{_describe(name, pool)}, TCT", lambda _: learner, pool, teacher, seconds)
    yield DeadlineCase(f"{_describe(name, pool)}, auto", lambda _: learner, pool, Auto(), seconds)


def _describe(name: str, pool: LabelledPool) -> str:
    size = pool.X.nbytes
    return f"{name}, {len(pool.X):,} rows" + (f" of {size / 1e9:.1f} GB" if size >= _LARGE_BYTES else "")


def _make_late_forest_case(pool: LabelledPool, seconds: float, scale: float, file: Path) -> DeadlineCase:
    size = _save_forest(_FOREST_BYTES * scale, file)
    return DeadlineCase(
        f"forest of {size / 1e6:.0f} MB at the end, TCT",
        partial(_make_late_forest_learner, file, seconds),
        pool,
        TCT(first=_HARMLESS_ROWS),
        seconds,
    )


def _make_late_forest_learner(file: Path, seconds: float, progress: float) -> LargeWhenLate:
    # From early to far too late, so that the deadline falls on every step of loading the model.
    return LargeWhenLate(str(file), seconds=seconds * (0.2 + 0.8 * progress), above=_HARMLESS_ROWS)


def _save_forest(size: float, file: Path) -> int:
    """Fit a forest of about `size` bytes on separate rows, save it, and return the size of the file."""
    X, y = make_pool(20_000, 20, seed=1)
    forest = RandomForestClassifier(10, max_features=1, n_jobs=2, warm_start=True, random_state=0)
    ten = len(pickle.dumps(forest.fit(X, y)))
    forest.set_params(n_estimators=max(11, round(10 * size / ten))).fit(X, y)
    joblib.dump(forest, file)
    return file.stat().st_size
