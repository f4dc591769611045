"""Metrics that are means over rows: what each row adds, for an interval without resamples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

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


ROW_METRICS: tuple[tuple[Any, str, RowMetric], ...] = (
    (get_scorer("neg_log_loss"), "predict_proba", _log_probability),
    (get_scorer("neg_brier_score"), "predict_proba", _brier),
    (get_scorer("neg_mean_absolute_error"), "predict", _absolute_error),
    (get_scorer("neg_mean_squared_error"), "predict", _squared_error),
)
"""scikit-learn's scorer, the method that it asks a model for, and the metric by row."""
