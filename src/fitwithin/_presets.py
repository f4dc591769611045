"""Learners by name, with the settings of the paper for those that it covers."""

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


def make_preset(name: str, *, regression: bool = False) -> Any:
    """Return an unfitted learner by its name.

    Parameters
    ----------
    name : str
        Name of the learner, such as "random-forest".
    regression : bool, default=False
        Whether to return a regressor instead of a classifier.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known names.
    ImportError
        If the learner's package is not installed; the message says how to install it.

    Examples
    --------
    >>> make_preset("random-forest")
    RandomForestClassifier(min_samples_split=30, n_jobs=1)
    """
    presets = REGRESSORS if regression else CLASSIFIERS
    if name not in presets:
        known_names = ", ".join(f'"{known}"' for known in presets)
        kind = "regressor" if regression else "classifier"
        raise ValueError(f"There is no {kind} named {name!r}; use one of {known_names}, or pass an estimator.")
    return presets[name]()


def _make_booster(library: str, class_name: str, settings: Mapping[str, Any]) -> Any:
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"{BOOSTERS[library]} is not installed: pip install 'fitwithin[boosters]'") from error
    return getattr(module, class_name)(**settings)


BOOSTERS = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
"""Booster libraries: module name and display name."""


# Presets of boosters use one thread, like those of scikit-learn, and print nothing.
_LIGHTGBM_SETTINGS: Mapping[str, Any] = {"n_jobs": 1, "verbose": -1}


_XGBOOST_SETTINGS: Mapping[str, Any] = {"n_jobs": 1}


# By default CatBoost writes a folder `catboost_info` into the working directory.
_CATBOOST_SETTINGS: Mapping[str, Any] = {"thread_count": 1, "verbose": False, "allow_writing_files": False}


CLASSIFIERS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: _make_booster("lightgbm", "LGBMClassifier", _LIGHTGBM_SETTINGS),
    "xgboost": lambda: LabelEncodedClassifier(_make_booster("xgboost", "XGBClassifier", _XGBOOST_SETTINGS)),
    "catboost": lambda: LabelEncodedClassifier(_make_booster("catboost", "CatBoostClassifier", _CATBOOST_SETTINGS)),
    "hist-gradient-boosting": HistGradientBoostingClassifier,
    "random-forest": lambda: RandomForestClassifier(min_samples_split=30, n_jobs=1),
    "decision-tree": lambda: DecisionTreeClassifier(min_samples_split=30, max_depth=5),
    "linear-svm": lambda: LinearSVC(dual=False),
    "logistic-regression": lambda: LogisticRegression(solver="saga"),
    "sgd-hinge": lambda: SGDClassifier(loss="hinge"),
    "sgd-log": lambda: SGDClassifier(loss="log_loss"),
}
"""Classifiers by name: the paper's five, SGD variants of its two linear ones, and other common boosters."""


REGRESSORS: Mapping[str, Callable[[], Any]] = {
    "lightgbm": lambda: _make_booster("lightgbm", "LGBMRegressor", _LIGHTGBM_SETTINGS),
    "xgboost": lambda: _make_booster("xgboost", "XGBRegressor", _XGBOOST_SETTINGS),
    "catboost": lambda: _make_booster("catboost", "CatBoostRegressor", _CATBOOST_SETTINGS),
    "hist-gradient-boosting": HistGradientBoostingRegressor,
    "random-forest": lambda: RandomForestRegressor(min_samples_split=30, n_jobs=1),
    "decision-tree": lambda: DecisionTreeRegressor(min_samples_split=30, max_depth=5),
}
"""Regressors by name: the counterparts of the classifiers that have one."""


class LabelEncodedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier that encodes any labels as 0, 1, 2, ... for the classifier inside it.

    XGBoost accepts no other labels. CatBoost predicts text or a column. scikit-learn has no such wrapper.

    Parameters
    ----------
    estimator : classifier
        Fitted on the encoded labels; must have `predict_proba`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> LabelEncodedClassifier(DecisionTreeClassifier()).fit([[0], [1]], [True, False]).predict([[0]])
    array([ True])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a clone of the estimator on the encoded labels.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Features, in a form that the estimator accepts.
        y : array of shape (n_rows,)
            Labels, all of one type.
        sample_weight : array of shape (n_rows,), optional
            Weights, passed to the estimator.

        Returns
        -------
        LabelEncodedClassifier
            This object.
        """
        codes = self.encode_labels(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_.fit(X, codes, **weights)
        return self

    def encode_labels(self, y: Any) -> Array:
        """Store the labels, clone the estimator, and return the code of each row's label."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = clone(self.estimator)
        return codes

    def predict(self, X: Any) -> Array:
        """Predict the labels of these rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_rows,)
            Labels.
        """
        check_is_fitted(self)
        # CatBoost predicts a column if there are more than two classes.
        codes = np.asarray(self.estimator_.predict(X)).ravel().astype(np.intp)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities, with columns in the order of `classes_`.
        """
        check_is_fitted(self)
        probabilities: Array = self.estimator_.predict_proba(X)
        return probabilities

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` has stored the labels."""
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Tags:
        """Accept missing values and sparse rows if the estimator does."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags
