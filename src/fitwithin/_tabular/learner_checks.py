"""Checks before the clock starts: learner, teacher and target must go together."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier, is_regressor

from fitwithin._core.exceptions import UserInputError
from fitwithin._session.inputs.fit_arguments import validate_teacher
from fitwithin._tabular.target_column import TargetColumn
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
