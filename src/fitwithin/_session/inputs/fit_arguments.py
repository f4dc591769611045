"""The arguments of a fit: which go to the estimator itself, which to its learner, and which belong to the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from fitwithin._core.exceptions import join_names
from fitwithin._core.target import Array
from fitwithin._pools.input_kind import find_input_kind
from fitwithin._pools.tables import read_texts, split_validation_frame, take_named_columns

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
    groups : array-like, str or None
        The group of each row of X, or the name of its column.
    X_val, y_val : table or data set, and array-like or str, or None
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

    def split_frames(self) -> FitArguments:
        """Return them with texts as an array, and values in place of columns' names, which data sets on disk keep.

        Raises
        ------
        UserInputError
            If there is no such column, or a table has no names.
        """
        texts = None if isinstance(self.y, str) else read_texts(self.X)
        if texts is None and find_input_kind(self.X) != "table":
            return self
        X_val, y_val = self.X_val, self.y_val
        if texts is not None:
            return replace(self, X=texts, X_val=X_val if X_val is None or (more := read_texts(X_val)) is None else more)
        if X_val is not None:
            X_val, y_val = split_validation_frame(X_val, y_val, self.sample_weight)
        named = {"target": self.y, "weights": self.sample_weight, "group": self.groups}
        X, columns = take_named_columns(self.X, named)
        y, sample_weight, groups = columns.values()
        return replace(self, X=X, y=y, sample_weight=sample_weight, groups=groups, X_val=X_val, y_val=y_val)


def route_fit_params(estimator: Any, learners: Sequence[Any], given: FitArguments) -> dict[str, Any]:
    """Return the arguments of the learners' `fit`.

    Parameters
    ----------
    estimator : TimeConstrainedEstimator
        Says where arguments go, if metadata routing is on.
    learners : sequence of estimator
        Its learners; those of a search all get the same arguments.
    given : FitArguments
        What the user passed.

    Raises
    ------
    ValueError
        If there are other arguments than weights, and metadata routing is off.
    TypeError
        If there are weights, or arguments for the first learner, which a learner does not take.
    """
    params, groups = dict(given.params), given.groups
    if given.sample_weight is not None:
        params["sample_weight"] = given.sample_weight
    if get_config()["enable_metadata_routing"]:
        if groups is not None and get_routing_for_object(learners[0]).consumes("fit", ["groups"]):
            # The groups are for this estimator; a learner that asks for them, such as a search, gets them too.
            params["groups"] = groups
        routed = dict(process_routing(estimator, "fit", **params).estimator.fit)
        for learner in learners:
            _refuse_params(
                learners, learner, set(routed) - get_routing_for_object(learner).consumes("fit", routed), "requests"
            )
        return routed
    if given.params:
        raise ValueError(
            f"{', '.join(given.params)} can be passed to fit only by metadata routing: call "
            "sklearn.set_config(enable_metadata_routing=True) and set_fit_request on the estimator."
        )
    for learner in learners:
        _refuse_params(learners, learner, {name for name in params if not has_fit_parameter(learner, name)}, "takes")
    return params


def _refuse_params(learners: Sequence[Any], learner: Any, refused: Collection[str], verb: str) -> None:
    if refused:
        names = join_names(sorted(refused))
        raise TypeError(
            f"The learner {type(learner).__name__} {verb} no {names} in its fit."
            + (f" Leave it out of the list, or leave out {names}." if len(learners) > 1 else "")
        )


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
