"""What each row adds to a metric, for standard errors without resamples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from fitwithin._core.records import Influence
from fitwithin._core.target import Array

RowMetric = Callable[[Array, Array], Array]
"""Takes a model's predictions and the truth, for probabilities as column numbers; returns one number for each row."""

# Smallest probability that enters a logarithm.
_MIN_PROBABILITY = 1e-15


def _log_probability(probabilities: Array, column: Array) -> Array:
    return np.asarray(np.log(probabilities[np.arange(len(column)), column].clip(_MIN_PROBABILITY)))


def _brier(probabilities: Array, column: Array) -> Array:
    n_classes = probabilities.shape[1]
    distance = (column[:, None] == np.arange(n_classes)) - probabilities
    # With two classes the metric counts the distance of one of them.
    return np.asarray(-(distance**2).sum(axis=1) / (2 if n_classes == 2 else 1))


def _absolute_error(predicted: Array, y: Array) -> Array:
    return np.asarray(-np.abs(predicted.ravel() - y))


def _squared_error(predicted: Array, y: Array) -> Array:
    return np.asarray(-((predicted.ravel() - y) ** 2))


def mean_influence(values: Array, weights: Array) -> Array:
    """Return what each row adds to the error of a weighted mean.

    Examples
    --------
    >>> mean_influence(np.array([1.0, 0.0]), np.ones(2)).tolist()
    [0.25, -0.25]
    """
    total = weights.sum()
    return np.asarray(weights * (values - (weights * values).sum() / total) / total)


def standard_error(influence: Array) -> float:
    """Return the standard error that rows or resamples add up to; infinite if all are unknown."""
    known = influence[np.isfinite(influence)]
    return float(np.linalg.norm(known)) if len(known) else float("inf")


def to_influence(parts: Array) -> Influence | None:
    """Return what rows or resamples add to an error in the type that is passed on; None if some are unknown."""
    with np.errstate(over="ignore"):
        influence = parts.astype(np.float32)
    return influence if np.isfinite(influence).all() else None


def r2_influence(squared_errors: Array, y: Array, weights: Array) -> Array:
    """Return what each row adds to the error of R2.

    R2 is 1 - e / v, the means of squared errors and of squared distances from the mean of y. To first order, a row
    moves it by its own parts of both.
    """
    squared_distance = (y - np.average(y, weights=weights)) ** 2
    variance = np.average(squared_distance, weights=weights)
    unexplained = np.average(squared_errors, weights=weights) / variance
    return mean_influence((unexplained * squared_distance - squared_errors) / variance, weights)


ROW_METRICS: tuple[tuple[Any, str, RowMetric], ...] = (
    (get_scorer("neg_log_loss"), "predict_proba", _log_probability),
    (get_scorer("neg_brier_score"), "predict_proba", _brier),
    (get_scorer("neg_mean_absolute_error"), "predict", _absolute_error),
    (get_scorer("neg_mean_squared_error"), "predict", _squared_error),
)
"""scikit-learn's scorer, the method that it asks a model for, and the metric by row, if it is a mean over rows."""

# Balanced accuracy is left to resamples: by its formula a class with one row would have no error.
R2: Any = get_scorer("r2")
"""The one metric that is no mean over rows and whose error has a formula."""
