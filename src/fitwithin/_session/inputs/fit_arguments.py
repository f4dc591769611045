"""The arguments of a fit, before they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fitwithin._pools.sources import is_data_set, split_frame, split_validation_frame
from fitwithin._session.held_out_rows import ValidationArguments
from fitwithin.backends import Runner
from fitwithin.backends._dask.estimator_inputs import is_dask_collection, read_cluster_rows


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
    validation : ValidationArguments
        How validation and holdout rows are chosen.
    """

    X: Any
    y: Any
    sample_weight: Any
    params: Mapping[str, Any]
    validation: ValidationArguments

    def split_frames(self) -> FitArguments:
        """Return them with values in the place of names of columns; data sets and Dask collections keep the names.

        Raises
        ------
        UserInputError
            If there is no such column, or a table has no names.
        """
        X, y, sample_weight, validation = self.X, self.y, self.sample_weight, self.validation
        if validation.X_val is not None:
            X_val, y_val = split_validation_frame(validation.X_val, validation.y_val, sample_weight)
            validation = replace(validation, X_val=X_val, y_val=y_val)
        if not is_data_set(X) and not is_dask_collection(X):
            X, y, sample_weight = split_frame(X, y, sample_weight)
        return replace(self, X=X, y=y, sample_weight=sample_weight, validation=validation)

    def read_on_cluster(self, runner: Runner, *, regression: bool) -> FitArguments:
        """Return them with tables that stand for rows on a cluster, if the runner's workers hold or read the rows."""
        X, y, sample_weight = read_cluster_rows(
            runner, self.validation, self.X, self.y, self.sample_weight, regression=regression
        )
        return replace(self, X=X, y=y, sample_weight=sample_weight)
