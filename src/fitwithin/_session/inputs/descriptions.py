"""What is written down of a fit, for a later one to compare with and for a reader of its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fitwithin._pools.pool import Pool
from fitwithin._pools.tables import list_column_types
from fitwithin._session.fingerprint import Fingerprint, describe_rows
from fitwithin._session.inputs.fit_inputs import FitInputs
from fitwithin._session.value_text import describe_value


def describe_training(
    estimator: Any, learners: Fingerprint, training: Pool, fit_params: Mapping[str, Any]
) -> Fingerprint:
    """Return what must be equal in a resumed fit: training rows, learners and metric.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Knows the metric.
    learners : dict
        The user's learners, before their random states are set.
    training : Pool
        The rows of X.
    fit_params : dict
        Arguments of the learner's `fit` without one entry for each row.
    """
    return {
        "task": _name_task(estimator),
        **describe_rows(training),
        **learners,
        "scoring": "the default" if estimator.scoring is None else _describe_scoring(estimator.scoring),
        **{f"{name} of fit": describe_value(value) for name, value in sorted(fit_params.items())},
    }


def describe_fit(estimator: Any, inputs: FitInputs, time_limit: float) -> dict[str, Any]:
    """Return what a reader of the checkpoint needs in place of the data, by the names of a `ModelCard`."""
    labels, target, teacher = inputs.labels, inputs.pool.y, estimator.teacher
    return {
        "task": _name_task(estimator),
        "classes": [] if labels is None else [_to_json_label(label) for label in labels.classes.tolist()],
        "features": getattr(estimator, "n_features_in_", 1),
        "columns": list_column_types(inputs.pool.training_table),
        "learner": estimator.estimator if isinstance(estimator.estimator, str) else type(inputs.learner).__name__,
        "teacher": teacher if isinstance(teacher, str) else type(teacher).__name__,
        "scoring": _describe_scoring(estimator.scoring or ("r2" if estimator._regression else "accuracy")),
        "time_limit": time_limit,
        "target_type": str(target.decode(target.column[:0]).dtype),
    }


def _name_task(estimator: Any) -> str:
    return "regression" if estimator._regression else "classification"


def _describe_scoring(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else describe_value(scoring)


def _to_json_label(label: Any) -> str | bool | int | float:
    return label if isinstance(label, str | bool | int | float) else str(label)
