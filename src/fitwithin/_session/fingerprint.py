"""Fingerprints: whether a stored fit had the same rows and the same learner, and if not, what differs.

And what a checkpoint tells a reader who does not have the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from fitwithin._core.target import Array, Labels
from fitwithin._pools.pool import Pool
from fitwithin._pools.tables import is_frame, list_column_types
from fitwithin._session.value_text import NOT_COMPARABLE, NOT_COMPARED, describe_value, hash_columns, name_type, shorten

_SAMPLED_ROWS = 256
"""Rows of X whose values are compared, evenly spaced: on a disk that must seek, each may take 10 ms."""

_HASHED_BYTES = 1 << 26
"""Bytes of y and of each other column that are compared; larger ones are sampled."""

Fingerprint = Mapping[str, str]
"""What is compared, by a name for users."""


def describe_rows(pool: Pool, suffix: str = "") -> Fingerprint:
    """Return what must be equal of the rows: shape, types, a sample of X, and y; `suffix` ends the names of X and y.

    A data set on disk names its files instead of a sample.
    """
    described = _describe_data_set(pool) or _describe_table(pool)
    return {f"{name}{suffix}": shorten(text) for name, text in described.items()}


def _describe_data_set(pool: Pool) -> dict[str, str]:
    """Return the rows, columns and files of a data set on disk, whose rows are not read yet; nothing for a table."""
    described = dict(pool.describe())
    if described and isinstance(pool.y, Labels):
        described["classes of y"] = hash_columns(pool.y.classes, pool.y.counts)
    return described


def _describe_table(pool: Pool) -> dict[str, str]:
    X, y, n_rows = pool.X, pool.y, len(pool)
    sample = pool.read(np.unique(np.linspace(0, n_rows - 1, _SAMPLED_ROWS).astype(np.intp)))
    described = {
        "rows of X": str(n_rows),
        "columns of X": str(X.shape[1] if len(X.shape) > 1 else 1),
        "type of X": _describe_type(X),
        "values of X": _hash_features(sample.X),
        "type of y": str(sample.y.dtype),
        "values of y": hash_columns(_thin_out(y.column), *([y.classes] if isinstance(y, Labels) else [])),
    }
    if is_frame(X):
        described["column names of X"] = ", ".join(name for name, _ in list_column_types(X))
    return described | {name: hash_columns(_thin_out(column)) for name, column in sorted(pool.row_params.items())}


def describe_learner(learner: Any, name: str = "learner") -> Fingerprint:
    """Return the class and the parameters of an unfitted learner; of one without parameters its state."""
    has_parameters = hasattr(learner, "get_params")
    parameters = learner.get_params(deep=True) if has_parameters else {"state": learner}
    estimators = [learner, *(value for value in parameters.values() if hasattr(value, "get_params"))]
    described = {name: describe_value(learner if has_parameters else type(learner), estimators)}
    prefix = "" if name == "learner" else f"{name}, "
    for parameter, value in sorted(parameters.items()):
        if parameter.split("__")[-1] not in NOT_COMPARED:
            described[f"{prefix}its {parameter}"] = describe_value(value, estimators)
    return described


def find_differences(stored: Fingerprint, given: Fingerprint) -> list[str]:
    """Return one phrase for each entry that differs.

    Examples
    --------
    >>> find_differences({"rows of X": "10", "y": "a"}, {"rows of X": "12", "y": "a"})
    ['rows of X: 10 then, 12 now']
    """
    differences = []
    for name in {**stored, **given}:
        owner, is_parameter, _ = name.rpartition("its ")
        owner = owner.removesuffix(", ") or "learner"
        then, now = stored.get(name, "none"), given.get(name, "none")
        # The parameters of another learner say nothing.
        if then == now or (is_parameter and stored.get(owner) != given.get(owner)):
            continue
        then, now = _hide_hash(then), _hide_hash(now)
        differences.append(f"{name}: others now" if then == now else f"{name}: {then} then, {now} now")
    return differences


def _hide_hash(text: str) -> str:
    return text.partition(" hash ")[0] if " hash " in text else "some" if text.startswith("hash ") else text


def list_not_comparable(fingerprint: Fingerprint) -> list[str]:
    """Return the names of the entries that cannot be compared: whether they changed is unknown."""
    return [name for name, text in fingerprint.items() if NOT_COMPARABLE in text]


def learner_types(learner: Any) -> list[str]:
    """Return the full names of the types and functions in the parameters of a learner, and its own."""
    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    return list(dict.fromkeys(map(name_type, [learner, *parameters.values()])))


def _describe_type(X: Any) -> str:
    if sparse.issparse(X):
        return f"sparse {X.dtype}"
    if is_frame(X):
        types = ", ".join(type_ for _, type_ in list_column_types(X))
        return f"{type(X).__module__.partition('.')[0]} frame of {types}"
    return str(X.dtype)


def _thin_out(column: Array) -> Array:
    """Return every row of a column, or of a large one every n-th."""
    return column[:: -(-column.nbytes // _HASHED_BYTES) or 1]


def _hash_features(X: Any) -> str:
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        return hash_columns(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
    if is_frame(X):
        columns = [X.to_series(i) if hasattr(X, "to_series") else X.iloc[:, i] for i in range(X.shape[1])]
        # Learners see the numbers of categories.
        categories = [np.asarray(getattr(column.dtype, "categories", ())) for column in columns]
        # Times of pandas have a number each, quicker to compare than an object.
        values = [np.asarray(getattr(getattr(column, "array", None), "asi8", column)) for column in columns]
        return hash_columns(*values, *categories)
    return hash_columns(X)


def describe_training(
    estimator: Any,
    learners: Fingerprint,
    training: Pool,
    fit_params: Mapping[str, Any],
    groups: Array | None,
    table: Pool | None,
) -> Fingerprint:
    """Return what must be equal in a resumed fit: rows, learners and metric.

    The learners are the user's, before their random states are set; the `table` has the rows of X_val and y_val.
    """
    held_out = {} if estimator.validation == "random" else {"validation": estimator.validation}
    if groups is not None:
        held_out["groups"] = hash_columns(groups)
    return {
        "task": name_task(estimator),
        **describe_rows(training),
        **learners,
        "scoring": describe_scoring(estimator.scoring),
        **{f"{name} of fit": describe_value(value) for name, value in sorted(fit_params.items())},
        **held_out,
        **({} if table is None else describe_rows(table, suffix="_val")),
    }


def describe_fit(estimator: Any, learner: Any, pool: Pool, time_limit: float) -> dict[str, Any]:
    """Return what a reader of the checkpoint needs in place of the data, by the names of a `ModelCard`."""
    target, teacher = pool.y, estimator.teacher
    return {
        "task": name_task(estimator),
        "classes": [_to_json_label(label) for label in target.classes.tolist()] if isinstance(target, Labels) else [],
        "features": getattr(estimator, "n_features_in_", 1),
        "columns": list_column_types(pool.training_table),
        "learner": estimator.estimator if isinstance(estimator.estimator, str) else type(learner).__name__,
        "teacher": teacher if isinstance(teacher, str) else type(teacher).__name__,
        "scoring": describe_scoring(estimator.scoring or ("r2" if estimator._regression else "accuracy")),
        "time_limit": time_limit,
        "target_type": str(target.decode(target.column[:0]).dtype),
    }


def name_task(estimator: Any) -> str:
    """Return whether an estimator is for regression or classification."""
    return "regression" if estimator._regression else "classification"


def describe_scoring(scoring: Any) -> str:
    """Return the name of a metric, or its text if it has none."""
    if scoring is None:
        return "the default"
    return scoring if isinstance(scoring, str) else describe_value(scoring)


def _to_json_label(label: Any) -> str | bool | int | float:
    return label if isinstance(label, str | bool | int | float) else str(label)
