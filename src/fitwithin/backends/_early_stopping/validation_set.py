"""Validation rows for boosters that stop by their own rule, when the score on these rows no longer improves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fitwithin._core.target import Array
from fitwithin._pools.tables import take_rows

_PATIENCE = ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change", "od_wait")
"""Parameters of LightGBM, XGBoost and CatBoost that turn their early stopping on."""

_ARGUMENT = "eval_set"

DEPRECATION = "The argument 'eval_set' is deprecated"
"""Warning of LightGBM 4.7. Its replacement, `eval_y`, is not encoded as the labels are, so it is wrong for most."""


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """Validation rows on their way to a booster.

    Parameters
    ----------
    X : table
        Features.
    y : array
        Labels or values.
    """

    X: Any
    y: Array

    def transform(self, steps: Pipeline) -> ValidationSet:
        """Return the rows after the earlier steps of a pipeline, which are fitted."""
        return replace(self, X=steps.transform(self.X)) if len(steps) else self

    def as_arguments(self, learner: Any) -> dict[str, Any]:
        """Return the rows as arguments of a booster's `fit`."""
        arguments: dict[str, Any] = {_ARGUMENT: [(self.X, self.y)]}
        if type(learner).__module__.startswith("xgboost"):
            # Unless it is told not to, it prints a score for every tree.
            arguments["verbose"] = False
        return arguments

    def select_known(self, y: Array) -> ValidationSet:
        """Return the rows whose classes are among those of training rows; all rows of a regression."""
        is_known = np.ones(len(self.y), np.bool_) if self.y.dtype.kind == "f" else np.isin(self.y, y)
        return self if is_known.all() else ValidationSet(take_rows(self.X, np.flatnonzero(is_known)), self.y[is_known])


def takes_validation_set(learner: Any) -> bool:
    """Return whether a booster, or the last step of a pipeline, stops early by a score on validation rows.

    Examples
    --------
    >>> from lightgbm import LGBMClassifier
    >>> takes_validation_set(LGBMClassifier(early_stopping_rounds=5)), takes_validation_set(LGBMClassifier())
    (True, False)
    """
    last = learner.steps[-1][1] if isinstance(learner, Pipeline) and learner.steps else learner
    if not hasattr(last, "get_params") or not has_fit_parameter(last, _ARGUMENT):
        return False
    params = last.get_params()
    return any(params.get(name) for name in _PATIENCE)


def has_validation_set(fit_params: Mapping[str, Any]) -> bool:
    """Return whether the user passes validation rows to the booster, by metadata routing."""
    return bool({_ARGUMENT, "eval_X"} & set(fit_params))


def add_validation_set(fit_params: Mapping[str, Any], X: Any, y: Array) -> dict[str, Any]:
    """Return the arguments of `fit` with validation rows, which `pass_validation_set` gives to the learner."""
    return {**fit_params, _ARGUMENT: ValidationSet(X, y)}


def pass_validation_set(learner: Any, params: Mapping[str, Any], y: Array) -> dict[str, Any]:
    """Return the arguments of a learner's `fit`, with validation rows in the form that it takes, if it takes them.

    Parameters
    ----------
    learner : estimator
        The learner.
    params : dict
        From `add_validation_set`.
    y : array
        The training labels or values.
    """
    others, rows = dict(params), params.get(_ARGUMENT)
    if not isinstance(rows, ValidationSet):
        return others
    del others[_ARGUMENT]
    if not takes_validation_set(learner):
        return others
    rows = rows.select_known(y)
    if isinstance(learner, Pipeline):
        # The last step gets them as they are, and `transform_validation_set` is called there.
        return {**others, f"{learner.steps[-1][0]}__{_ARGUMENT}": rows}
    return {**others, **rows.as_arguments(learner)}


def transform_validation_set(pipeline: Pipeline, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the last step's `fit`, with validation rows after the earlier steps of its pipeline."""
    others, rows = dict(params), params.get(_ARGUMENT)
    if not isinstance(rows, ValidationSet):
        return others
    del others[_ARGUMENT]
    return {**others, **rows.transform(pipeline[:-1]).as_arguments(pipeline[-1])}
