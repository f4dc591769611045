"""How a model is graded: which rows it got wrong, and what its exams say of its score."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer
from sklearn.utils import Tags, get_tags

from ._messages import Mask
from ._selection import Estimate, accuracy_interval
from ._tables import concatenate, take
from ._target import Array

Scorer = Callable[..., float]
"""A scikit-learn scorer, or any callable(estimator, X, y)."""

_Z = 1.96
_HARD_SHARE = 0.2
_RESAMPLES = 100
_RESAMPLED_ROWS = 20_000
_RESAMPLING_SECONDS = 0.5
_FEWEST_RESAMPLES = 10
_SMALLEST = 1e-15
_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")

_MadeScorer = type(get_scorer("accuracy")).__mro__[1]


@dataclass(frozen=True, eq=False)
class Grading:
    """The user's way to judge a model.

    Parameters
    ----------
    scorer : callable or None
        A scikit-learn scorer, larger is better; None is plain accuracy, which needs no scorer.
    regression : bool, default=False
        Whether values are predicted instead of classes.
    """

    scorer: Scorer | None = None
    regression: bool = False

    def mistakes(self, y: Array, predicted: Array) -> Mask:
        """Which rows count as wrong when rows are chosen, whatever the metric.

        A misclassified row is wrong. A predicted value is never exactly right, so there the fifth of
        an exam's rows with the largest absolute errors counts as wrong: a rule without a scale, that a
        few outliers cannot stretch.
        """
        if not self.regression:
            return np.asarray(predicted != y, dtype=np.bool_)
        error = np.abs(predicted - y)
        return np.asarray(error > np.quantile(error, 1 - _HARD_SHARE), dtype=np.bool_)

    def estimate(self, exam: Exams, chosen: Mask | None = None) -> Estimate | None:
        """The score over the rows of an exam, or over some of them, with its 95 % interval."""
        rows = np.arange(len(exam)) if chosen is None else np.flatnonzero(chosen)
        if self.scorer is None or not len(rows):
            return None
        value = float(exam.score(self.scorer, rows))
        contributions = _contributions(self.scorer, exam, rows)
        if contributions is None:
            return _symmetric(value, _resampled_error(lambda some: exam.score(self.scorer, some), rows))
        if contributions.dtype == np.bool_ and exam.weights is None:
            return accuracy_interval(int(np.count_nonzero(contributions)), len(rows))
        return _symmetric(value, _standard_error(contributions, exam.weights_of(rows)))


class Exams:
    """What a model answered in the exams of one round.

    Parameters
    ----------
    model : estimator
        Who was examined.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._answers: dict[str, list[Array]] = {"predict": []}
        self._y: list[Array] = []
        self._weights: list[Array] = []
        self._X: list[Any] = []

    def __len__(self) -> int:
        return sum(map(len, self._y))

    def sit(self, X: Any, y: Array, weights: Array | None, scorer: Scorer | None) -> Array:
        """Answer an exam; the predictions. What the scorer will need besides is asked for now, while X is at hand."""
        answering = _Answering(self.model, X)
        predicted = answering.answer("predict")
        if scorer is not None and isinstance(scorer, _MadeScorer):
            if not self._y:
                scorer(answering, np.arange(len(y))[:, None], y)
            for method in set(self._answers) - set(answering.answers):
                answering.answer(method)
        elif scorer is not None:
            self._X.append(X)
        for method, answers in answering.answers.items():
            self._answers.setdefault(method, []).append(answers)
        self._y.append(y)
        if weights is not None:
            self._weights.append(weights)
        return predicted

    @property
    def y(self) -> Array:
        """The truth."""
        return np.concatenate(self._y)

    @property
    def weights(self) -> Array | None:
        """The rows' weights, if they have any."""
        return np.concatenate(self._weights) if self._weights else None

    def weights_of(self, rows: Array) -> Array:
        """Weights of these rows; all one if they have none."""
        weights = self.weights
        return np.ones(len(rows)) if weights is None else weights[rows]

    def answers(self, method: str) -> Array:
        """What the model answered by a method, in all exams."""
        return np.concatenate(self._answers[method])

    def score(self, scorer: Scorer | None, rows: Array) -> float:
        """The score over these rows."""
        assert scorer is not None
        if not isinstance(scorer, _MadeScorer):
            return float(scorer(self.model, take(concatenate(self._X), rows), self.y[rows]))
        replay = _Answering(self.model, None, {method: self.answers(method) for method in self._answers})
        weights = self.weights
        options = {} if weights is None else {"sample_weight": weights[rows]}
        return float(scorer(replay, rows[:, None], self.y[rows], **options))


class _Answering(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands in for a model before a scorer: asks the model once for each method, and answers by row number."""

    def __init__(self, model: Any, X: Any, answers: Mapping[str, Array] | None = None) -> None:
        self.model = model
        self.X = X
        self.answers = dict(answers or {})

    def answer(self, method: str) -> Array:
        """Everything that the model says by a method."""
        if method not in self.answers:
            self.answers[method] = np.asarray(getattr(self.model, method)(self.X))
        return self.answers[method]

    def __getattr__(self, name: str) -> Any:
        if name == "classes_":
            return self.model.classes_
        if name not in _METHODS or not hasattr(self.model, name):
            raise AttributeError(name)

        def answer(rows: Array) -> Array:
            return self.answer(name)[rows[:, 0]]

        # scikit-learn knows a method by its name.
        answer.__name__ = name
        return answer

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.model)


def _contributions(scorer: Scorer, exam: Exams, rows: Array) -> Array | None:
    """What each row adds to a metric that is a mean over rows; None for other metrics."""
    by_row = _MEANS.get(repr(scorer))
    return None if by_row is None else by_row(exam, rows)


def _right(exam: Exams, rows: Array) -> Array:
    return np.asarray(exam.answers("predict")[rows].ravel() == exam.y[rows], dtype=np.bool_)


def _log_probability(exam: Exams, rows: Array) -> Array:
    probabilities = exam.answers("predict_proba")[rows]
    column = np.searchsorted(exam.model.classes_, exam.y[rows])
    return np.asarray(np.log(probabilities[np.arange(len(rows)), column].clip(_SMALLEST)))


def _brier(exam: Exams, rows: Array) -> Array:
    probabilities = exam.answers("predict_proba")[rows]
    truth = exam.y[rows][:, None] == exam.model.classes_[None, :]
    # With two classes the metric counts the distance of one of them.
    return np.asarray(-((truth - probabilities) ** 2).sum(axis=1) / (2 if len(exam.model.classes_) == 2 else 1))


def _absolute_error(exam: Exams, rows: Array) -> Array:
    return np.asarray(-np.abs(exam.answers("predict")[rows].ravel() - exam.y[rows]))


def _squared_error(exam: Exams, rows: Array) -> Array:
    return -(_absolute_error(exam, rows) ** 2)


_MEANS: Mapping[str, Callable[[Exams, Array], Array]] = {
    repr(get_scorer(name)): by_row
    for name, by_row in {
        "accuracy": _right,
        "neg_log_loss": _log_probability,
        "neg_brier_score": _brier,
        "neg_mean_absolute_error": _absolute_error,
        "neg_mean_squared_error": _squared_error,
    }.items()
}


def _symmetric(value: float, error: float) -> Estimate:
    return Estimate(value, value - _Z * error, value + _Z * error)


def _standard_error(values: Array, weights: Array) -> float:
    total = weights.sum()
    mean = (weights * values).sum() / total
    return float(np.sqrt((weights**2 * (values - mean) ** 2).sum()) / total)


def _resampled_error(score: Callable[[Array], float], rows: Array) -> float:
    """The standard error of a score, from resamples; the work is bounded whatever the exam's size.

    A large exam is resampled by fewer rows than it has, and the spread scaled to its size.
    """
    random = np.random.default_rng(0)
    size = min(len(rows), _RESAMPLED_ROWS)
    end = time.monotonic() + _RESAMPLING_SECONDS
    scores: list[float] = []
    while len(scores) < _RESAMPLES and (len(scores) < _FEWEST_RESAMPLES or time.monotonic() < end):
        scores.append(_score_or_nan(score, random.choice(rows, size)))
    known = np.asarray(scores)[np.isfinite(scores)]
    return float(known.std(ddof=1) * np.sqrt(size / len(rows))) if len(known) > 1 else float("inf")


def _score_or_nan(score: Callable[[Array], float], rows: Array) -> float:
    try:
        return score(rows)
    except ValueError:
        # A resample of a small exam may lack a class, which many metrics refuse.
        return float("nan")
