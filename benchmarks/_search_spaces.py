"""Spaces that a user would write for scikit-learn's searches; ours gets the same ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scipy.stats import loguniform, randint, uniform

Space = Mapping[str, Any]

_SPACES: Mapping[str, Callable[[], Space]] = {
    "lightgbm": lambda: {
        "n_estimators": randint(20, 200),
        "num_leaves": randint(8, 128),
        "learning_rate": loguniform(0.02, 0.5),
        "min_child_samples": randint(2, 100),
        "colsample_bytree": uniform(0.5, 0.5),
        "reg_lambda": loguniform(1e-3, 10),
    },
    "xgboost": lambda: {
        "estimator__n_estimators": randint(20, 200),
        "estimator__max_depth": randint(3, 10),
        "estimator__learning_rate": loguniform(0.02, 0.5),
        "estimator__min_child_weight": loguniform(0.1, 20),
        "estimator__colsample_bytree": uniform(0.5, 0.5),
        "estimator__reg_lambda": loguniform(1e-3, 10),
    },
    "hist-gradient-boosting": lambda: {
        "max_iter": randint(20, 200),
        "max_leaf_nodes": randint(8, 128),
        "learning_rate": loguniform(0.02, 0.5),
        "min_samples_leaf": randint(2, 100),
        "l2_regularization": loguniform(1e-3, 10),
    },
    "random-forest": lambda: {
        "n_estimators": randint(20, 200),
        "max_features": uniform(0.05, 0.6),
        "min_samples_leaf": randint(1, 20),
        "criterion": ["gini", "entropy"],
    },
    "extra-trees": lambda: {
        "n_estimators": randint(20, 200),
        "max_features": uniform(0.05, 0.6),
        "min_samples_leaf": randint(1, 20),
        "criterion": ["gini", "entropy"],
    },
    "logistic-regression": lambda: {"C": loguniform(1e-3, 1e3), "max_iter": [50, 100, 200]},
    "linear-svm": lambda: {"C": loguniform(1e-3, 1e2), "class_weight": [None, "balanced"]},
}


def make_space(learner: str) -> Space:
    """Return the distributions of a learner's settings."""
    return _SPACES[learner]()


def has_space(learner: str) -> bool:
    """Return whether a learner has a space here."""
    return learner in _SPACES
