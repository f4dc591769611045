"""The learner's side of a lesson, the same wherever it sits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._grading import Exams, Grading
from .._messages import Mask
from .._pools import Portion
from .._selection import Estimate
from .._target import Array


class Pupil:
    """An unfitted learner that becomes a model, and is examined.

    Parameters
    ----------
    learner : estimator
        Fitted in place.
    grading : Grading
        How it is graded.

    Attributes
    ----------
    seconds : float
        What the learner's own work took so far, by the system's clock.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin._grading import Grading
    >>> from fitwithin._pools import Portion
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> pupil = Pupil(DecisionTreeClassifier(), Grading(None))
    >>> pupil.learn(Portion(np.array([[0.0], [1.0]]), np.array(["a", "b"])), {})
    >>> pupil.sit([Portion(np.array([[0.0], [1.0]]), np.array(["a", "a"]))])
    array([False,  True])
    """

    def __init__(self, learner: Any, grading: Grading) -> None:
        self.model = learner
        self._grading = grading
        self._exams = Exams(learner, grading.regression)
        self.warnings: list[warnings.WarningMessage] = []
        self.seconds = 0.0

    def learn(self, portion: Portion, options: Mapping[str, Any]) -> None:
        """Fit, and remember the warnings for the user."""
        with warnings.catch_warnings(record=True) as caught:
            start = time.monotonic()
            self.model.fit(portion.X, portion.y, **portion.extras, **options)
            self.seconds += time.monotonic() - start
        self.warnings = caught

    def sit(self, portions: Iterable[Portion]) -> Mask:
        """Sit an exam, in as many portions as it comes; which rows count as wrong."""
        predicted, y = zip(*((self._answer(portion), portion.y) for portion in portions), strict=True)
        return self._grading.mistakes(np.concatenate(y), np.concatenate(predicted))

    def _answer(self, portion: Portion) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.monotonic()
            predicted = self._exams.sit(portion.X, portion.y, portion.weights, self._grading.scorer).ravel()
            self.seconds += time.monotonic() - start
        if predicted.shape != portion.y.shape:
            raise ValueError(f"predict returned {predicted.shape[0]} answers for {portion.y.shape[0]} rows.")
        return predicted

    def score(self, fresh: Mask) -> tuple[Estimate | None, Estimate | None]:
        """The score over all rows of its exams, and over the fresh ones among them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            overall = self._grading.estimate(self._exams)
            return overall, overall if fresh.all() else self._grading.estimate(self._exams, fresh)


def repeat(caught: list[warnings.WarningMessage]) -> None:
    """Warn again, here, of what a learner warned of elsewhere."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
