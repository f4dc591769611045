"""What does not go together, found before the clock starts: learner and rows, teacher, score, columns of two files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer
from sklearn.utils.metaestimators import available_if

from fitwithin._core.exceptions import UserInputError, closest_match, join_names
from fitwithin._estimator import TEACHERS, validate_teacher
from fitwithin._tabular.columns import Column
from fitwithin._tabular.files import DataFile
from fitwithin._tabular.target_column import Goal


def refuse_misfits(learner: Any, teacher: str, X: Any, goal: Goal) -> None:
    """Find out before the clock starts that a learner is of the wrong kind, or can't be taught these rows, or not so.

    Raises
    ------
    UserInputError
        If so.
    """
    if (is_classifier if goal.is_regression else is_regressor)(learner):
        kinds = (
            ("classifier", "values", "classification") if goal.is_regression else ("regressor", "classes", "regression")
        )
        raise UserInputError(
            f"{type(learner).__name__} is a {kinds[0]}, and {goal.name!r} is learned as {kinds[1]}.",
            f"Choose another --learner, or say --task {kinds[2]}.",
        )
    try:
        validate_teacher(TEACHERS[teacher](), learner, regression=goal.is_regression)
    except (TypeError, ValueError) as error:
        raise UserInputError(str(error)) from error
    # By its name: older versions of scikit-learn do not say which of its learners take sparse rows.
    if hasattr(X, "tocsr") and type(learner).__name__.startswith("HistGradientBoosting"):
        raise UserInputError(
            "The learner takes no sparse rows.", "Use --learner lightgbm, random-forest or logistic-regression."
        )


def refuse_unfit_score(scoring: str, learner: Any, goal: Goal) -> None:
    """Find out before the clock starts that a score says nothing about these labels, or asks more than a learner tells.

    Parameters
    ----------
    scoring : str
        The name of a scorer.
    learner : estimator
        What will be scored.
    goal : Goal
        What is to be learned.

    Raises
    ------
    UserInputError
        If it can't even be told for a model that guesses.
    """
    guesser = DummyRegressor() if goal.is_regression else _Guesser(learner)
    X = np.zeros((len(goal.y), 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a guess may deserve them
            get_scorer(scoring)(guesser.fit(X, goal.y), X, goal.y)
    except (TypeError, ValueError, AttributeError) as error:
        raise UserInputError(
            f"--scoring {scoring} can't be used for this target: {' '.join(str(error).split())[:200]}",
            "For values use r2 or neg_mean_absolute_error."
            if goal.is_regression
            else "For classes use accuracy, balanced_accuracy, f1_macro or neg_log_loss.",
        ) from error


class _Guesser(DummyClassifier):  # type: ignore[misc]  # scikit-learn ships no types
    """Guesses, and can do what a learner can do, but nothing else."""

    def __init__(self, learner: Any) -> None:
        super().__init__(strategy="prior")
        self.learner = learner

    @available_if(lambda self: hasattr(self.learner, "predict_proba"))  # type: ignore[untyped-decorator]  # no types
    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X)

    @available_if(lambda self: hasattr(self.learner, "decision_function"))  # type: ignore[untyped-decorator]  # no types
    def decision_function(self, X: Any) -> Any:
        classes = len(self.classes_)
        return np.zeros(len(X) if classes == 2 else (len(X), classes))


def refuse_other_columns(columns: Sequence[Column], file: DataFile) -> None:
    """Refuse a file that lacks a column which a model needs.

    Raises
    ------
    UserInputError
        If so; says which one may be meant.
    """
    names = set(file.names())
    missing = [column.name for column in columns if column.name not in names]
    if missing:
        near = closest_match(missing[0], names)
        raise UserInputError(
            f"{file.path} has no column {join_names(map(repr, missing), 10)}, which the model needs.",
            f"Did you mean {near}? Rename it there." if near else "Is it the right file?",
        )
