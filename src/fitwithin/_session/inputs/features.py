"""Features that a learner gets: those of `fit`, of `predict`, and of validation rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels, Values, refuse_several_targets
from fitwithin._pools.block_pool import HoldOut
from fitwithin._pools.pool import Pool, TablePool
from fitwithin._pools.tables import describe_table, find_input_kind, is_frame, is_text_array
from fitwithin._session.held_out_rows import check_second_table, hold_out_in_blocks
from fitwithin._session.inputs.fit_arguments import MAX_SEED, FitArguments, can_resume, split_fit_params

# Missing values are left to the learner.
_CHECKS = {"ensure_all_finite": False, "dtype": None, "accept_sparse": "csr"}


def check_features(estimator: Any, X: Any, y: Any = None) -> Any:
    """Return X as the learner gets it; missing values are left to the learner.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Keeps the number and the names of the features if there is a y, and compares X with them if there is none.
    X : array-like, sparse matrix or frame
        Features.
    y : array-like, optional
        The target, in `fit`.
    """
    reset = y is not None
    if is_text_array(X) and (reset or not hasattr(estimator, "n_features_in_")):
        check_consistent_length(X, X if y is None else y)
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
        return X
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if reset and len(X) != len(y):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}")
        if not len(X):
            raise ValueError("Found a frame with 0 sample(s) while a minimum of 1 is required.")
        return X
    if not reset:
        return validate_data(estimator, X, reset=False, **_CHECKS)
    features, _ = validate_data(estimator, X, y, multi_output=True, **_CHECKS)
    return features


def open_table(estimator: Any, given: FitArguments, params: Mapping[str, Any]) -> tuple[TablePool, dict[str, Any]]:
    """Return the rows of a table, and the arguments of the learner's `fit` without one entry for each row."""
    # scikit-learn's checks would raise an error of numpy for lists of different lengths.
    refuse_several_targets(given.y, "y")
    features = check_features(estimator, given.X, given.y)
    target = Values.read(given.y) if estimator._regression else Labels.encode(given.y)
    row_params, fit_params = split_fit_params(params, len(target.column))
    return TablePool(features, target, row_params), fit_params


def open_data_set(
    estimator: Any, given: FitArguments, params: Mapping[str, Any], open_pool: Callable[..., Pool], validates: bool
) -> tuple[Pool, dict[str, Any]]:
    """Return the rows of a data set, and the arguments of the learner's `fit` other than the weights.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Keeps the number and the names of the features.
    given : FitArguments
        What the user passed.
    params : dict
        Arguments of the learner's `fit`.
    open_pool : callable
        Opens the rows, such as `open_disk_pool`.
    validates : bool
        Whether the teacher would hold out random rows itself.
    """
    others = dict(params)
    rows = {"X": given.X, "y": given.y, "sample_weight": others.pop("sample_weight", None), "groups": given.groups}
    rows |= {"X_val": given.X_val, "y_val": given.y_val}
    # A fit that resumes must give the same rows the same numbers, whatever its random state.
    seed = 0 if can_resume(estimator) else int(check_random_state(estimator.random_state).randint(MAX_SEED))
    hold_out = partial(hold_out_in_blocks, seed=seed, last=given.validation == "last", teacher_holds_out=validates)
    pool = open_pool(rows, regression=estimator._regression, seed=seed, hold_out=hold_out)
    validate_data(estimator, pool.X, reset=True, skip_check_array=True)
    row_params, fit_params = split_fit_params(others, len(pool))
    if row_params:
        raise TypeError(
            f"{', '.join(row_params)}: got one entry for each row; with a data set only sample_weight can have that, "
            "as the name of a column. Read the data set into memory, or leave this argument out."
        )
    return pool, fit_params


def open_disk_pool(
    budget: Budget, spool: Any, rows: Mapping[str, Any], *, regression: bool, seed: int, hold_out: HoldOut
) -> Pool:
    """Return the rows of a data set on disk, which this program reads into a spool."""
    from fitwithin._pools.block_pool import DiskPool

    if find_input_kind(rows["X"]) == "collection":
        raise TypeError(
            "X is a Dask collection, whose rows are on a cluster. Set backend=fitwithin.backends.Dask(client), or pass "
            "X.compute() if it fits into memory."
        )
    folder = None if spool is None else os.fspath(spool)
    return DiskPool.open(rows, regression=regression, seed=seed, budget=budget, folder=folder, hold_out=hold_out)


def open_validation_table(estimator: Any, given: FitArguments, training: TablePool) -> TablePool | None:
    """Return the rows of X_val and y_val; None if there are none.

    Raises
    ------
    ValueError, TypeError
        If they do not go with the training rows.
    """
    if given.X_val is None:
        return None
    features = _check_validation_features(estimator, given.X_val, training.X)
    if features.shape[0] != len(given.y_val):
        raise ValueError(
            f"X_val has {features.shape[0]} rows and y_val {len(given.y_val)}; expected one entry of y_val "
            "for each row of X_val."
        )
    return TablePool(features, training.y.read_more(given.y_val))


def _check_validation_features(estimator: Any, X_val: Any, X: Any) -> Any:
    """Return X_val as the learner gets it; raise if its type or its columns are not those of X."""
    if is_text_array(X):
        if not is_text_array(X_val):
            raise TypeError("X holds texts, and X_val does not; both must be of one type. Pass texts as X_val.")
        check_second_table(len(X_val))
        return X_val
    if not is_frame(X_val) and not is_frame(X):
        X_val = check_array(X_val, ensure_min_samples=0, input_name="X_val", **_CHECKS)
    check_second_table(len(X_val) if is_frame(X_val) else X_val.shape[0])
    if describe_table(X_val) != describe_table(X):
        raise TypeError(
            f"X_val is {describe_table(X_val)} and X {describe_table(X)}; both must be of one type. Convert X_val."
        )
    if X_val.shape[1] != X.shape[1]:
        raise ValueError(
            f"X_val has {X_val.shape[1]} features and X has {X.shape[1]}; both must have the same. "
            "Pass the columns of X, in their order."
        )
    if is_frame(X):
        check_features(estimator, X_val)
    elif not np.can_cast(X_val.dtype, X.dtype, "same_kind"):
        raise TypeError(
            f"X_val holds values of type {X_val.dtype}, which do not fit into the type of X, {X.dtype}. "
            "Convert one of them."
        )
    return X_val
