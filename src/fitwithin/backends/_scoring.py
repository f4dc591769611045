"""Scores of a model: which rows it gets wrong, and its metric over exams with a 95 % interval."""

from __future__ import annotations

import contextlib
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from fitwithin._core.exceptions import ScoringFailed
from fitwithin._core.records import Estimate, Influence, Mask
from fitwithin._core.target import Array, Labels
from fitwithin._pools.pool import Pool
from fitwithin._pools.tables import take_rows
from fitwithin.backends._exam_log import ExamLog, ExamPredictions, SyntheticModel, find_classes
from fitwithin.backends._metrics import (
    R2,
    ROW_METRICS,
    Scorer,
    accuracy_interval,
    auc_influence,
    auc_interval,
    count_effective,
    find_bounds,
    is_same_scorer,
    is_sklearn_scorer,
    mean_influence,
    score_interval,
    standard_error,
    to_influence,
)

# Share of an exam's rows that count as mistakes in regression: those with the largest absolute errors. The default
# teacher adds a fifth of mistakes (alpha = 0.2), so more would not be used.
_HARD_SHARE = 0.2
# Number of resamples for the interval of a metric that is no mean over rows; 60 give the width within 10 %.
_N_RESAMPLES = 60
# Rows of one resample at most, so that the work does not grow with the exam.
_MAX_RESAMPLED_ROWS = 5_000

# Rows of the rarest class times the number of classes below which a metric that is no mean over rows has no interval:
# with two classes, five rows of one. With fewer, the interval of an area under the ROC curve of 0.96 is a third of the
# range wide, and resamples often lack the class.
_MIN_CLASS_ROWS = 10

_ACCURACY: Any = get_scorer("accuracy")


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


def try_scoring(scoring: Scoring, name: Any, training: Pool, *, weighted: bool) -> Scoring:
    """Try a metric once on synthetic predictions of a few rows, before any model is fitted.

    Parameters
    ----------
    scoring : Scoring
        The metric.
    name : str or callable
        The user's parameter, for an error.
    training : Pool
        Knows the target, and the rows that a callable may look at.
    weighted : bool
        Whether the rows have weights.

    Returns
    -------
    Scoring
        A callable may fail here because it looks at more of a model than its predictions, so it counts as not proven.

    Raises
    ------
    ScoringFailed
        If a scorer of scikit-learn, which looks at nothing but predictions, cannot work for the target.

    Examples
    --------
    >>> from fitwithin._pools.pool import TablePool
    >>> training = TablePool(np.zeros((3, 1)), Labels.encode(["low", "middle", "high"]))
    >>> try_scoring(Scoring(get_scorer("f1")), "f1", training, weighted=False)
    Traceback (most recent call last):
        ...
    fitwithin._core.exceptions.ScoringFailed: scoring='f1' cannot score this target, which has 3 classes: ValueError: Target is multiclass but average='binary'. Please choose another average setting, one of [None, 'micro', 'macro', 'weighted']. Pass a metric that can, such as 'f1_macro'.
    """  # noqa: E501  # the output of an example
    if scoring.is_accuracy or (scoring.regression and is_same_scorer(scoring.scorer, R2)):
        return scoring
    target, X = training.y, training.training_table
    model = SyntheticModel(target)
    problem, cause = _try_once(scoring, model, X, weighted)
    if problem is None or not is_sklearn_scorer(scoring.scorer):
        return replace(scoring, is_proven=problem is None and model.knows_values)
    is_classified = isinstance(target, Labels)
    problem = problem.rstrip(".")
    kind = f"which has {len(target.classes)} classes" if isinstance(target, Labels) else "which holds numbers"
    others = [other for other in get_scorer_names() if isinstance(name, str) and other.startswith(f"{name}_")]
    works = (
        other
        for other in others
        if _try_once(replace(scoring, scorer=get_scorer(other)), model, X, weighted)[0] is None
    )
    raise ScoringFailed(
        f"scoring={name!r} cannot score this target, {kind}{', with weights' if weighted else ''}: {problem}.",
        f"Pass a metric that can, such as {next(works, 'balanced_accuracy' if is_classified else 'r2')!r}.",
    ) from cause


def _try_once(scoring: Scoring, model: SyntheticModel, X: Any, weighted: bool) -> tuple[str | None, Exception | None]:
    """Return why a metric fails for a synthetic model, and its exception; None if it works."""
    rows, weights = np.arange(len(model.y)), np.ones(len(model.y)) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = None if is_sklearn_scorer(scoring.scorer) else take_rows(X, rows % X.shape[0])
            correct = model.answers["predict"] == model.y
            answers = ExamPredictions(model, correct, model.y, model.answers, weights, table)
            value = answers.score(scoring, rows)
        except Exception as error:  # a callable may raise anything
            return f"{type(error).__name__}: {error}", error
    return None if math.isfinite(value) else f"it returned {value}", None


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
    is_proven : bool, default=True
        Whether the scorer is known to work for this target. If it is not, and fails, the session ends with an error;
        otherwise it is undefined on the rows.
    """

    scorer: Scorer = _ACCURACY
    regression: bool = False
    seed: int | None = None
    is_proven: bool = True

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
            None without rows. If the metric is not defined on the rows, for example because a class is missing, or if
            they are too few for an interval, it has no ends; it is None for chosen rows.
        """
        estimate = self.measure(exams, chosen).estimate
        return None if chosen is not None and estimate is not None and math.isinf(estimate.low) else estimate

    def measure(self, exams: ExamLog, chosen: Mask | None = None) -> Measurement:
        """Return the score as `estimate` does, and what a comparison with other models needs.

        Rows that the model could not predict are left out.
        """
        answers = exams.answers()
        rows = np.arange(len(answers)) if chosen is None else np.flatnonzero(chosen)
        if answers.unpredicted is not None:
            rows = rows[~answers.unpredicted.mask[rows]]
        if not len(rows):
            return Measurement(None)
        value, problem = self._score(answers, rows)
        by_row, sides = _row_scores(self.scorer, answers, rows), answers.find_sides(self.scorer, rows)
        bounds = find_bounds(self.scorer)
        if by_row is None and bounds[1] == 1.0 and answers.has_one_label(rows):
            # Some metrics are 0 or 1 then, whatever the model.
            problem = problem or "all of the rows have the same label or value"
        if problem is not None:
            return Measurement(Estimate(math.nan, -math.inf, math.inf), problem=problem)
        weights = answers.weights_of(rows)
        if by_row is not None:
            influence = mean_influence(by_row, weights)
        elif sides is not None:
            influence = auc_influence(*sides, weights)
        else:
            influence = self._resample(answers, rows)
        error, factor = standard_error(influence), answers.interval_factor(by_row, rows, regression=self.regression)
        problem = None if self.regression or by_row is not None else _find_rare_class(answers.y, rows)
        if problem is not None:
            estimate: Estimate | None = Estimate(value, -math.inf, math.inf)
        elif by_row is not None and by_row.dtype == np.bool_ and answers.weights is None:
            estimate = accuracy_interval(int(np.count_nonzero(by_row)), len(rows), factor)
        elif sides is not None:
            counts = (count_effective(weights[side]) / factor**2 for side in (sides[1], ~sides[1]))
            estimate = auc_interval(value, factor * error, *counts)
        else:
            n_rows = answers.count_equal_rows(rows, by_class=not (self.regression or by_row is not None))
            estimate = score_interval(value, factor * error, bounds, n_rows / factor**2)
        if is_same_scorer(self.scorer, R2):
            # On few rows resamples give better intervals of the score itself.
            influence = answers.r2_influence(rows)
        return Measurement(estimate, to_influence(influence), problem)

    def _score(self, answers: ExamPredictions, rows: Array) -> tuple[float, str | None]:
        """Return the score over these rows, or NaN and why it is not defined there."""
        cause: Exception | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = answers.score(self, rows)
            except Exception as error:
                # Many metrics refuse rows that lack a class or weigh nothing. Other errors are those of the model.
                if self.is_proven and not isinstance(error, ValueError | ArithmeticError):
                    raise
                value, cause = math.nan, error
        if math.isfinite(value):
            return value, None
        if cause is None:
            problem = str(caught[0].message) if caught else f"it returned {value}"
        else:
            problem = f"{type(cause).__name__}: {cause}"
        return math.nan, problem.rstrip(".")

    def _resample(self, answers: ExamPredictions, rows: Array) -> Array:
        """Return what each resample of the rows adds to the error of a score, NaN where the metric is not defined.

        A large exam is resampled by fewer rows than it has, and the spread is scaled to its size. The seed makes the
        resamples of two models the same, so that the two can be compared.
        """
        rng = np.random.default_rng(self.seed)
        size = min(len(rows), _MAX_RESAMPLED_ROWS)
        scores = np.full(_N_RESAMPLES, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(_N_RESAMPLES):
                with contextlib.suppress(ValueError, ArithmeticError):
                    scores[number] = answers.score(self, rng.choice(rows, size))
        is_known = np.isfinite(scores)
        if np.count_nonzero(is_known) < 2:
            return np.full(len(scores), np.nan)
        scale = np.sqrt(size / len(rows) / (np.count_nonzero(is_known) - 1))
        return np.where(is_known, scale * (scores - scores[is_known].mean()), np.nan)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A score over the rows of an exam.

    Parameters
    ----------
    estimate : Estimate or None
        The score with its 95 % interval; None without rows.
    influence : array of float or None, default=None
        What each row, or each resample, adds to the error of the score; None if the metric is not defined on the rows
        or on a resample.
    problem : str or None, default=None
        Why the score, or the ends of its interval, are unknown.
    """

    estimate: Estimate | None
    influence: Influence | None = None
    problem: str | None = None

    @property
    def is_undefined(self) -> bool:
        """Whether there are rows, and the metric is not defined on them."""
        return self.estimate is not None and math.isnan(self.estimate.value)


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


def _find_rare_class(y: Array | None, rows: Array) -> str | None:
    """Return that one of several classes has too few rows for an interval; None if all have enough."""
    classes, counts = np.unique(() if y is None else y[rows], return_counts=True)
    if len(classes) < 2 or len(classes) * counts.min() >= _MIN_CLASS_ROWS:
        return None
    return f"too few rows of the class {classes[counts.argmin()]} for an interval ({counts.min()})"
