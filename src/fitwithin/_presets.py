"""Learners by name, with the settings of the paper where it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ._any_labels import AnyLabels


def preset(name: str, *, regression: bool = False) -> Any:
    """An unfitted learner by its name.

    Parameters
    ----------
    name : str
        Such as "random-forest".
    regression : bool, default=False
        Whether a regressor is wanted.

    Raises
    ------
    ValueError
        If there is no such name; the message lists those that there are.
    ImportError
        If the learner's package is not installed; the message says how to install it.

    Examples
    --------
    >>> preset("random-forest")
    RandomForestClassifier(min_samples_split=30, n_jobs=1)
    """
    known = REGRESSORS if regression else CLASSIFIERS
    if name not in known:
        names = ", ".join(f'"{known_name}"' for known_name in known)
        kind = "regressor" if regression else "classifier"
        raise ValueError(f"There is no {kind} named {name!r}; the names are {names}, or pass any estimator itself.")
    return known[name]()


def _booster(library: str, kind: str, **settings: Any) -> Any:
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"{BOOSTERS[library]} is not installed: pip install 'fitwithin[boosters]'") from error
    return getattr(module, kind)(**settings)


BOOSTERS = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
"""Libraries of boosters, and how they call themselves."""

_LIGHTGBM: Mapping[str, Any] = {"n_jobs": 1, "verbose": -1}
_XGBOOST: Mapping[str, Any] = {"n_jobs": 1}
_CATBOOST: Mapping[str, Any] = {"thread_count": 1, "verbose": False, "allow_writing_files": False}

CLASSIFIERS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: _booster("lightgbm", "LGBMClassifier", **_LIGHTGBM),
    "xgboost": lambda: AnyLabels(_booster("xgboost", "XGBClassifier", **_XGBOOST)),
    "catboost": lambda: AnyLabels(_booster("catboost", "CatBoostClassifier", **_CATBOOST)),
    "hist-gradient-boosting": HistGradientBoostingClassifier,
    "random-forest": lambda: RandomForestClassifier(min_samples_split=30, n_jobs=1),
    "decision-tree": lambda: DecisionTreeClassifier(min_samples_split=30, max_depth=5),
    "linear-svm": lambda: LinearSVC(dual=False),
    "logistic-regression": lambda: LogisticRegression(solver="saga"),
    "sgd-hinge": lambda: SGDClassifier(loss="hinge"),
    "sgd-log": lambda: SGDClassifier(loss="log_loss"),
}
"""The paper's five learners, the two that go through `partial_fit` in their place, and the other common boosters."""

REGRESSORS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: _booster("lightgbm", "LGBMRegressor", **_LIGHTGBM),
    "xgboost": lambda: _booster("xgboost", "XGBRegressor", **_XGBOOST),
    "catboost": lambda: _booster("catboost", "CatBoostRegressor", **_CATBOOST),
    "hist-gradient-boosting": HistGradientBoostingRegressor,
    "random-forest": lambda: RandomForestRegressor(min_samples_split=30, n_jobs=1),
    "decision-tree": lambda: DecisionTreeRegressor(min_samples_split=30, max_depth=5),
}
"""Their counterparts for values, where there are any."""
