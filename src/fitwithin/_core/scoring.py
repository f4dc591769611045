"""Which model is best: by the lower end of the 95 % interval of its score."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer
from sklearn.utils import Tags, get_tags

from fitwithin._core.records import Estimate, Mask, Z
from fitwithin._core.tables import concatenate, take_rows
from fitwithin._core.target import Array


def accuracy_interval(right: int, rows: int) -> Estimate | None:
    """The accuracy over an exam with the interval of the paper.

    The normal interval of Algorithm 1; where it has no width, at 0 and at 1, Wilson's: five right
    answers are no proof.

    Parameters
    ----------
    right, rows : int
        Right answers, and rows examined.

    Returns
    -------
    Estimate or None
        None if no row was examined.

    Examples
    --------
    >>> round(accuracy_interval(80, 100).low, 4)
    0.7216
    >>> round(accuracy_interval(5, 5).low, 3)
    0.566
    """
    if rows == 0:
        return None
    value = right / rows
    if right in (0, rows):
        wilson = binomtest(right, rows).proportion_ci(method="wilson")
        return Estimate(value, float(wilson.low), float(wilson.high))
    reach = Z * math.sqrt(value * (1 - value) / rows)
    return Estimate(value, value - reach, value + reach)


Scorer = Callable[..., float]
"""A scikit-learn scorer, or any callable(estimator, X, y)."""


_HARD_SHARE = 0.2


# A fixed amount of work, whatever the exam's size and the machine's speed.
_RESAMPLES = 60


_RESAMPLED_ROWS = 5_000


_SMALLEST = 1e-15


_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


_MadeScorer = type(get_scorer("accuracy")).__mro__[1]


@dataclass(frozen=True, eq=False)
class Scoring:
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

    def estimate(self, exams: Exams, chosen: Mask | None = None) -> Estimate | None:
        """The score over the rows of the exams, or over some of them, with its 95 % interval.

        A metric that is not defined on these rows, because a class is missing for example, proves nothing.
        """
        paper = exams.paper()
        rows = np.arange(len(paper.y)) if chosen is None else np.flatnonzero(chosen)
        if self.scorer is None or not len(rows):
            return None
        value = _score_or_nan(self.scorer, paper, rows)
        if not np.isfinite(value):
            return Estimate(value, -np.inf, np.inf) if chosen is None else None
        contributions = _contributions(self.scorer, paper, rows)
        if contributions is None:
            return _symmetric(value, _resampled_error(self.scorer, paper, rows), len(rows))
        if contributions.dtype == np.bool_ and paper.weights is None and np.isclose(value, contributions.mean()):
            return accuracy_interval(int(np.count_nonzero(contributions)), len(rows))
        return _symmetric(value, _standard_error(contributions, paper.weights_of(rows)), len(rows))


def is_made(scorer: Any) -> bool:
    """Whether a scorer was made by scikit-learn, so that it asks a model for answers and looks at nothing else."""
    return isinstance(scorer, _MadeScorer)


class Exams:
    """What a model answered in the exams of one round.

    Parameters
    ----------
    model : estimator
        Who was examined.
    regression : bool, default=False
        Whether values were asked for instead of classes.
    """

    def __init__(self, model: Any, regression: bool = False) -> None:
        self.model = model
        self._regression = regression
        self._answers: dict[str, list[Array]] = {"predict": []}
        self._y: list[Array] = []
        self._weights: list[Array] = []
        self._X: list[Any] = []

    def sit(self, X: Any, y: Array, weights: Array | None, scorer: Scorer | None) -> Array:
        """Answer an exam; the predictions. What the scorer will need besides is asked for now, while X is at hand."""
        answering = _Answering(self.model, self._regression, X, y)
        predicted = answering.answer("predict")
        if scorer is None:
            return predicted
        if is_made(scorer):
            if not self._y:
                _ask(scorer, answering, y)
            for method in set(self._answers) - set(answering.answers):
                answering.answer(method)
        else:
            self._X.append(X)
        for method, answers in answering.answers.items():
            self._answers.setdefault(method, []).append(answers)
        self._y.append(y)
        if weights is not None:
            self._weights.append(weights)
        return predicted

    def paper(self) -> Paper:
        """All exams in one."""
        return Paper(
            self.model,
            self._regression,
            np.concatenate(self._y),
            {method: np.concatenate(answers) for method, answers in self._answers.items()},
            np.concatenate(self._weights) if self._weights else None,
            concatenate(self._X) if self._X else None,
        )


@dataclass(frozen=True, eq=False)
class Paper:
    """Questions and answers of all exams of a round.

    Parameters
    ----------
    model : estimator
        Who was examined.
    regression : bool
        Whether values were asked for instead of classes.
    y : array
        The truth.
    answers : dict of array
        What the model answered, by method.
    weights : array or None
        The rows' weights, if they have any.
    X : table or None
        The rows themselves, for a scorer that looks at them.
    """

    model: Any
    regression: bool
    y: Array
    answers: Mapping[str, Array] = field(default_factory=dict)
    weights: Array | None = None
    X: Any = None

    @property
    def classes(self) -> Array:
        """The classes that the columns of probabilities stand for."""
        return _classes(self.model, self.y)

    def weights_of(self, rows: Array) -> Array:
        """Weights of these rows; all one if they have none."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def score(self, scorer: Scorer, rows: Array) -> float:
        """The score over these rows."""
        if not is_made(scorer):
            return float(scorer(self.model, take_rows(self.X, rows), self.y[rows]))
        replay = _Answering(self.model, self.regression, None, self.y, self.answers)
        options = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return float(scorer(replay, rows[:, None], self.y[rows], **options))


class _Answering(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stands in for a model before a scorer: asks the model once for each method, and answers by row number."""

    def __init__(
        self, model: Any, regression: bool, X: Any, y: Array, answers: Mapping[str, Array] | None = None
    ) -> None:
        self.model = model
        self.regression = regression
        self.X = X
        self.y = y
        self.answers = dict(answers or {})

    def answer(self, method: str) -> Array:
        """Everything that the model says by a method."""
        if method not in self.answers:
            self.answers[method] = np.asarray(getattr(self.model, method)(self.X))
        return self.answers[method]

    def __getattr__(self, name: str) -> Any:
        if name == "classes_" and not self.regression:
            return _classes(self.model, self.y)
        if name not in _METHODS or not hasattr(self.model, name):
            raise AttributeError(name)

        def answer(rows: Array) -> Array:
            return self.answer(name)[rows[:, 0]]

        # scikit-learn knows a method by its name.
        answer.__name__ = name
        return answer

    def __sklearn_tags__(self) -> Tags:
        if hasattr(self.model, "__sklearn_tags__"):
            return get_tags(self.model)
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.regression else "classifier"
        return tags


def _classes(model: Any, y: Array) -> Array:
    return np.asarray(model.classes_) if hasattr(model, "classes_") else np.unique(y)


def _ask(scorer: Any, answering: _Answering, y: Array) -> None:
    """Let a scorer ask for what it needs; whether it can make anything of these rows does not matter yet."""
    with contextlib.suppress(ValueError, ZeroDivisionError):
        scorer(answering, np.arange(len(y))[:, None], y)


def _contributions(scorer: Scorer, paper: Paper, rows: Array) -> Array | None:
    """What each row adds to a metric that is a mean over rows; None for other metrics."""
    by_row = _MEANS.get(repr(scorer))
    return None if by_row is None else by_row(paper, rows)


def _right(paper: Paper, rows: Array) -> Array:
    return np.asarray(paper.answers["predict"][rows].ravel() == paper.y[rows], dtype=np.bool_)


def _log_probability(paper: Paper, rows: Array) -> Array:
    probabilities = paper.answers["predict_proba"][rows]
    column = np.searchsorted(paper.classes, paper.y[rows])
    return np.asarray(np.log(probabilities[np.arange(len(rows)), column].clip(_SMALLEST)))


def _brier(paper: Paper, rows: Array) -> Array:
    probabilities = paper.answers["predict_proba"][rows]
    truth = paper.y[rows][:, None] == paper.classes[None, :]
    # With two classes the metric counts the distance of one of them.
    return np.asarray(-((truth - probabilities) ** 2).sum(axis=1) / (2 if len(paper.classes) == 2 else 1))


def _absolute_error(paper: Paper, rows: Array) -> Array:
    return np.asarray(-np.abs(paper.answers["predict"][rows].ravel() - paper.y[rows]))


def _squared_error(paper: Paper, rows: Array) -> Array:
    return -(_absolute_error(paper, rows) ** 2)


_MEANS: Mapping[str, Callable[[Paper, Array], Array]] = {
    repr(get_scorer(name)): by_row
    for name, by_row in {
        "accuracy": _right,
        "neg_log_loss": _log_probability,
        "neg_brier_score": _brier,
        "neg_mean_absolute_error": _absolute_error,
        "neg_mean_squared_error": _squared_error,
    }.items()
}


def _symmetric(value: float, error: float, rows: int) -> Estimate:
    # A handful of perfect answers has no spread, and is no proof: give it the width that Wilson's interval would have.
    reach = Z * (error or Z / rows)
    return Estimate(value, value - reach, value + reach)


def _standard_error(values: Array, weights: Array) -> float:
    total = weights.sum()
    mean = (weights * values).sum() / total
    return float(np.sqrt((weights**2 * (values - mean) ** 2).sum()) / total)


def _resampled_error(scorer: Scorer, paper: Paper, rows: Array) -> float:
    """The standard error of a score, from resamples.

    A large exam is resampled by fewer rows than it has, and the spread scaled to its size.
    """
    random = np.random.default_rng(0)
    size = min(len(rows), _RESAMPLED_ROWS)
    scores = np.array([_score_or_nan(scorer, paper, random.choice(rows, size)) for _ in range(_RESAMPLES)])
    known = scores[np.isfinite(scores)]
    return float(known.std(ddof=1) * np.sqrt(size / len(rows))) if len(known) > 1 else float("inf")


def _score_or_nan(scorer: Scorer, paper: Paper, rows: Array) -> float:
    try:
        return paper.score(scorer, rows)
    except (ValueError, ZeroDivisionError):
        # Rows that lack a class, or weigh nothing, are refused by many metrics.
        return float("nan")
