"""The learners that have a name, with their settings; reading this table imports no learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A learner by name.

    Parameters
    ----------
    classifier : str
        Module and class.
    regressor : str or None
        The same for regression; None if there is none.
    settings : dict
        What differs from the defaults of the library.
    threads : str or None
        The setting for the number of threads, -1 for one for each core; None if there is none. Histogram boosting
        has none, and uses every core.
    encodes_labels : bool
        Whether the classifier takes only 0, 1, 2, ... as labels, so that others are encoded.
    """

    classifier: str
    regressor: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: str | None = None
    encodes_labels: bool = False


PRESETS: Mapping[str, Preset] = {
    "lightgbm": Preset("lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor", settings={"verbose": -1}, threads="n_jobs"),
    "xgboost": Preset("xgboost.XGBClassifier", "xgboost.XGBRegressor", threads="n_jobs", encodes_labels=True),
    "catboost": Preset(
        "catboost.CatBoostClassifier",
        "catboost.CatBoostRegressor",
        # By default it writes a folder `catboost_info` into the working directory.
        settings={"verbose": False, "allow_writing_files": False},
        threads="thread_count",
        encodes_labels=True,
    ),
    "hist-gradient-boosting": Preset(
        "sklearn.ensemble.HistGradientBoostingClassifier", "sklearn.ensemble.HistGradientBoostingRegressor"
    ),
    # Trees of single rows would take as much memory as the rows.
    "extra-trees": Preset(
        "sklearn.ensemble.ExtraTreesClassifier",
        "sklearn.ensemble.ExtraTreesRegressor",
        settings={"min_samples_leaf": 5},
        threads="n_jobs",
    ),
    "random-forest": Preset(
        "sklearn.ensemble.RandomForestClassifier",
        "sklearn.ensemble.RandomForestRegressor",
        settings={"min_samples_leaf": 5},
        threads="n_jobs",
    ),
    # A single tree has nothing else to keep it from learning every row by heart.
    "decision-tree": Preset(
        "sklearn.tree.DecisionTreeClassifier", "sklearn.tree.DecisionTreeRegressor", settings={"min_samples_leaf": 20}
    ),
    # The dual problem takes far longer where rows outnumber features.
    "linear-svm": Preset("sklearn.svm.LinearSVC", settings={"dual": False}),
    "logistic-regression": Preset("sklearn.linear_model.LogisticRegression"),
    "sgd-hinge": Preset("sklearn.linear_model.SGDClassifier", settings={"loss": "hinge"}),
    "sgd-log": Preset("sklearn.linear_model.SGDClassifier", settings={"loss": "log_loss"}),
}
"""Learners by name."""


CLASSIFIERS = tuple(PRESETS)
"""Names of classifiers."""


REGRESSORS = tuple(name for name, preset in PRESETS.items() if preset.regressor is not None)
"""Names of regressors."""


BOOSTERS = ("lightgbm", "xgboost", "catboost")
"""Booster libraries."""
