"""Learners of the recordings, by name, each with one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

# Seconds of the start-up of a process, like a GPU's; about half of a fit on every row of these pairs.
STARTUP_SECONDS = 3.0

_started = False


class StartupClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A learner whose first fit in a process pays a start-up, as the first use of a GPU does.

    Parameters
    ----------
    estimator : estimator
        The learner.
    startup_seconds : float, default=STARTUP_SECONDS
        Seconds of the start-up.
    """

    def __init__(self, estimator: Any, startup_seconds: float = STARTUP_SECONDS) -> None:
        self.estimator = estimator
        self.startup_seconds = startup_seconds

    def fit(self, X: Any, y: Any) -> StartupClassifier:
        global _started
        end = time.perf_counter() + (0.0 if _started else self.startup_seconds)
        while time.perf_counter() < end:
            np.linalg.norm(np.ones(1000))
        _started = True
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.estimator_.predict(X)


def _make_lightgbm(seed: int, n_trees: int = 100) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n_trees, n_jobs=1, verbose=-1, random_state=seed)


def _make_xgboost(seed: int, n_trees: int = 100) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=n_trees, n_jobs=1, verbosity=0, random_state=seed)


def _make_catboost(seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, verbose=False, allow_writing_files=False, random_seed=seed)


def _make_mlp(seed: int) -> Any:
    return MLPClassifier(max_iter=100, random_state=seed)


_LEARNERS: dict[str, Callable[[int], Any]] = {
    "lightgbm": _make_lightgbm,
    "lightgbm-500": lambda seed: _make_lightgbm(seed, 500),
    "xgboost": _make_xgboost,
    "xgboost-500": lambda seed: _make_xgboost(seed, 500),
    "catboost": _make_catboost,
    "hist-gradient-boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "random-forest": lambda seed: RandomForestClassifier(n_jobs=1, random_state=seed),
    "extra-trees": lambda seed: ExtraTreesClassifier(n_jobs=1, random_state=seed),
    "logistic-regression": lambda seed: LogisticRegression(max_iter=200, random_state=seed),
    "logistic-saga": lambda seed: LogisticRegression(solver="saga", max_iter=100, random_state=seed),
    "linear-svc": lambda seed: LinearSVC(random_state=seed),
    "sgd": lambda seed: SGDClassifier(n_jobs=1, random_state=seed),
    "mlp": _make_mlp,
    "svc": lambda seed: SVC(random_state=seed),
    "neighbors": lambda _: KNeighborsClassifier(n_jobs=1),
    "neighbors-tree": lambda _: KNeighborsClassifier(algorithm="kd_tree", n_jobs=1),
    "neighbors-manhattan": lambda _: KNeighborsClassifier(metric="manhattan", n_jobs=1),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "shallow-tree": lambda seed: DecisionTreeClassifier(max_depth=8, random_state=seed),
    "startup-mlp": lambda seed: StartupClassifier(_make_mlp(seed)),
    "startup-extra-trees": lambda seed: StartupClassifier(ExtraTreesClassifier(n_jobs=1, random_state=seed)),
}

_ENCODED = "encoded-"


def make_learner(name: str, seed: int, category_columns: Sequence[int]) -> Any:
    """Return an unfitted learner; one named `encoded-...` encodes the columns of categories itself."""
    if not name.startswith(_ENCODED):
        return _LEARNERS[name](seed)
    encoder = ColumnTransformer(
        [("categories", OneHotEncoder(handle_unknown="ignore", dtype=np.float32), list(category_columns))],
        remainder="passthrough",
    )
    pipeline: Pipeline = make_pipeline(encoder, _LEARNERS[name.removeprefix(_ENCODED)](seed))
    return pipeline
