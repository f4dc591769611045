"""The learner's side of a lesson, the same wherever it sits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._messages import Mask
from .._pools import Array


class Pupil:
    """An unfitted learner that becomes a model, and is examined.

    Parameters
    ----------
    learner : estimator
        Fitted in place.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> pupil = Pupil(DecisionTreeClassifier())
    >>> pupil.learn(np.array([[0.0], [1.0]]), np.array(["a", "b"]))
    >>> pupil.mistakes(np.array([[0.0], [1.0]]), np.array(["a", "a"]))
    array([False,  True])
    """

    def __init__(self, learner: Any) -> None:
        self.model = learner
        self.warnings: list[warnings.WarningMessage] = []

    def learn(self, X: Any, y: Array) -> None:
        """Fit, and remember the warnings for the user."""
        with warnings.catch_warnings(record=True) as caught:
            self.model.fit(X, y)
        self.warnings = caught

    def mistakes(self, X: Any, y: Array) -> Mask:
        """Which rows the model gets wrong."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = np.asarray(self.model.predict(X)).ravel()
        if predicted.shape != y.shape:
            raise ValueError(f"predict returned {predicted.shape[0]} labels for {y.shape[0]} rows.")
        return np.asarray(predicted != y, dtype=np.bool_)


def repeat(caught: list[warnings.WarningMessage]) -> None:
    """Warn again, here, of what a learner warned of elsewhere."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
