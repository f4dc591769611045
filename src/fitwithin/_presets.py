"""Learners by name; `_core/preset_table.py` holds their settings."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from fitwithin._core.install_command import require_libraries
from fitwithin._core.preset_table import CLASSIFIERS, PRESETS, REGRESSORS
from fitwithin._core.target import Array


def make_preset(name: str, *, regression: bool = False, n_jobs: int = -1) -> Any:
    """Return an unfitted learner by its name.

    Parameters
    ----------
    name : str
        Name of the learner, such as "random-forest".
    regression : bool, default=False
        Whether to return a regressor instead of a classifier.
    n_jobs : int, default=-1
        Threads of the learner, if it has a setting for them; -1 for one for each core.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known names.
    ImportError
        If the learner's package is not installed; the message says how to install it.

    Examples
    --------
    >>> make_preset("random-forest")
    RandomForestClassifier(min_samples_leaf=5, n_jobs=-1)
    """
    known_names = REGRESSORS if regression else CLASSIFIERS
    if name not in known_names:
        listed = ", ".join(f'"{known}"' for known in known_names)
        kind = "regressor" if regression else "classifier"
        raise ValueError(f"There is no {kind} named {name!r}; use one of {listed}, or pass an estimator.")
    preset = PRESETS[name]
    threads = {} if preset.threads is None else {preset.threads: n_jobs}
    library, _, class_name = str(preset.regressor if regression else preset.classifier).rpartition(".")
    require_libraries(f"The learner {name}", library)
    learner = getattr(import_module(library), class_name)(**preset.settings, **threads)
    return LabelEncodedClassifier(learner) if preset.encodes_labels and not regression else learner


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

    def __sklearn_tags__(self) -> Tags:
        """Accept missing values and sparse rows if the estimator does."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags
