"""The arguments of a fit: which go to the estimator itself, which to its learner, and which belong to the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.target import Array
from fitwithin._pools.input_kind import find_input_kind
from fitwithin._pools.remote_table import RemoteColumn
from fitwithin._pools.tables import split_frame, split_validation_frame
from fitwithin.backends import Runner

Validation = Literal["random", "last"]
"""Which rows of X are kept for validation and holdout."""


@dataclass(frozen=True, eq=False)
class FitArguments:
    """What the user passed to `fit`.

    Parameters
    ----------
    X, y : table and array-like, or data set and str
        Features, and labels or values; or a data set on disk, and a column's name.
    sample_weight : array-like, str or None
        Weight of each row, or the name of its column.
    params : dict
        Other arguments of the learner's `fit`.
    validation : {"random", "last"}
        The estimator's parameter.
    groups : array-like or None
        The group of each row of X.
    X_val, y_val : table and array-like, or None
        Other rows to choose and estimate by.

    Raises
    ------
    ValueError
        If those that choose validation rows do not go together.
    """

    X: Any
    y: Any
    sample_weight: Any
    params: Mapping[str, Any]
    validation: Validation = "random"
    groups: Any = None
    X_val: Any = None
    y_val: Any = None

    def __post_init__(self) -> None:
        if self.validation not in ("random", "last"):
            raise ValueError(f'validation must be "random" or "last"; got {self.validation!r}.')
        if (self.X_val is None) != (self.y_val is None):
            given, missing = ("X_val", "y_val") if self.y_val is None else ("y_val", "X_val")
            raise ValueError(f"Got {given} without {missing}; rows for validation need both. Pass {missing} too.")
        if self.groups is not None and self.X_val is not None:
            raise ValueError(
                "Got both groups and X_val. With X_val no row of X is kept for validation, so its groups are not "
                "used. Leave out groups, and see to it that no group has rows in both X and X_val."
            )
        if self.validation == "last" and (self.groups is not None or self.X_val is not None):
            other = "X_val" if self.groups is None else "groups"
            raise ValueError(
                f'Got both validation="last" and {other}; each of them chooses the validation rows. '
                f'Leave out {other}, or set validation="random".'
            )

    def refuse_for_data_set(self) -> None:
        """Raise a UserInputError if they choose rows of a data set on disk, which is read in random order."""
        given = [name for name, value in (("groups", self.groups), ("X_val", self.X_val)) if value is not None]
        given += ['validation="last"'] if self.validation == "last" else []
        if given:
            raise UserInputError(
                f"Got {' and '.join(given)} with a data set on disk, whose rows are read in random order; validation "
                "rows are chosen at random there.",
                "Leave it out, or read the rows into memory.",
            )

    def split_frames(self) -> FitArguments:
        """Return them with values in the place of names of columns; data sets and Dask collections keep the names.

        Raises
        ------
        UserInputError
            If there is no such column, or a table has no names.
        """
        X, y, sample_weight, X_val, y_val = self.X, self.y, self.sample_weight, self.X_val, self.y_val
        if X_val is not None:
            X_val, y_val = split_validation_frame(X_val, y_val, sample_weight)
        if find_input_kind(X) == "table":
            X, y, sample_weight = split_frame(X, y, sample_weight)
        return replace(self, X=X, y=y, sample_weight=sample_weight, X_val=X_val, y_val=y_val)

    def read_on_cluster(self, runner: Runner, *, regression: bool) -> FitArguments:
        """Return them with tables that stand for rows on a cluster, if the runner's workers hold or read the rows."""
        if find_input_kind(self.X) == "table":
            return self
        from fitwithin.backends._dask.estimator_inputs import read_cluster_rows

        X, y, sample_weight = read_cluster_rows(runner, self, self.X, self.y, self.sample_weight, regression=regression)
        return replace(self, X=X, y=y, sample_weight=sample_weight)


def route_fit_params(estimator: Any, learner: Any, given: FitArguments) -> dict[str, Any]:
    """Return the arguments of the learner's `fit`.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Says where arguments go, if metadata routing is on.
    learner : estimator
        Its learner.
    given : FitArguments
        What the user passed.

    Raises
    ------
    ValueError
        If there are other arguments than weights, and metadata routing is off.
    TypeError
        If there are weights, which the learner does not take.
    """
    params, groups = dict(given.params), given.groups
    if given.sample_weight is not None:
        params["sample_weight"] = given.sample_weight
    if get_config()["enable_metadata_routing"]:
        if groups is not None and get_routing_for_object(learner).consumes("fit", ["groups"]):
            # The groups are for this estimator; a learner that asks for them, such as a search, gets them too.
            params["groups"] = groups
        return dict(process_routing(estimator, "fit", **params).estimator.fit)
    if given.params:
        raise ValueError(
            f"{', '.join(given.params)} can be passed to fit only by metadata routing: call "
            "sklearn.set_config(enable_metadata_routing=True) and set_fit_request on the estimator."
        )
    if given.sample_weight is not None and not has_fit_parameter(learner, "sample_weight"):
        raise TypeError(f"The learner {type(learner).__name__} takes no sample_weight in its fit.")
    return params


def split_fit_params(params: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Array], dict[str, Any]]:
    """Split the arguments of `fit` into those with one entry for each row and all others.

    Returns
    -------
    row_params : dict of array
        Arguments with one entry for each row.
    fit_params : dict
        All other arguments, unchanged.

    Raises
    ------
    ValueError
        If `sample_weight` does not hold one finite number for each row, or sums to zero or less.
    TypeError
        If another argument with one entry for each row holds Python objects.

    Examples
    --------
    >>> split_fit_params({"region": ["a", "b"], "verbose": True}, 2)
    ({'region': array(['a', 'b'], dtype='<U1')}, {'verbose': True})
    """
    row_params: dict[str, Array] = {}
    fit_params: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, RemoteColumn):
            continue
        if name == "sample_weight":
            row_params[name] = _validate_weights(value, n_rows)
        elif isinstance(value, list | tuple | np.ndarray) and len(value) == n_rows:
            row_params[name] = _validate_row_param(name, value)
        else:
            fit_params[name] = value
    return row_params, fit_params


def _validate_row_param(name: str, value: Any) -> Array:
    column = np.asarray(value)
    if column.dtype.hasobject:
        raise TypeError(
            f"{name} holds Python objects; an argument with one entry for each row must hold numbers, or text only. "
            f"Convert it to an array of one type."
        )
    return column


def _validate_weights(sample_weight: Any, n_rows: int) -> Array:
    is_number = isinstance(sample_weight, Real)
    weights = np.full(n_rows, float(sample_weight)) if is_number else column_or_1d(sample_weight)
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight has {len(weights)} entries for {n_rows} rows; it must have one entry for each row."
        )
    weights = weights.astype(np.float64, copy=False)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        raise ValueError(
            f"sample_weight sums to {weights.sum()}; weights must be finite numbers with a sum greater than zero."
        )
    return weights
