"""The learner's side of a lesson, the same wherever it sits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._core.records import Estimate, Margins, Mask
from fitwithin._core.scoring import ExamLog, Scoring
from fitwithin._core.target import Array
from fitwithin._pools import LabeledRows
from fitwithin.backends._early_stopping import EarlyStoppingFit, StopSignal

_BY_PROBABILITY = (("lightgbm", "LGBMClassifier.predict"), ("sklearn", "ForestClassifier.predict"))


@dataclass(frozen=True, eq=False)
class Sat:
    """What came of an exam.

    Parameters
    ----------
    wrong : array of bool
        Which rows count as wrong.
    margins : array of float or None
        How sure the model was of each row, if that was asked.
    """

    wrong: Mask
    margins: Margins | None


class ModelRunner:
    """An unfitted learner that becomes a model, and is examined.

    Parameters
    ----------
    learner : estimator
        Fitted in place.
    scoring : Scoring
        How it is graded.

    Attributes
    ----------
    seconds : float
        What the learner's own work took so far, by the system's clock.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin._core.scoring import Scoring
    >>> from fitwithin._pools import LabeledRows
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> pupil = ModelRunner(DecisionTreeClassifier(), Scoring())
    >>> pupil.learn(LabeledRows(np.array([[0.0], [1.0]]), np.array(["a", "b"])), {})
    >>> pupil.sit([LabeledRows(np.array([[0.0], [1.0]]), np.array(["a", "a"]))]).wrong
    array([False,  True])
    """

    def __init__(self, learner: Any, scoring: Scoring) -> None:
        self.model = learner
        self._grading = scoring
        self._exams = ExamLog(learner, scoring)
        self.warnings: list[warnings.WarningMessage] = []
        self.seconds = 0.0
        self.goes_on = False

    def learn(
        self,
        portion: LabeledRows,
        options: Mapping[str, Any],
        stop_signal: StopSignal | None = None,
        stopping: EarlyStoppingFit | None = None,
    ) -> None:
        """Fit, and remember the warnings for the user; who can be stopped is, when stop_signal is at its end."""
        params = {**portion.extras, **options}
        with warnings.catch_warnings(record=True) as caught:
            start = time.monotonic()
            if stop_signal is None or stopping is None:
                self.model.fit(portion.X, portion.y, **params)
            else:
                stopping(self.model, portion.X, portion.y, stop_signal, params)
            self.seconds += time.monotonic() - start
        self.warnings = caught

    def go_on(self, portion: LabeledRows, batch: int, classes: Array | None) -> None:
        """Learn a little more by `partial_fit`, from so many rows at a time."""
        known = {} if classes is None or self.goes_on else {"classes": classes}
        with warnings.catch_warnings(record=True) as caught:
            start = time.monotonic()
            for part in portion.split(batch):
                self.model.partial_fit(part.X, part.y, **part.extras, **known)
                known = {}
            self.seconds += time.monotonic() - start
        self.goes_on = True
        self.warnings = caught
        self._exams = ExamLog(self.model, self._grading)

    def sit(self, portions: Iterable[LabeledRows], margins: bool = False) -> Sat:
        """Sit an exam, in as many portions as it comes."""
        answers = [(self._answer(portion, margins), portion.y) for portion in portions]
        wrong = self._grading.mistakes(
            np.concatenate([y for _, y in answers]), np.concatenate([predicted for (predicted, _), _ in answers])
        )
        gaps = [gap for (_, gap), _ in answers if gap is not None]
        return Sat(wrong, np.concatenate(gaps) if gaps else None)

    def _answer(self, portion: LabeledRows, margins: bool) -> tuple[Array, Margins | None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.monotonic()
            probabilities = np.asarray(self.model.predict_proba(portion.X)) if margins else None
            known = None
            if probabilities is not None and self._predicts_the_likeliest:
                known = self.model.classes_[probabilities.argmax(axis=1)]
            predicted = self._exams.predict(portion.X, portion.y, portion.weights, known)
            self.seconds += time.monotonic() - start
        return predicted, None if probabilities is None else _gaps(probabilities)

    @property
    def _predicts_the_likeliest(self) -> bool:
        """Whether the probabilities tell what `predict` would say, and nobody needs more than that.

        Known of learners that are slow to answer; others may go by a decision function, or by a threshold.
        """
        predict = getattr(type(self.model), "predict", None)
        whose = (getattr(predict, "__module__", "").split(".")[0], getattr(predict, "__qualname__", ""))
        return self._grading.scorer is None and whose in _BY_PROBABILITY

    def score(self, fresh: Mask) -> tuple[Estimate | None, Estimate | None]:
        """The score over all rows of its exams, and over the fresh ones among them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            overall = self._grading.estimate(self._exams)
            return overall, overall if fresh.all() else self._grading.estimate(self._exams, fresh)


def _gaps(probabilities: Array) -> Margins:
    """How far the likeliest class is ahead of the next one; a model that knows one class is sure of it."""
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities), dtype=np.float32)
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0], dtype=np.float32)


def repeat(caught: list[warnings.WarningMessage]) -> None:
    """Warn again, here, of what a learner warned of elsewhere."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
