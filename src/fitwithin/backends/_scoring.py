"""Scores of a model: which rows it gets wrong, and its metric over exams with a 95 % interval."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import get_scorer

from fitwithin._core.records import Z_95, Estimate, Influence, Mask
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters
from fitwithin._pools.tables import concatenate, take_rows
from fitwithin.backends._cluster_sample import widen_interval
from fitwithin.backends._row_metrics import (
    R2,
    ROW_METRICS,
    mean_influence,
    r2_influence,
    standard_error,
    to_influence,
)
from fitwithin.backends._scorers import Responder, find_classes, is_same_scorer, is_sklearn_scorer

Scorer = Callable[..., float]
"""A scikit-learn scorer, or any callable(estimator, X, y)."""

# Share of an exam's rows that count as mistakes in regression: those with the largest absolute errors. The default
# teacher adds a fifth of mistakes (alpha = 0.2), so more would not be used.
_HARD_SHARE = 0.2
# Number of resamples for the interval of a metric that is no mean over rows; 60 give the width within 10 %.
_N_RESAMPLES = 60
# Rows of one resample at most, so that the work does not grow with the exam.
_MAX_RESAMPLED_ROWS = 5_000

_ACCURACY: Any = get_scorer("accuracy")


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
        return not self.regression and is_same_scorer(self.scorer, _ACCURACY)

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
        estimate, _ = self._estimate(answers, np.arange(len(answers)) if chosen is None else np.flatnonzero(chosen))
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
        return self._estimate(exams.answers(), np.flatnonzero(chosen))

    def _estimate(self, answers: ExamPredictions, rows: Array) -> tuple[Estimate | None, Influence | None]:
        """Return the score over these rows, and its influence."""
        if not len(rows):
            return None, None
        value = answers.score(self, rows)
        if not np.isfinite(value):
            return Estimate(value, -np.inf, np.inf), None
        by_row = _row_scores(self.scorer, answers, rows)
        if by_row is None:
            influence = self._resample(answers, rows)
        else:
            influence = mean_influence(by_row, answers.weights_of(rows))
        if by_row is not None and by_row.dtype == np.bool_ and answers.weights is None:
            estimate = accuracy_interval(int(np.count_nonzero(by_row)), len(rows))
        else:
            estimate = _symmetric_estimate(value, standard_error(influence), len(rows))
        if is_same_scorer(self.scorer, R2):
            # On few rows resamples give better intervals of the score itself.
            influence = answers.r2_influence(rows)
        if estimate is not None and answers.clusters is not None:
            if by_row is None:
                # How far blocks differ shows in the plainest metric as well.
                by_row = answers.squared_errors(rows) if self.regression else answers.correct[rows]
            estimate = widen_interval(estimate, by_row, answers.clusters.select(rows))
        return estimate, to_influence(influence)

    def _resample(self, answers: ExamPredictions, rows: Array) -> Array:
        """Return what each resample of the rows adds to the error of a score, NaN where the metric is not defined.

        A large exam is resampled by fewer rows than it has, and the spread is scaled to its size. The seed makes the
        resamples of two models the same, so that the two can be compared.
        """
        rng = np.random.default_rng(self.seed)
        size = min(len(rows), _MAX_RESAMPLED_ROWS)
        scores = np.array([answers.score(self, rng.choice(rows, size)) for _ in range(_N_RESAMPLES)])
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
        self._parts: list[ExamPredictions] = []

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def predict(self, X: Any, y: Array, weights: Array | None, predicted: Array | None = None) -> Array:
        """Predict rows, and keep what the score will need while X is at hand.

        Parameters
        ----------
        X, y, weights
            Rows, their labels or values, and their weights if they have any.
        predicted : array, optional
            What `predict` would return, if it is known already.
        """
        scoring = self._scoring
        known = {} if predicted is None else {"predict": predicted}
        responder = Responder(self._model, scoring.regression, X, y, known)
        predicted = responder.predictions_by("predict").ravel()
        if predicted.shape != y.shape:
            raise ValueError(f"predict returned {predicted.shape[0]} predictions for {y.shape[0]} rows.")
        part = ExamPredictions(self._model, predicted == y, weights=weights)
        if not scoring.is_accuracy:
            by_method = self._ask(responder, y)
            part = replace(part, y=y, by_method=by_method, X=None if is_sklearn_scorer(scoring.scorer) else X)
        self._parts.append(part)
        return predicted

    def _ask(self, responder: Responder, y: Array) -> Mapping[str, Array]:
        """Return the answers by each method that the scorer asks for."""
        if self._parts:
            return {method: responder.predictions_by(method) for method in self._parts[0].by_method}
        if is_sklearn_scorer(self._scoring.scorer):
            # Let the scorer ask for what it needs; whether it can score these few rows does not matter yet.
            with contextlib.suppress(ValueError, ZeroDivisionError):
                self._scoring.scorer(responder, np.arange(len(y))[:, None], y)
        return responder.known

    def note_clusters(self, clusters: Clusters | None) -> None:
        """Note the blocks of a data set that the rows just predicted come from."""
        self._parts[-1] = replace(self._parts[-1], clusters=clusters)

    def extend(self, answers: ExamPredictions) -> None:
        """Add the answers of an exam that another process held with the same model."""
        self._parts.append(replace(answers, model=self._model))

    def answers(self) -> ExamPredictions:
        """Return the answers of all exams as one."""
        if not self._parts:
            return ExamPredictions(self._model, np.zeros(0, np.bool_))
        return ExamPredictions.join(self._parts)


@dataclass(frozen=True, eq=False)
class ExamPredictions:
    """The answers of a model to all exams of a round.

    Parameters
    ----------
    model : estimator
        The fitted model.
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
    correct: Mask
    y: Array | None = None
    by_method: Mapping[str, Array] = field(default_factory=dict)
    weights: Array | None = None
    X: Any = None
    clusters: Clusters | None = None

    @classmethod
    def join(cls, parts: Sequence[ExamPredictions], order: Array | None = None) -> ExamPredictions:
        """Return the answers of several parts as one, in another order if one is given."""

        def join(columns: list[Any]) -> Any:
            if columns[0] is None:
                return None
            joined = concatenate(columns)
            return joined if order is None else take_rows(joined, order)

        first = parts[0]
        return cls(
            first.model,
            join([part.correct for part in parts]),
            join([part.y for part in parts]),
            {method: join([part.by_method[method] for part in parts]) for method in first.by_method},
            join([part.weights for part in parts]),
            join([part.X for part in parts]),
            None if first.clusters is None else Clusters.join([part.clusters for part in parts if part.clusters]),
        )

    def __len__(self) -> int:
        return len(self.correct)

    def squared_errors(self, rows: Array) -> Array:
        """Return the squared error of each of these rows."""
        assert self.y is not None
        return np.asarray((self.by_method["predict"][rows].ravel() - self.y[rows]) ** 2)

    def r2_influence(self, rows: Array) -> Array:
        """Return what each row adds to the error of R2."""
        assert self.y is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            return r2_influence(self.squared_errors(rows), self.y[rows], self.weights_of(rows))

    def weights_of(self, rows: Array) -> Array:
        """Return the weights of these rows, ones if they have none."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def score(self, scoring: Scoring, rows: Array) -> float:
        """Return the score over these rows, NaN where the metric is not defined."""
        if self.y is None:
            weights = self.weights_of(rows)
            return float((weights * self.correct[rows]).sum() / weights.sum()) if weights.any() else float("nan")
        try:
            return self._call(scoring, rows, self.y)
        except (ValueError, ZeroDivisionError):
            # Many metrics refuse rows that lack a class or weigh nothing.
            return float("nan")

    def _call(self, scoring: Scoring, rows: Array, y: Array) -> float:
        scorer = scoring.scorer
        if not is_sklearn_scorer(scorer):
            return float(scorer(self.model, take_rows(self.X, rows), y[rows]))
        responder = Responder(self.model, scoring.regression, None, y, self.by_method)
        options = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return float(scorer(responder, rows[:, None], y[rows], **options))


def _row_scores(scorer: Scorer, answers: ExamPredictions, rows: Array) -> Array | None:
    """Return what each row adds to a metric that is a mean over rows; None for other metrics."""
    if answers.y is None:
        return answers.correct[rows]
    for known, method, row_metric in ROW_METRICS:
        if is_same_scorer(scorer, known):
            truth = answers.y[rows]
            if method == "predict_proba":
                truth = np.searchsorted(find_classes(answers.model, answers.y), truth)
            return row_metric(answers.by_method[method][rows], truth)
    return None


def _symmetric_estimate(value: float, error: float, rows: int) -> Estimate:
    # A handful of perfect answers has no spread, and is no proof: give it the width of Wilson's interval.
    reach = Z_95 * (error or Z_95 / rows)
    return Estimate(value, value - reach, value + reach)
