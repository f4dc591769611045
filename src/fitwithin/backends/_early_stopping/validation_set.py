"""Validation rows for boosters that stop by their own rule, when the score on these rows no longer improves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows

_PATIENCE = ("early_stopping_rounds", "early_stopping_round", "n_iter_no_change", "od_wait")
"""Parameters of LightGBM, XGBoost and CatBoost that turn their early stopping on."""

_ARGUMENT = "eval_set"

DEPRECATION = "The argument 'eval_set' is deprecated"
"""Warning of LightGBM 4.7. Its replacement, `eval_y`, is not encoded as the labels are, so it is wrong for most."""


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
    return {**fit_params, _ARGUMENT: LabeledRows(X, y)}


def pass_validation_set(
    learner: Any, params: Mapping[str, Any], y: Array, earlier_steps: Pipeline | None = None
) -> dict[str, Any]:
    """Return the arguments of a learner's `fit`, with validation rows in the form that it takes, if it takes them.

    Parameters
    ----------
    learner : estimator
        The learner.
    params : dict
        From `add_validation_set`.
    y : array
        The training labels or values.
    earlier_steps : Pipeline, optional
        The fitted steps before the learner, in a pipeline.
    """
    others, rows = dict(params), params.get(_ARGUMENT)
    if not isinstance(rows, LabeledRows):
        return others
    del others[_ARGUMENT]
    if not takes_validation_set(learner):
        return others
    if rows.y.dtype.kind != "f":
        # A booster refuses classes that are not among those of its training rows.
        rows = rows.take(np.flatnonzero(np.isin(rows.y, y)))
    if isinstance(learner, Pipeline):
        # The last step gets them as they are, and this function is called again there.
        return {**others, f"{learner.steps[-1][0]}__{_ARGUMENT}": rows}
    others[_ARGUMENT] = [(earlier_steps.transform(rows.X) if earlier_steps else rows.X, rows.y)]
    # Unless it is told not to, XGBoost prints a score for every tree.
    return others | ({"verbose": False} if type(learner).__module__.startswith("xgboost") else {})
