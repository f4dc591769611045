"""The learners that try to make `fit` late: every trouble that we can make, and real ones."""

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

_FOREST_BYTES = 243e6
_HELD_OUT = 2_000


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Rows to learn from, and a few to see whether the model works."""

    X: Features
    y: Target
    X_test: Features
    y_test: Target

    @classmethod
    def of(cls, rows: int, columns: int = 20) -> LabelledPool:
        """So many rows to learn from."""
        X, y = make_pool(rows + _HELD_OUT, columns)
        return cls(X[:rows], y[:rows], X[rows:], y[rows:])


@dataclass(frozen=True, eq=False)
class DeadlineCase:
    """A learner that gives a model in its first round and is in the way of the deadline afterwards.

    Parameters
    ----------
    name : str
        What it does.
    learner : callable
        Makes the learner of a run, which may depend on how many of the runs are over, from 0 to 1.
    pool : LabelledPool
        What it learns from.
    teacher : Teacher
        Who chooses the lessons.
    """

    name: str
    learner: Callable[[float], Any]
    pool: LabelledPool
    teacher: Teacher


def make_cases(scale: float, seconds: float, folder: Path) -> list[DeadlineCase]:
    """Every case.

    Parameters
    ----------
    scale : float
        Share of the full pools' rows, for a quick try.
    seconds : float
        The time limit, which one learner must know to be in the way.
    folder : Path
        For the forest.
    """
    small, large, huge = (
        LabelledPool.of(20_000),
        LabelledPool.of(round(1_000_000 * scale)),
        LabelledPool.of(round(10_000_000 * scale)),
    )
    return [
        *(_trouble(name, small) for name in TROUBLES),
        _slow("RandomForest(n_jobs=2)", RandomForestClassifier(n_jobs=2), large),
        _slow("libsvm SVC", SVC(), LabelledPool.of(round(100_000 * scale))),
        _slow("LightGBM(n_jobs=2)", LGBMClassifier(n_jobs=2, verbosity=-1), large),
        _late_forest(small, seconds, scale, folder / "forest.joblib"),
        _healthy("decision tree", DecisionTreeClassifier(), large),
        # Here the learner takes no time, and what may be late is our own choosing and copying.
        _healthy("trivial learner", MajorityClassifier(), huge),
    ]


def _trouble(name: str, pool: LabelledPool) -> DeadlineCase:
    return DeadlineCase(name, lambda _: AwkwardClassifier(name, above=500), pool, TCT(first=500))


def _slow(name: str, learner: Any, pool: LabelledPool) -> DeadlineCase:
    # Half of the rows, then all of them: the largest lesson that this pool has, and one that the
    # cost model lets begin, because it knows only the quick model of the first half.
    slow = SlowWhenLarge(learner, above=len(pool.X) // 2)
    return DeadlineCase(f"{name}, {len(pool.X):,} rows", lambda _: slow, pool, TCT(first=0.5))


def _healthy(name: str, learner: Any, pool: LabelledPool) -> DeadlineCase:
    return DeadlineCase(f"healthy: {name}, {len(pool.X):,} rows", lambda _: learner, pool, TCT())


def _late_forest(pool: LabelledPool, seconds: float, scale: float, file: Path) -> DeadlineCase:
    size = _store_forest(_FOREST_BYTES * scale, file)
    return DeadlineCase(
        f"forest of {size / 1e6:.0f} MB at the end", partial(_ready_at, file, seconds), pool, TCT(first=500)
    )


def _ready_at(file: Path, seconds: float, progress: float) -> LargeWhenLate:
    # From easily in time to hopelessly late, so that the deadline falls on every step of bringing it back.
    return LargeWhenLate(str(file), seconds=seconds * (0.2 + 0.8 * progress), above=500)


def _store_forest(size: float, file: Path) -> int:
    """Train a forest of about so many bytes, on rows of its own."""
    X, y = make_pool(20_000, 20, seed=1)
    forest = RandomForestClassifier(10, max_features=1, n_jobs=2, warm_start=True, random_state=0)
    ten = len(pickle.dumps(forest.fit(X, y)))
    forest.set_params(n_estimators=max(11, round(10 * size / ten))).fit(X, y)
    joblib.dump(forest, file)
    return file.stat().st_size
