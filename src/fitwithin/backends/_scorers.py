"""scikit-learn's scorers: which are the same, and what they ask a model for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer
from sklearn.utils import Tags, get_tags

from fitwithin._core.target import Array

# Methods by which scikit-learn's scorers ask a model for answers.
_RESPONSE_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")

# The public class of all scorers that `make_scorer` and `get_scorer` return has no public name.
_SklearnScorer = type(get_scorer("accuracy")).__mro__[1]


def is_sklearn_scorer(scorer: Any) -> bool:
    """Whether scikit-learn made the scorer, so that it looks at nothing but a model's answers."""
    return isinstance(scorer, _SklearnScorer)


class Responder(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands in for a model before a scorer: asks the model once for each method, and answers by row number."""

    def __init__(self, model: Any, regression: bool, X: Any, y: Array, known: Mapping[str, Array]) -> None:
        self.model = model
        self.regression = regression
        self.X = X
        self.y = y
        self.known = dict(known)

    def predictions_by(self, method: str) -> Array:
        """Return what the model answers by a method, for all rows."""
        if method not in self.known:
            self.known[method] = np.asarray(getattr(self.model, method)(self.X))
        return self.known[method]

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and not self.regression:
            return find_classes(self.model, self.y)
        if name not in _RESPONSE_METHODS or not hasattr(self.model, name):
            raise AttributeError(name)

        def respond(rows: Array) -> Array:
            return self.predictions_by(name)[rows[:, 0]]

        # scikit-learn looks at the name of the method it was given.
        respond.__name__ = name
        return respond

    def __sklearn_tags__(self) -> Tags:
        if hasattr(self.model, "__sklearn_tags__"):
            return get_tags(self.model)
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.regression else "classifier"
        return tags


def find_classes(model: Any, y: Array) -> Array:
    """Return the classes that the columns of a model's probabilities stand for."""
    return np.asarray(model.classes_) if hasattr(model, "classes_") else np.unique(y)


def is_same_scorer(scorer: Any, known: Any) -> bool:
    """Whether two scorers are the same function with the same options; scikit-learn defines no equality."""
    # The user's scorer may also have requests for metadata, which change nothing.
    return type(scorer) is type(known) and all(vars(scorer).get(name) == value for name, value in vars(known).items())
