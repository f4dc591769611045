"""Learners that could make `fit` late: all simulated troubles, and real learners."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from _learners import LargeWhenLate, MajorityClassifier, SlowWhenLarge
from _synthetic_data import Features, Target, make_pool
from fitwithin.teachers import TCT, Teacher
from fitwithin.testing import TROUBLES, AwkwardClassifier

# Size of the large forest.
_FOREST_BYTES = 243e6

# TrainTestRows that check whether the returned model works.
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
    """

    name: str
    learner: Callable[[float], Any]
    pool: LabelledPool
    teacher: Teacher


def make_cases(scale: float, seconds: float, folder: Path) -> list[DeadlineCase]:
    """Return all cases.

    Parameters
    ----------
    scale : float
        Share of the large pools' rows, for a quick try.
    seconds : float
        Time limit, which one learner needs to finish close to it.
    folder : Path
        Folder for the forest.
    """
    small, large, huge = (
        LabelledPool.of(20_000),
        LabelledPool.of(round(1_000_000 * scale)),
        LabelledPool.of(round(10_000_000 * scale)),
    )
    return [
        *(_make_trouble_case(name, small) for name in TROUBLES),
        _make_slow_case("RandomForest(n_jobs=2)", RandomForestClassifier(n_jobs=2), large),
        _make_slow_case("libsvm SVC", SVC(), LabelledPool.of(round(100_000 * scale))),
        _make_slow_case("LightGBM(n_jobs=2)", LGBMClassifier(n_jobs=2, verbosity=-1), large),
        _make_late_forest_case(small, seconds, scale, folder / "forest.joblib"),
        _make_healthy_case("decision tree", DecisionTreeClassifier(), large),
        # Here the learner takes no time, so only our own row selection and copying can be late.
        _make_healthy_case("trivial learner", MajorityClassifier(), huge),
    ]


def _make_trouble_case(name: str, pool: LabelledPool) -> DeadlineCase:
    return DeadlineCase(name, lambda _: AwkwardClassifier(name, above=500), pool, TCT(first=500))


def _make_slow_case(name: str, learner: Any, pool: LabelledPool) -> DeadlineCase:
    # Half of the rows, then all: the cost model has seen only the quick fit on the first half, so it allows the
    # slow one.
    slow = SlowWhenLarge(learner, above=len(pool.X) // 2)
    return DeadlineCase(f"{name}, {len(pool.X):,} rows", lambda _: slow, pool, TCT(first=0.5))


def _make_healthy_case(name: str, learner: Any, pool: LabelledPool) -> DeadlineCase:
    return DeadlineCase(f"healthy: {name}, {len(pool.X):,} rows", lambda _: learner, pool, TCT())


def _make_late_forest_case(pool: LabelledPool, seconds: float, scale: float, file: Path) -> DeadlineCase:
    size = _save_forest(_FOREST_BYTES * scale, file)
    return DeadlineCase(
        f"forest of {size / 1e6:.0f} MB at the end",
        partial(_make_late_forest_learner, file, seconds),
        pool,
        TCT(first=500),
    )


def _make_late_forest_learner(file: Path, seconds: float, progress: float) -> LargeWhenLate:
    # From early to far too late, so that the deadline falls on every step of loading the model.
    return LargeWhenLate(str(file), seconds=seconds * (0.2 + 0.8 * progress), above=500)


def _save_forest(size: float, file: Path) -> int:
    """Fit a forest of about `size` bytes on separate rows, save it, and return the size of the file."""
    X, y = make_pool(20_000, 20, seed=1)
    forest = RandomForestClassifier(10, max_features=1, n_jobs=2, warm_start=True, random_state=0)
    ten = len(pickle.dumps(forest.fit(X, y)))
    forest.set_params(n_estimators=max(11, round(10 * size / ten))).fit(X, y)
    joblib.dump(forest, file)
    return file.stat().st_size
