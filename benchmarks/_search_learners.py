"""Learners of the search benchmark: each with the default hyperparameters of its library, and one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fitwithin._presets import make_preset

LEARNERS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: make_preset("lightgbm", n_jobs=1),
    "xgboost": lambda: make_preset("xgboost", n_jobs=1),
    "catboost": lambda: make_preset("catboost", n_jobs=1),
    "hist-gradient-boosting": HistGradientBoostingClassifier,
    # With the library's settings, where the presets of some have others.
    "random-forest": lambda: RandomForestClassifier(n_jobs=1),
    "extra-trees": lambda: ExtraTreesClassifier(n_jobs=1),
    "logistic-regression": LogisticRegression,
    "linear-svm": LinearSVC,
}
"""Learners by name. Histogram boosting takes its number of threads from OMP_NUM_THREADS."""


def make_learners(names: str) -> Any:
    """Return a learner, or a list of them for names such as "lightgbm+random-forest"."""
    learners = [LEARNERS[name]() for name in names.split("+")]
    return learners if "+" in names else learners[0]
