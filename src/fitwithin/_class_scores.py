"""Probabilities and decisions of a classifier, passed on from its best model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from fitwithin._core.target import Array, expand_to_classes


def _learner_has(method: str) -> Callable[[ClassScoresMixin], bool]:
    def has(self: ClassScoresMixin) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self._learner_or_default(), method)
        return True

    return has


class ClassScoresMixin:
    """Methods of a classifier beside `predict`, as far as its learner has them."""

    best_estimator_: Any
    classes_: Array
    _call_best: Callable[[str, Any], Array]
    _learner_or_default: Callable[[], Any]

    @available_if(_learner_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities, with one column for each of `classes_`.

        Available if the learner has this method.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), data set or Dask collection
            Rows to classify; see `predict`.
        """
        return self._expand_classes(self._call_best("predict_proba", X), absent=0.0)

    @available_if(_learner_has("predict_log_proba"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities.

        Available if the learner has this method.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), data set or Dask collection
            Rows to classify; see `predict`.
        """
        return self._expand_classes(self._call_best("predict_log_proba", X), absent=-np.inf)

    @available_if(_learner_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    def decision_function(self, X: Any) -> Array:
        """Return the values of the learner's decision function.

        Available if the learner has this method.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features), data set or Dask collection
            Rows to classify; see `predict`.
        """
        return self._call_best("decision_function", X)

    def _expand_classes(self, answer: Array, absent: float) -> Array:
        """Add a column for each of `classes_` that the best model was not trained on."""
        known = getattr(self.best_estimator_, "classes_", self.classes_)
        if hasattr(answer, "map_blocks"):
            # A Dask array, whose blocks already have all columns.
            return answer
        return expand_to_classes(answer, known, self.classes_, absent)
