"""Scores of a model: which rows it gets wrong, and its metric over exams with a 95 % interval."""

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

from fitwithin._core.records import Z_95, Estimate, Influence, Mask
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters
from fitwithin._pools.tables import concatenate, take_rows
from fitwithin.backends._cluster_sample import interval_factor
from fitwithin.backends._row_metrics import ROW_INFLUENCES, ROW_METRICS, mean_influence

Scorer = Callable[..., float]
"""A scikit-learn scorer, or any callable(estimator, X, y)."""

# Share of an exam's rows that count as mistakes in regression: those with the largest absolute errors. The default
# teacher adds a fifth of mistakes (alpha = 0.2), so more would not be used.
_HARD_SHARE = 0.2
# Number of resamples for the interval of a metric that is no mean over rows; 60 give the width within 10 %.
_N_RESAMPLES = 60
# Rows of one resample at most, so that the work does not grow with the exam.
_MAX_RESAMPLED_ROWS = 5_000
# Methods by which scikit-learn's scorers ask a model for answers.
_RESPONSE_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")

_ACCURACY: Any = get_scorer("accuracy")
# The public class of all scorers that `make_scorer` and `get_scorer` return has no public name.
_SklearnScorer = type(_ACCURACY).__mro__[1]


def accuracy_interval(correct: int, rows: int) -> Estimate | None:
    """Return the accuracy over an exam with its 95 % interval.

    The normal interval of the paper's Algorithm 1; where it has no width, at 0 and at 1, Wilson's.

    Parameters
    ----------
    correct, rows : int
        Rows that were predicted correctly, and rows examined.

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
    value = correct / rows
    if correct in (0, rows):
        wilson = binomtest(correct, rows).proportion_ci(method="wilson")
        return Estimate(value, float(wilson.low), float(wilson.high))
    reach = Z_95 * math.sqrt(value * (1 - value) / rows)
    return Estimate(value, value - reach, value + reach)


def make_scoring(scoring: Any, *, regression: bool, weighted: bool) -> Scoring:
    """Read a user's `scoring` parameter.

    Parameters
    ----------
    scoring : str, callable or None
        The name of a scikit-learn scorer, a scorer or a callable; None is accuracy, or R2 for regression.
    regression : bool
        Whether the model predicts values.
    weighted : bool
        Whether the rows have weights.

    Raises
    ------
    ValueError
        If there is no such scorer, or if it cannot use weights although there are some.
    """
    if scoring is None:
        scoring = "r2" if regression else "accuracy"
    if isinstance(scoring, str):
        return Scoring(get_scorer(scoring), regression)
    if not callable(scoring):
        raise ValueError(
            "scoring must be None, the name of a scikit-learn scorer such as 'balanced_accuracy', or a "
            f"callable(estimator, X, y); got {scoring!r}."
        )
    if weighted and not is_sklearn_scorer(scoring):
        raise ValueError(
            "scoring is a plain callable, which cannot use sample_weight. Make it a scorer with "
            "sklearn.metrics.make_scorer."
        )
    return Scoring(scoring, regression)


def is_sklearn_scorer(scorer: Any) -> bool:
    """Whether scikit-learn made the scorer, so that it looks at nothing but a model's answers."""
    return isinstance(scorer, _SklearnScorer)


@dataclass(frozen=True, eq=False)
class Scoring:
    """The user's metric, and what counts as a mistake.

    Parameters
    ----------
    scorer : callable, default=get_scorer("accuracy")
        A scikit-learn scorer or any callable(estimator, X, y); larger is better.
    regression : bool, default=False
        Whether the model predicts values instead of classes.
    seed : int or None, default=None
        For the resamples of intervals.
    """

    scorer: Scorer = _ACCURACY
    regression: bool = False
    seed: int | None = None

    @property
    def is_accuracy(self) -> bool:
        """Whether the metric is plain accuracy, which needs to know only which rows are correct."""
        return not self.regression and _is_same_scorer(self.scorer, _ACCURACY)

    def mistakes(self, y: Array, predicted: Array) -> Mask:
        """Return which rows count as mistakes when rows are chosen, whatever the metric.

        A misclassified row is a mistake. A predicted value is never exactly right, so in regression the fifth of an
        exam's rows with the largest absolute errors counts: a rule without a scale, robust to a few outliers.
        """
        if not self.regression:
            return np.asarray(predicted != y, dtype=np.bool_)
        error = np.abs(predicted - y)
        return np.asarray(error > np.quantile(error, 1 - _HARD_SHARE), dtype=np.bool_)

    def estimate(self, exams: ExamLog, chosen: Mask | None = None) -> Estimate | None:
        """Return the score over all examined rows, or over the chosen ones, with its 95 % interval.

        Parameters
        ----------
        exams : ExamLog
            The answers of one model.
        chosen : array of bool, optional
            Which of the examined rows count; all by default.

        Returns
        -------
        Estimate or None
            None without rows. A metric that is not defined on the rows, for example because a class is missing,
            has an interval without ends; it is None for chosen rows.
        """
        answers = exams.answers()
        rows = np.arange(len(answers)) if chosen is None else np.flatnonzero(chosen)
        estimate, _ = self._estimate(answers, rows)
        if estimate is not None:
            estimate = _widen(estimate, answers, rows, self.scorer)
        is_unknown = chosen is not None and estimate is not None and not np.isfinite(estimate.value)
        return None if is_unknown else estimate

    def estimate_with_influence(self, exams: ExamLog, chosen: Mask) -> tuple[Estimate | None, Influence | None]:
        """Return the score over the chosen rows, and its influence, for a comparison with other models.

        Parameters
        ----------
        exams : ExamLog
            The answers of one model.
        chosen : array of bool
            Which of the examined rows count.

        Returns
        -------
        tuple
            The score with its 95 % interval, without ends where the metric is not defined; None without rows. Then
            its `Influence`, by row or by resample; None if the metric is not defined on the rows or on a resample.
        """
        answers, rows = exams.answers(), np.flatnonzero(chosen)
        estimate, resampled = self._estimate(answers, rows)
        if estimate is None or not np.isfinite(estimate.value):
            return estimate, None
        estimate = _widen(estimate, answers, rows, self.scorer)
        by_row = _row_influence(self.scorer, answers, rows)
        return estimate, _to_influence(resampled if by_row is None else by_row)

    def _estimate(self, answers: ExamPredictions, rows: Array) -> tuple[Estimate | None, Array | None]:
        """Return the score over these rows, and what each resample adds to its error if there are resamples."""
        if not len(rows):
            return None, None
        value = answers.score(self.scorer, rows)
        if not np.isfinite(value):
            return Estimate(value, -np.inf, np.inf), None
        by_row = _row_scores(self.scorer, answers, rows)
        if by_row is None:
            resampled = self._resample(answers, rows)
            return _symmetric_estimate(value, _standard_error(resampled), len(rows)), resampled
        if by_row.dtype == np.bool_ and answers.weights is None:
            return accuracy_interval(int(np.count_nonzero(by_row)), len(rows)), None
        error = _standard_error(mean_influence(by_row, answers.weights_of(rows)))
        return _symmetric_estimate(value, error, len(rows)), None

    def _resample(self, answers: ExamPredictions, rows: Array) -> Array:
        """Return what each resample of the rows adds to the error of a score, NaN where the metric is not defined.

        A large exam is resampled by fewer rows than it has, and the spread is scaled to its size. The seed makes the
        resamples of two models the same, so that the two can be compared.
        """
        rng = np.random.default_rng(self.seed)
        size = min(len(rows), _MAX_RESAMPLED_ROWS)
        scores = np.array([answers.score(self.scorer, rng.choice(rows, size)) for _ in range(_N_RESAMPLES)])
        is_known = np.isfinite(scores)
        if np.count_nonzero(is_known) < 2:
            return np.full(len(scores), np.nan)
        scale = np.sqrt(size / len(rows) / (np.count_nonzero(is_known) - 1))
        return np.where(is_known, scale * (scores - scores[is_known].mean()), np.nan)


class ExamLog:
    """The answers of one model in its exams, as far as its score needs them.

    Parameters
    ----------
    model : estimator
        The fitted model.
    scoring : Scoring
        What the answers are collected for.
    """

    def __init__(self, model: Any, scoring: Scoring) -> None:
        self._model = model
        self._scoring = scoring
        self._keeps_answers = not scoring.is_accuracy
        self._by_method: dict[str, list[Array]] = {"predict": []} if self._keeps_answers else {}
        self._correct: list[Mask] = []
        self._y: list[Array] = []
        self._weights: list[Array] = []
        self._clusters: list[Clusters] = []
        self._X: list[Any] = []

    def __len__(self) -> int:
        return sum(map(len, self._correct))

    def predict(self, X: Any, y: Array, weights: Array | None, predicted: Array | None = None) -> Array:
        """Predict rows, and keep what the score will need while X is at hand.

        Parameters
        ----------
        X, y, weights
            Rows, their labels or values, and their weights if they have any.
        predicted : array, optional
            What `predict` would return, if it is known already.
        """
        known = {} if predicted is None else {"predict": predicted}
        responder = _Responder(self._model, self._scoring.regression, X, y, known)
        predicted = responder.predictions_by("predict").ravel()
        if predicted.shape != y.shape:
            raise ValueError(f"predict returned {predicted.shape[0]} predictions for {y.shape[0]} rows.")
        self._correct.append(predicted == y)
        if weights is not None:
            self._weights.append(weights)
        if self._keeps_answers:
            self._keep(responder, X, y)
        return predicted

    def note_clusters(self, clusters: Clusters | None) -> None:
        """Note the blocks of a data set that the rows just predicted come from."""
        if clusters is not None:
            self._clusters.append(clusters)

    def _keep(self, responder: _Responder, X: Any, y: Array) -> None:
        scorer = self._scoring.scorer
        if not is_sklearn_scorer(scorer):
            self._X.append(X)
        elif not self._y:
            # Let the scorer ask for what it needs; whether it can score these few rows does not matter yet.
            with contextlib.suppress(ValueError, ZeroDivisionError):
                scorer(responder, np.arange(len(y))[:, None], y)
        for method in set(self._by_method) | set(responder.known):
            self._by_method.setdefault(method, []).append(responder.predictions_by(method))
        self._y.append(y)

    def extend(self, answers: ExamPredictions) -> None:
        """Add the answers of an exam that another process held with the same model."""
        self._correct.append(answers.correct)
        if answers.weights is not None:
            self._weights.append(answers.weights)
        if answers.y is not None:
            self._y.append(answers.y)
        if answers.X is not None:
            self._X.append(answers.X)
        for method, predictions in answers.by_method.items():
            self._by_method.setdefault(method, []).append(predictions)

    def answers(self) -> ExamPredictions:
        """Return the answers of all exams as one."""
        return ExamPredictions(
            self._model,
            self._scoring.regression,
            np.concatenate(self._correct) if self._correct else np.zeros(0, np.bool_),
            np.concatenate(self._y) if self._y else None,
            {method: np.concatenate(parts) for method, parts in self._by_method.items() if parts},
            np.concatenate(self._weights) if self._weights else None,
            concatenate(self._X) if self._X else None,
            Clusters.join(self._clusters) if self._clusters else None,
        )


@dataclass(frozen=True, eq=False)
class ExamPredictions:
    """The answers of a model to all exams of a round.

    Parameters
    ----------
    model : estimator
        The fitted model.
    regression : bool
        Whether it predicts values.
    correct : array of bool
        Which rows it predicts exactly.
    y : array or None
        Labels or values; None where the metric needs only `correct`.
    by_method : dict of array
        The answers by the model's method.
    weights : array or None
        The rows' weights, if they have any.
    X : table or None
        The rows themselves, for a scorer that looks at them.
    clusters : Clusters or None
        The blocks that the rows come from, if they are read from a data set on disk.
    """

    model: Any
    regression: bool
    correct: Mask
    y: Array | None = None
    by_method: Mapping[str, Array] = field(default_factory=dict)
    weights: Array | None = None
    X: Any = None
    clusters: Clusters | None = None

    def __len__(self) -> int:
        return len(self.correct)

    def weights_of(self, rows: Array) -> Array:
        """Return the weights of these rows, ones if they have none."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def score(self, scorer: Scorer, rows: Array) -> float:
        """Return the score over these rows, NaN where the metric is not defined."""
        if self.y is None:
            weights = self.weights_of(rows)
            return float((weights * self.correct[rows]).sum() / weights.sum()) if weights.any() else float("nan")
        try:
            return self._call(scorer, rows, self.y)
        except (ValueError, ZeroDivisionError):
            # Many metrics refuse rows that lack a class or weigh nothing.
            return float("nan")

    def _call(self, scorer: Scorer, rows: Array, y: Array) -> float:
        if not is_sklearn_scorer(scorer):
            return float(scorer(self.model, take_rows(self.X, rows), y[rows]))
        responder = _Responder(self.model, self.regression, None, y, self.by_method)
        options = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return float(scorer(responder, rows[:, None], y[rows], **options))


class _Responder(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
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
            return _classes(self.model, self.y)
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


def _classes(model: Any, y: Array) -> Array:
    """Return the classes that the columns of a model's probabilities stand for."""
    return np.asarray(model.classes_) if hasattr(model, "classes_") else np.unique(y)


def _is_same_scorer(scorer: Any, known: Any) -> bool:
    """Whether two scorers are the same function with the same options; scikit-learn defines no equality."""
    # The user's scorer may also have requests for metadata, which change nothing.
    return type(scorer) is type(known) and all(vars(scorer).get(name) == value for name, value in vars(known).items())


def _row_scores(scorer: Scorer, answers: ExamPredictions, rows: Array) -> Array | None:
    """Return what each row adds to a metric that is a mean over rows; None for other metrics."""
    if answers.y is None:
        return answers.correct[rows]
    for known, method, row_metric in ROW_METRICS:
        if _is_same_scorer(scorer, known):
            truth = answers.y[rows]
            if method == "predict_proba":
                truth = np.searchsorted(_classes(answers.model, answers.y), truth)
            return row_metric(answers.by_method[method][rows], truth)
    return None


def _row_influence(scorer: Scorer, answers: ExamPredictions, rows: Array) -> Array | None:
    """Return what each row adds to the error of a score; None for a metric that only resamples can tell it of."""
    by_row = _row_scores(scorer, answers, rows)
    if by_row is not None:
        return mean_influence(by_row, answers.weights_of(rows))
    for known, method, row_influence in ROW_INFLUENCES:
        if answers.y is not None and _is_same_scorer(scorer, known):
            with np.errstate(divide="ignore", invalid="ignore"):
                return row_influence(answers.by_method[method][rows], answers.y[rows], answers.weights_of(rows))
    return None


def _widen(estimate: Estimate, answers: ExamPredictions, rows: Array, scorer: Scorer) -> Estimate:
    """Return an estimate with an interval that accounts for the blocks that the rows come from."""
    if answers.clusters is None or not np.isfinite(estimate.value):
        return estimate
    values = _row_scores(scorer, answers, rows)
    if values is None:
        # No part of the metric belongs to a single row; how far blocks differ shows in the plainest one as well.
        values = answers.correct[rows] if not answers.regression else _squared_errors(answers, rows)
    factor = interval_factor(values, answers.clusters.select(rows))
    return Estimate(
        estimate.value,
        estimate.value - factor * (estimate.value - estimate.low),
        estimate.value + factor * (estimate.high - estimate.value),
    )


def _squared_errors(answers: ExamPredictions, rows: Array) -> Array:
    assert answers.y is not None
    return np.asarray((answers.by_method["predict"][rows].ravel() - answers.y[rows]) ** 2)


def _symmetric_estimate(value: float, error: float, rows: int) -> Estimate:
    # A handful of perfect answers has no spread, and is no proof: give it the width of Wilson's interval.
    reach = Z_95 * (error or Z_95 / rows)
    return Estimate(value, value - reach, value + reach)


def _standard_error(influence: Array) -> float:
    """Return the standard error that rows or resamples add up to; infinite if all are unknown."""
    known = influence[np.isfinite(influence)]
    return float(np.linalg.norm(known)) if len(known) else float("inf")


def _to_influence(parts: Array | None) -> Influence | None:
    """Return what rows or resamples add to an error in the type that is passed on; None if some are unknown."""
    if parts is None:
        return None
    with np.errstate(over="ignore"):
        influence = parts.astype(np.float32)
    return influence if np.isfinite(influence).all() else None
