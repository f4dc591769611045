"""Checks before the clock starts: learner, teacher, scoring and target must go together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer

from fitwithin._core.exceptions import UserInputError, shorten_reason
from fitwithin._core.target import Labels, Values
from fitwithin._session.inputs.fit_arguments import validate_teacher
from fitwithin._tabular.target_column import TargetColumn
from fitwithin.backends._exam_predictions import Responder, make_synthetic_predictions
from fitwithin.teachers._registry import TEACHERS


def validate_learner(learner: Any, teacher: str, X: Any, target: TargetColumn) -> None:
    """Check that a learner fits the task, the teacher and the matrix.

    Raises
    ------
    UserInputError
        If it does not.
    """
    if is_classifier(learner) if target.is_regression else is_regressor(learner):
        kind, other_task = ("classifier", "classification") if target.is_regression else ("regressor", "regression")
        raise UserInputError(
            f"{type(learner).__name__} is a {kind}, but the task for {target.name!r} is {target.task}.",
            f"Choose another --learner, or use --task {other_task}.",
        )
    try:
        validate_teacher(TEACHERS[teacher](), learner, regression=target.is_regression)
    except (TypeError, ValueError) as error:
        raise UserInputError(str(error)) from error
    # By its name: older versions of scikit-learn have no tag for learners that take sparse rows.
    if hasattr(X, "tocsr") and type(learner).__name__.startswith("HistGradientBoosting"):
        raise UserInputError(
            f"The encoded rows are sparse rows, which {type(learner).__name__} does not take.",
            "Use --learner lightgbm, random-forest or logistic-regression instead.",
        )


def validate_scoring(scoring: str, learner: Any, target: TargetColumn) -> None:
    """Check that a metric is defined for the target, and needs no method that the learner lacks.

    It is computed for a synthetic model with the learner's methods.

    Parameters
    ----------
    scoring : str
        The name of a scorer.
    learner : estimator
        The learner to be scored.
    target : TargetColumn
        The target.

    Raises
    ------
    UserInputError
        If it can't be computed.
    """
    exam = make_synthetic_predictions(Values(target.values) if target.is_regression else Labels.encode(target.values))
    model = Responder(learner, exam.model.classes, exam.by_method.__getitem__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such a model may deserve them
            get_scorer(scoring)(model, exam.labels[:, np.newaxis], exam.labels)
    except (TypeError, ValueError, AttributeError) as error:
        raise UserInputError(
            f"--scoring {scoring} can't be used for this target: {shorten_reason(error)}.",
            "For regression use r2 or neg_mean_absolute_error."
            if target.is_regression
            else "For classification use accuracy, balanced_accuracy, f1_macro or neg_log_loss.",
        ) from error
