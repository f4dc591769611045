"""Features that a learner gets: those of `fit`, of `predict`, and of validation rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels, Values
from fitwithin._pools.pool import Pool
from fitwithin._pools.remote_table import RemoteTable
from fitwithin._pools.table_pool import TablePool
from fitwithin._pools.tables import describe_table, is_frame
from fitwithin._session.fingerprint import Fingerprint, describe_rows, hash_columns
from fitwithin._session.held_out_rows import (
    Codes,
    HeldOutRows,
    check_classes,
    encode_groups,
    hold_out_groups,
    hold_out_last_rows,
    hold_out_second_table,
)
from fitwithin._session.inputs.fit_arguments import FitArguments, Validation, split_fit_params

# Missing values are left to the learner.
_CHECKS = {"ensure_all_finite": False, "dtype": None, "accept_sparse": "csr"}


def check_features(estimator: Any, X: Any, y: Any = None) -> Any:
    """Return X as the learner gets it; missing values are left to the learner.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Keeps the number and the names of the features if there is a y, and compares X with them if there is none.
    X : array-like, sparse matrix, frame or RemoteTable
        Features.
    y : array-like, optional
        The target, in `fit`.
    """
    reset = y is not None
    if isinstance(X, RemoteTable):
        validate_data(estimator, X.empty, reset=reset, skip_check_array=True)
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
    features = check_features(estimator, given.X, given.y)
    target = Values.read(given.y) if estimator._regression else Labels.encode(given.y)
    row_params, fit_params = split_fit_params(params, len(target.column))
    return TablePool(features, target, row_params), fit_params


def open_data_set(
    estimator: Any, given: FitArguments, params: Mapping[str, Any], budget: Budget, seed: int, spool: Any
) -> tuple[Pool, dict[str, Any]]:
    """Return the rows of a data set on disk, and the arguments of the learner's `fit` other than the weights."""
    from fitwithin._pools.disk_pool import DiskPool
    from fitwithin._pools.sources.opening import open_source

    given.refuse_for_data_set()
    others = dict(params)
    weight = others.pop("sample_weight", None)
    source = open_source(given.X, given.y, weight, spool=spool, is_over=lambda: budget.is_spent)
    folder = None if spool is None else os.fspath(spool)
    pool = DiskPool.open(source, regression=estimator._regression, seed=seed, budget=budget, folder=folder)
    validate_data(estimator, pool.X, reset=True, skip_check_array=True)
    row_params, fit_params = split_fit_params(others, len(pool))
    if row_params:
        raise TypeError(
            f"{', '.join(row_params)}: got one entry for each row; with a data set on disk only sample_weight can have "
            "that, as the name of a column. Read the data set into memory, or leave this argument out."
        )
    return pool, fit_params


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """The checked arguments of a fit that choose the validation and holdout rows.

    Parameters
    ----------
    validation : {"random", "last"}
        The estimator's parameter.
    groups : array of int or None
        The group of each row of X, from 0 on without gaps.
    table : TablePool or None
        The rows of X_val and y_val.
    """

    validation: Validation
    groups: Codes | None = None
    table: TablePool | None = None

    def add_to(self, training: Pool) -> Pool:
        """Return the training rows with, numbered after them, those of the other table, if there is one."""
        if self.table is None:
            return training
        assert isinstance(training, TablePool)
        return training.add_validation_rows(self.table)

    def hold_out(self, training: Pool, rng: np.random.Generator) -> HeldOutRows | None:
        """Return the rows; None if the teacher may choose them.

        Raises
        ------
        ValueError
            If too few rows, groups or classes are left for training.
        """
        if self.table is not None:
            return hold_out_second_table(len(training), len(self.table), rng)
        if self.groups is not None:
            held_out = hold_out_groups(self.groups, rng)
            advice = "Give groups that hold several classes each, or more of them."
        elif self.validation == "last":
            held_out = hold_out_last_rows(len(training), rng)
            advice = "Sort the rows by time, not by class."
        else:
            return None
        if isinstance(training.y, Labels):
            check_classes(training.y, held_out, advice)
        return held_out

    def describe(self) -> Fingerprint:
        """Return what must be equal in a resumed fit."""
        described: dict[str, str] = {} if self.validation == "random" else {"validation": self.validation}
        if self.groups is not None:
            described["groups"] = hash_columns(self.groups)
        if self.table is not None:
            described.update(describe_rows(self.table, suffix="_val"))
        return described


def check_validation_rows(estimator: Any, arguments: FitArguments, training: Pool) -> ValidationRows:
    """Return the checked arguments that choose validation and holdout rows.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Knows the features of the training rows.
    arguments : FitArguments
        What the user passed.
    training : Pool
        The rows of X.

    Raises
    ------
    ValueError, TypeError
        If they do not go with the training rows.
    """
    groups = None if arguments.groups is None else encode_groups(arguments.groups, len(training))
    table = None
    if arguments.X_val is not None:
        target = training.y.read_more(arguments.y_val)
        table = TablePool(_check_validation_features(estimator, arguments.X_val, training.X), target)
        if table.X.shape[0] != len(table):
            raise ValueError(
                f"X_val has {table.X.shape[0]} rows and y_val {len(table)}; expected one entry of y_val for each "
                "row of X_val."
            )
    return ValidationRows(arguments.validation, groups, table)


def _check_validation_features(estimator: Any, X_val: Any, X: Any) -> Any:
    """Return X_val as the learner gets it; raise if its type or its columns are not those of X."""
    if not is_frame(X_val) and not is_frame(X):
        X_val = check_array(X_val, ensure_min_samples=0, input_name="X_val", **_CHECKS)
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
