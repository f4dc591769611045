"""Learners of the accuracy benchmark, by name, each with one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fitwithin._presets import LabelEncodedClassifier, make_preset
from fitwithin_paper.study.paper_learners import make_paper_learner

# Trees of CatBoost: 1,000, its default, would make T a minute where the others take seconds.
_CATBOOST_TREES = 30

# Passes over the rows of the network; 200, scikit-learn's default, would take minutes.
_MLP_EPOCHS = 20


def _make_xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, verbosity=0)


def _make_catboost() -> LabelEncodedClassifier:
    learner = make_preset("catboost", n_jobs=1)
    learner.set_params(estimator__iterations=_CATBOOST_TREES)
    return learner


def _encode_frame(learner: Any) -> Pipeline:
    """Put an encoder of categorical columns before a learner, as a user with a frame does."""
    categories = make_column_selector(dtype_include=["category", "object"])
    numbers = make_column_selector(dtype_include="number")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories), (StandardScaler(), numbers), sparse_threshold=0.3
    )
    return make_pipeline(encoder, learner)


_PRESETS = ("lightgbm", "random-forest", "decision-tree", "linear-svm", "logistic-regression", "sgd-log")
LEARNERS: Mapping[str, Callable[[], Any]] = {
    **{name: lambda name=name: make_paper_learner(name) for name in _PRESETS},
    "xgboost": _make_xgboost,
    "hist-gradient-boosting": HistGradientBoostingClassifier,
    "catboost": _make_catboost,
    "extra-trees": lambda: ExtraTreesClassifier(min_samples_split=5, n_jobs=1),
    "knn": lambda: KNeighborsClassifier(n_jobs=1),
    "mlp": lambda: MLPClassifier(max_iter=_MLP_EPOCHS),
    "one-hot+lightgbm": lambda: _encode_frame(make_preset("lightgbm", n_jobs=1)),
    "one-hot+logistic-regression": lambda: _encode_frame(LogisticRegression()),
}
"""The paper's five learners and nine more. Histogram boosting takes its number of threads from OMP_NUM_THREADS."""
