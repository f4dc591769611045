"""Metrics that are means over rows: what each row adds, for an interval without resamples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from fitwithin._core.target import Array

RowMetric = Callable[[Array, Array, Any], Array]
"""Takes a model's answers, the truth and the model; returns one number for each row."""

# Smallest probability that enters a logarithm.
_MIN_PROBABILITY = 1e-15


def model_classes(model: Any, y: Array) -> Array:
    """Return the classes that the columns of a model's probabilities stand for."""
    return np.asarray(model.classes_) if hasattr(model, "classes_") else np.unique(y)


def _log_probability(probabilities: Array, y: Array, model: Any) -> Array:
    column = np.searchsorted(model_classes(model, y), y)
    return np.asarray(np.log(probabilities[np.arange(len(y)), column].clip(_MIN_PROBABILITY)))


def _brier(probabilities: Array, y: Array, model: Any) -> Array:
    classes = model_classes(model, y)
    distance = (y[:, None] == classes[None, :]) - probabilities
    # With two classes the metric counts the distance of one of them.
    return np.asarray(-(distance**2).sum(axis=1) / (2 if len(classes) == 2 else 1))


def _absolute_error(predicted: Array, y: Array, _model: Any) -> Array:
    return np.asarray(-np.abs(predicted.ravel() - y))


def _squared_error(predicted: Array, y: Array, _model: Any) -> Array:
    return np.asarray(-((predicted.ravel() - y) ** 2))


ROW_METRICS: tuple[tuple[Any, str, RowMetric], ...] = (
    (get_scorer("neg_log_loss"), "predict_proba", _log_probability),
    (get_scorer("neg_brier_score"), "predict_proba", _brier),
    (get_scorer("neg_mean_absolute_error"), "predict", _absolute_error),
    (get_scorer("neg_mean_squared_error"), "predict", _squared_error),
)
"""scikit-learn's scorer, the method that it asks a model for, and the metric by row."""
