"""Features that a learner gets: those of `fit`, of `predict`, and of validation rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from fitwithin._core.budget import Budget
from fitwithin._core.target import Labels, Values
from fitwithin._pools.block_pool import BlockPool, HoldOut
from fitwithin._pools.input_kind import find_input_kind
from fitwithin._pools.pool import LabeledRows, Pool
from fitwithin._pools.table_pool import TablePool
from fitwithin._pools.tables import describe_table, is_frame, is_text_array
from fitwithin._pools.target_pass import TargetPass
from fitwithin._session.fingerprint import Fingerprint, describe_rows
from fitwithin._session.held_out_rows import (
    GROUPS_ADVICE,
    LAST_ROWS_ADVICE,
    Codes,
    HeldOutRows,
    check_classes,
    check_second_table,
    encode_groups,
    hold_out_by_class,
    hold_out_groups,
    hold_out_in_blocks,
    hold_out_last_rows,
    hold_out_random_rows,
    hold_out_second_table,
)
from fitwithin._session.inputs.fit_arguments import FitArguments, Validation, split_fit_params
from fitwithin._session.value_text import hash_columns

# Validation rows at most of a learner that predicts them after each step of its fit.
_MAX_VALIDATION_SET = 20_000

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
    features = check_features(estimator, given.X, given.y)
    target = Values.read(given.y) if estimator._regression else Labels.encode(given.y)
    row_params, fit_params = split_fit_params(params, len(target.column))
    return TablePool(features, target, row_params), fit_params


def hold_out_validation_set(
    pool: TablePool, held_out: HeldOutRows | None, rng: np.random.Generator
) -> tuple[HeldOutRows, LabeledRows]:
    """Return the held-out rows of a learner that stops early by a score on validation rows, and these rows.

    A last fit cannot have them: it would not know when to stop.
    """
    held_out = replace(held_out or hold_out_random_rows(len(pool), rng), can_refit=False)
    return held_out, pool.read(held_out.validation[:_MAX_VALIDATION_SET])


def open_data_set(
    estimator: Any,
    given: FitArguments,
    params: Mapping[str, Any],
    open_pool: Callable[..., Pool],
    seed: int,
    *,
    teacher_holds_out: bool,
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
    seed : int
        Makes the order of the rows random, and chooses held-out rows.
    teacher_holds_out : bool
        Whether the teacher would hold out random rows itself.
    """
    others = dict(params)
    rows = {"X": given.X, "y": given.y, "sample_weight": others.pop("sample_weight", None), "groups": given.groups}
    rows |= {"X_val": given.X_val, "y_val": given.y_val}

    def hold_out(found: TargetPass, groups: Any, n_validation_blocks: int) -> TargetPass:
        is_last, rng = given.validation == "last", np.random.default_rng(seed)
        codes = None if groups is None else encode_groups(groups, int(found.block_rows.sum()))
        return hold_out_in_blocks(
            found, codes, n_validation_blocks, last=is_last, teacher_holds_out=teacher_holds_out, rng=rng
        )

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
    from fitwithin._pools.disk_pool import DiskPool
    from fitwithin._pools.sources.opening import open_source

    if find_input_kind(rows["X"]) == "collection":
        raise TypeError(
            "X is a Dask collection, whose rows are on a cluster. Set backend=fitwithin.backends.Dask(client), or pass "
            "X.compute() if it fits into memory."
        )
    source = open_source(**rows, spool=spool, is_over=lambda: budget.is_spent)
    folder = None if spool is None else os.fspath(spool)
    return DiskPool.open(source, regression=regression, seed=seed, budget=budget, folder=folder, hold_out=hold_out)


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
    held_out : HeldOutRows or None
        Rows of a data set that were chosen when it was opened.
    """

    validation: Validation
    groups: Codes | None = None
    table: TablePool | None = None
    held_out: HeldOutRows | None = None

    def add_to(self, training: Pool) -> Pool:
        """Return the training rows with, numbered after them, those of the other table, if there is one."""
        if self.table is None:
            return training
        assert isinstance(training, TablePool)
        return training.add_validation_rows(self.table)

    def hold_out(self, training: Pool, rng: np.random.Generator, *, by_class: bool = False) -> HeldOutRows | None:
        """Return the rows; None if the teacher may choose them.

        Parameters
        ----------
        training : Pool
            The rows of X.
        rng : numpy.random.Generator
            Chooses the rows.
        by_class : bool, default=False
            Whether a rare class must not be missing among them, for the sake of the metric.

        Raises
        ------
        ValueError
            If too few rows, groups or classes are left for training.
        """
        if isinstance(training, BlockPool):
            return self.held_out
        if self.table is not None:
            return hold_out_second_table(len(training), len(self.table), rng)
        if self.groups is not None:
            held_out = hold_out_groups(self.groups, rng)
            advice = GROUPS_ADVICE
        elif self.validation == "last":
            held_out = hold_out_last_rows(len(training), rng)
            advice = LAST_ROWS_ADVICE
        elif by_class and isinstance(training, TablePool) and isinstance(training.y, Labels):
            return hold_out_by_class(training.y, rng)
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
    if isinstance(training, BlockPool):
        chosen = training.held_out
        held_out = None if chosen is None else HeldOutRows(*chosen, can_refit=arguments.X_val is None)
        return ValidationRows(arguments.validation, held_out=held_out)
    groups = None if arguments.groups is None else encode_groups(arguments.groups, len(training))
    table = None
    if arguments.X_val is not None:
        features = _check_validation_features(estimator, arguments.X_val, training.X)
        if features.shape[0] != len(arguments.y_val):
            raise ValueError(
                f"X_val has {features.shape[0]} rows and y_val {len(arguments.y_val)}; expected one entry of y_val "
                "for each row of X_val."
            )
        table = TablePool(features, training.y.read_more(arguments.y_val))
    return ValidationRows(arguments.validation, groups, table)


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
