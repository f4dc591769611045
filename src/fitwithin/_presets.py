"""Learners by name, with the settings of the paper where it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.target import Array


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
    "xgboost": lambda: LabelEncodedClassifier(_booster("xgboost", "XGBClassifier", **_XGBOOST)),
    "catboost": lambda: LabelEncodedClassifier(_booster("catboost", "CatBoostClassifier", **_CATBOOST)),
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


class LabelEncodedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier that is taught numbers from 0 on, and answers with the labels behind them.

    XGBoost refuses every other label, CatBoost answers in text or in columns; scikit-learn has nothing for it.

    Parameters
    ----------
    estimator : classifier
        What learns the numbers; needs `predict_proba`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> LabelEncodedClassifier(DecisionTreeClassifier()).fit([[0], [1]], [True, False]).predict([[0]])
    array([ True])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the labels of these rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Features, as the classifier takes them.
        y : array of shape (n_rows,)
            Labels of one kind.
        sample_weight : array of shape (n_rows,), optional
            Weights, passed on.
        """
        codes = self.encode_labels(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_.fit(X, codes, **weights)
        return self

    def encode_labels(self, y: Any) -> Array:
        """Remember the labels, make a new classifier to be taught, and give each row the number of its label."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = clone(self.estimator)
        return codes

    def predict(self, X: Any) -> Array:
        """Labels.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows to classify.
        """
        check_is_fitted(self)
        # CatBoost answers in a column where there are more than two classes.
        codes = np.asarray(self.estimator_.predict(X)).ravel().astype(np.intp)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, one column for each of `classes_`.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows to classify.
        """
        check_is_fitted(self)
        probabilities: Array = self.estimator_.predict_proba(X)
        return probabilities

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are labels to answer with."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Tags:
        """What the classifier takes."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags
