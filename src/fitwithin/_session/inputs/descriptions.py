"""What is written down of a fit, for a later one to compare with and for a reader of its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._pools.pool import Pool
from fitwithin._pools.tables import list_column_types
from fitwithin._session.fingerprint import (
    Fingerprint,
    describe_data_set,
    describe_learner,
    describe_rows,
    describe_value,
)
from fitwithin._session.inputs.fit_inputs import FitInputs


def describe_training(estimator: Any, learner: Any, training: Pool, fit_params: Mapping[str, Any]) -> Fingerprint:
    """Return what must be equal in a resumed fit: training rows, learner and metric.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Knows the metric.
    learner : estimator
        The user's learner, before its random states are set.
    training : Pool
        The rows of X.
    fit_params : dict
        Arguments of the learner's `fit` without one entry for each row.
    """
    return {
        "task": _name_task(estimator),
        **(describe_data_set(training) or describe_rows(training)),
        **describe_learner(learner),
        "scoring": _name_scoring(estimator) or "the default",
        "other arguments of fit": ", ".join(sorted(fit_params)) or "none",
    }


def describe_fit(estimator: Any, inputs: FitInputs, time_limit: float) -> dict[str, Any]:
    """Return what a reader of the checkpoint needs in place of the data."""
    labels, target, teacher = inputs.labels, inputs.pool.y, estimator.teacher
    return {
        "task": _name_task(estimator),
        "classes": [] if labels is None else [_to_json_label(label) for label in labels.classes.tolist()],
        "features": estimator.n_features_in_,
        "columns": list_column_types(inputs.pool.training_table),
        "learner": estimator.estimator if isinstance(estimator.estimator, str) else type(inputs.learner).__name__,
        "teacher": teacher if isinstance(teacher, str) else type(teacher).__name__,
        "scoring": _name_scoring(estimator) or ("r2" if estimator._regression else "accuracy"),
        "time_limit": time_limit,
        "target_type": str(target.decode(target.column[:0]).dtype),
    }


def _name_task(estimator: Any) -> str:
    return "regression" if estimator._regression else "classification"


def _name_scoring(estimator: Any) -> str | None:
    scoring = estimator.scoring
    return scoring if scoring is None or isinstance(scoring, str) else describe_value(scoring)


def _to_json_label(label: Any) -> str | bool | int | float:
    return label if isinstance(label, str | bool | int | float) else str(label)
