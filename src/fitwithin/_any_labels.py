"""Labels of any kind for boosters that insist on the numbers 0, 1, 2 and so on."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from ._target import Array


class AnyLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier that is taught numbers from 0 on, and answers with the labels behind them.

    XGBoost refuses every other label, CatBoost answers in text or in columns; scikit-learn has nothing for it.

    Parameters
    ----------
    estimator : classifier
        What learns the numbers; needs `predict_proba`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> AnyLabels(DecisionTreeClassifier()).fit([[0], [1]], [True, False]).predict([[0]])
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
        codes = self.numbered(y)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_.fit(X, codes, **weights)
        return self

    def numbered(self, y: Any) -> Array:
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
