"""Scores of a model: which rows it gets wrong, and its metric over exams with a 95 % interval."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from fitwithin._core.exceptions import ScoringFailed
from fitwithin._core.records import Z_95, Estimate, Influence, Mask
from fitwithin._core.target import Array, Labels
from fitwithin._pools.pool import Pool
from fitwithin._pools.tables import take_rows
from fitwithin.backends import _metrics as metrics
from fitwithin.backends._exam_predictions import ExamPredictions, make_synthetic_predictions
from fitwithin.backends._metrics import Scorer

# Share of an exam's rows that count as mistakes in regression: those with the largest absolute errors. The default
# teacher adds a fifth of mistakes (alpha = 0.2), so more would not be used.
_HARD_SHARE = 0.2
# Resamples for the interval of a metric without a formula, 1 ms each for most of scikit-learn's. 20 give the standard
# error within 16 %, for which Student's t allows. After the seconds, the least number is enough; the interval is then
# 1.4 times as wide, and models are not compared row by row.
_N_RESAMPLES = 20
_LEAST_RESAMPLES = 5
_RESAMPLE_SECONDS = 0.1  # of the processor, so that a busy machine changes nothing
_MAX_RESAMPLED_ROWS = 2_000  # for one resample, so that the work does not grow with the exam; its spread is scaled
# Rows of the rarest class times the number of classes below which a metric that is no mean over rows has no interval:
# with two classes, five rows of one. With fewer, the interval of an area under the ROC curve of 0.96 is a third of the
# range wide, and resamples often lack the class.
_MIN_CLASS_ROWS = 10
_ACCURACY: Any = get_scorer("accuracy")
NO_WEIGHTS = "every scored row has a sample_weight of 0"  # why such a score is not defined


def make_scoring(scoring: Any, *, regression: bool, weighted: bool) -> Scoring:
    """Read a user's `scoring` parameter; raise a ValueError if it is none, or cannot use weights that there are."""
    scoring = ("r2" if regression else "accuracy") if scoring is None else scoring
    if isinstance(scoring, str):
        return Scoring(get_scorer(scoring), regression)
    if not callable(scoring):
        raise ValueError(
            "scoring must be None, the name of a scikit-learn scorer such as 'balanced_accuracy', or a "
            f"callable(estimator, X, y); got {scoring!r}."
        )
    is_scorer = metrics.is_sklearn_scorer(scoring)
    if getattr(scoring, "__module__", "").startswith("sklearn.metrics.") and not is_scorer:
        raise ValueError(
            f"scoring is the metric {getattr(scoring, '__name__', scoring)}, which takes labels, not a model. Pass the "
            "name of its scorer, or make one with sklearn.metrics.make_scorer."
        )
    if weighted and not is_scorer:
        raise ValueError(
            "scoring is a plain callable, which cannot use sample_weight. Make it a scorer with "
            "sklearn.metrics.make_scorer."
        )
    return Scoring(scoring, regression)


def try_scoring(scoring: Scoring, name: Any, training: Pool, *, weighted: bool) -> Scoring:
    """Try a metric once on synthetic predictions of a few rows, before any model is fitted; raise a ScoringFailed.

    A callable may fail here because it looks at more of a model than its predictions, so it counts as not proven.
    """
    if scoring.is_accuracy or (scoring.regression and metrics.is_same_scorer(scoring.scorer, metrics.R2)):
        return scoring
    target, predictions = training.y, make_synthetic_predictions(training.y)
    predictions = replace(predictions, weights=np.ones(len(predictions)) if weighted else None)

    def find_problem(scorer: Scorer, X: Any = None) -> tuple[str | None, Exception | None]:
        tried = replace(scoring, scorer=scorer, is_proven=False)
        _, problem, cause = tried.score(replace(predictions, X=X))
        if problem is None and metrics.is_sklearn_scorer(scorer):
            # These predictions are right for most rows of each class. A metric that is undefined here always is.
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                predictions.score(tried)
            found = (str(one.message).rstrip(".") for one in caught if one.category is UndefinedMetricWarning)
            problem = next(found, None)
        return problem, cause

    table, looks_at_rows = training.training_table, not metrics.is_sklearn_scorer(scoring.scorer)
    rows = np.arange(len(predictions)) % max(1, table.shape[0])
    # The rows of a data set on disk are not known yet, and most callables only pass them on to the model.
    some_rows = take_rows(table, rows) if table.shape[0] else np.zeros((len(rows), 1))
    problem, cause = find_problem(scoring.scorer, some_rows if looks_at_rows else None)
    if problem is None or looks_at_rows:
        # The values of a data set on disk are not known before they are read.
        knows_values = isinstance(target, Labels) or bool(target.column.min() < target.column.max())
        return replace(scoring, is_proven=problem is None and knows_values)
    kind = f"which has {len(target.classes)} classes" if isinstance(target, Labels) else "which holds numbers"
    others = [other for other in get_scorer_names() if isinstance(name, str) and other.startswith(f"{name}_")]
    works = (other for other in others if find_problem(get_scorer(other))[0] is None)
    raise ScoringFailed(
        f"scoring={name!r} cannot score this target, {kind}{', with weights' if weighted else ''}: {problem}.",
        f"Pass a metric that can, such as {next(works, 'r2' if scoring.regression else 'balanced_accuracy')!r}.",
    ) from cause


@dataclass(frozen=True, eq=False)
class Scoring:
    """The user's metric, and what counts as a mistake.

    `seed` is for the resamples of intervals. If the scorer is not known to work for this target (`is_proven`) and
    fails, the session ends with an error; otherwise it is undefined on the rows.
    """

    scorer: Scorer = _ACCURACY
    regression: bool = False
    seed: int | None = None
    is_proven: bool = True

    @property
    def is_accuracy(self) -> bool:
        """Whether the metric is plain accuracy, which needs to know only which rows are correct."""
        return not self.regression and metrics.is_same_scorer(self.scorer, _ACCURACY)

    def find_mistakes(self, answers: ExamPredictions) -> Mask:
        """Return which rows count as mistakes when rows are chosen, also those that cannot be predicted.

        A predicted value is never exactly right, so in regression the fifth of an exam's rows with the largest absolute
        errors counts: a rule without a scale, robust to a few outliers.
        """
        wrong = ~answers.correct
        if self.regression:
            errors = np.abs(answers.errors)
            wrong = np.asarray(errors > np.quantile(errors, 1 - _HARD_SHARE), dtype=np.bool_)
        return wrong if answers.unpredicted is None else wrong | answers.unpredicted.mask

    def measure(self, answers: ExamPredictions) -> Measurement:
        """Return the score of a model over the rows that it could predict, as far as the metric is defined there."""
        if answers.unpredicted is not None:
            answers = answers.take(np.flatnonzero(~answers.unpredicted.mask))
        if not len(answers):
            return Measurement(None)
        if (unknown := answers.find_unknown_class()) is not None:
            reason = f"they hold the class {unknown}, which no training row of the model has"
            return Measurement(Estimate(math.nan, -math.inf, math.inf), problem=reason)
        by_row = self.score_rows(answers)
        if by_row is None and answers.weights is not None and answers.weights.any():
            # Rows of weight 0 count for nothing, but metrics would take their classes for examined ones.
            answers = answers.take(np.flatnonzero(answers.weights))
        value, problem, _ = self.score(answers)
        is_skill = by_row is None and metrics.find_bounds(self.scorer)[1] == 1.0
        if is_skill and (answers.labels == answers.labels[0]).all():
            # Some metrics are 0 or 1 then, whatever the model.
            problem = problem or "all of the rows have the same label or value"
        if problem is not None:
            return Measurement(Estimate(math.nan, -math.inf, math.inf), problem=problem)
        return self._add_interval(value, answers, by_row)

    def _add_interval(self, value: float, answers: ExamPredictions, by_row: Array | None) -> Measurement:
        """Return a score with its interval, as if the rows were random ones, or random ones of some blocks."""
        weights, sides = answers.row_weights, answers.find_sides(self.scorer)
        n_rows, bounds = metrics.count_effective(weights), metrics.find_bounds(self.scorer)
        if by_row is not None:
            influence = metrics.mean_influence(by_row, weights)
        elif sides is not None:
            influence = metrics.auc_influence(*sides, weights)
        elif metrics.is_same_scorer(self.scorer, metrics.R2):
            influence = metrics.r2_influence(answers.errors, answers.labels, weights)
        else:
            predicted = answers.by_method["predict"].ravel()
            found = metrics.count_influence(self.scorer, answers.labels, predicted, weights, value)
            influence = self._resample(answers) if found is None else found
        if by_row is None and not self.regression:
            classes, counts = np.unique(answers.labels, return_counts=True)
            # As if every class had the rows of the rarest.
            n_rows = float(counts.min() * len(counts))
            if len(classes) > 1 and n_rows < _MIN_CLASS_ROWS:
                problem = f"too few rows of the class {classes[counts.argmin()]} for an interval ({counts.min()})"
                return Measurement(Estimate(value, -math.inf, math.inf), metrics.to_influence(influence), problem)
        factor = 1.0
        if answers.clusters is not None:
            # How far blocks differ shows in the plainest metric as well.
            plainest = answers.errors**2 if self.regression else answers.correct
            factor = metrics.interval_factor(plainest if by_row is None else by_row, answers.clusters)
        error = factor * metrics.standard_error(influence)
        if by_row is not None and by_row.dtype == np.bool_ and answers.weights is None:
            estimate = metrics.accuracy_interval(int(np.count_nonzero(by_row)), len(answers), factor)
        elif sides is not None:
            n_of_sides = (metrics.count_effective(weights[side]) / factor**2 for side in (sides[1], ~sides[1]))
            estimate = metrics.auc_interval(value, error, *n_of_sides)
        else:
            estimate = metrics.score_interval(value, error, bounds, n_rows / factor**2)
        return Measurement(estimate, metrics.to_influence(influence))

    def score(self, answers: ExamPredictions) -> tuple[float, str | None, Exception | None]:
        """Return the score over the rows; or NaN, why it is not defined there, and the metric's exception if any."""
        if answers.weights is not None and not answers.weights.any():
            return math.nan, NO_WEIGHTS, None
        cause: Exception | None = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = answers.score(self)
            except Exception as error:
                # Many metrics refuse rows that lack a class or weigh nothing. Other errors are those of the model.
                if self.is_proven and not isinstance(error, ValueError | ArithmeticError):
                    raise
                value, cause = math.nan, error
        if math.isfinite(value):
            return value, None, None
        problem = str(caught[0].message) if caught else f"it returned {value}"
        if cause is not None:
            problem = f"{type(cause).__name__}: {cause}"
        return math.nan, problem.rstrip("."), cause

    def score_rows(self, answers: ExamPredictions) -> Array | None:
        """Return what each row adds to a metric that is a mean over rows; None for other metrics."""
        if answers.y is None:
            return answers.correct
        for known, method, row_metric in metrics.ROW_METRICS:
            if metrics.is_same_scorer(self.scorer, known):
                is_column = method == "predict_proba"
                truth = np.searchsorted(answers.classes, answers.y) if is_column else answers.y
                return row_metric(answers.by_method[method], truth)
        return None

    def _resample(self, answers: ExamPredictions) -> Array:
        """Return what each resample of the rows adds to the error of a score, NaN where the metric is not defined.

        The seed makes the resamples of two models the same, so that the two can be compared.
        """
        rng, stop = np.random.default_rng(self.seed), time.thread_time() + _RESAMPLE_SECONDS
        size = min(len(answers), _MAX_RESAMPLED_ROWS)
        scores = np.full(_N_RESAMPLES, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(_N_RESAMPLES):
                if number >= _LEAST_RESAMPLES and time.thread_time() > stop:
                    break
                with contextlib.suppress(ValueError, ArithmeticError):
                    scores[number] = answers.take(rng.choice(len(answers), size)).score(self)
        is_known = np.isfinite(scores)
        n_known = int(np.count_nonzero(is_known))
        if n_known < 2:
            return np.full(len(scores), np.nan)
        scale = t.ppf(0.975, n_known - 1) / Z_95 * math.sqrt(size / len(answers) / (n_known - 1))
        return np.where(is_known, scale * (scores - scores[is_known].mean()), np.nan)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A score over the rows of an exam, with its 95 % interval; None without rows.

    `influence` is what each row, or each resample, adds to the error of the score; None if the metric is not defined
    on the rows or on a resample. `problem` says why the score, or the ends of its interval, are unknown.
    """

    estimate: Estimate | None
    influence: Influence | None = None
    problem: str | None = None

    @property
    def is_undefined(self) -> bool:
        """Whether there are rows, and the metric is not defined on them."""
        return self.estimate is not None and math.isnan(self.estimate.value)
