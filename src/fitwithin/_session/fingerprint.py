"""Fingerprints: whether a stored fit had the same rows and the same learner, and if not, what differs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from fitwithin._core.target import Array
from fitwithin._pools.pool import LabeledRows, Pool
from fitwithin._pools.tables import is_frame, list_column_types

_SAMPLED_ROWS = 256
"""Rows of X whose values are compared, evenly spaced: on a disk that must seek, each may take 10 ms."""

_HASHED_BYTES = 1 << 26
"""Bytes of y and of each other column that are compared; larger ones are sampled."""

_SHOWN_CHARACTERS = 80
"""Characters of a value that are kept as they are."""

_NOT_COMPARED = ("n_jobs", "verbose")
"""Parameters of a learner that may differ: its model is the same."""

Fingerprint = Mapping[str, str]
"""What is compared, by a name for users."""


def describe_rows(pool: Pool, suffix: str = "") -> Fingerprint:
    """Return the shape, the types and a hash of a sample of the rows; `suffix` ends the names of X and y.

    Examples
    --------
    >>> from fitwithin._core.target import Labels
    >>> from fitwithin._pools.table_pool import TablePool
    >>> describe_rows(TablePool(np.zeros((4, 2)), Labels.encode([0, 1, 0, 1])))["rows of X"]
    '4'
    """
    X, n_rows = pool.X, len(pool)
    sample = pool.read(np.unique(np.linspace(0, n_rows - 1, _SAMPLED_ROWS).astype(np.intp)))
    described = {
        f"rows of X{suffix}": str(n_rows),
        f"columns of X{suffix}": str(X.shape[1] if len(X.shape) > 1 else 1),
        f"type of X{suffix}": _describe_type(X),
        f"values of X{suffix}": _hash_features(sample),
        f"type of y{suffix}": str(sample.y.dtype),
        f"values of y{suffix}": hash_columns(pool.y.decode(_thin_out(pool.y.column))),
    }
    if is_frame(X):
        described[f"column names of X{suffix}"] = _shorten(", ".join(name for name, _ in list_column_types(X)))
    for name, column in sorted(pool.row_params.items()):
        described[name] = hash_columns(_thin_out(column))
    return described


def describe_data_set(pool: Pool) -> Fingerprint:
    """Return the rows, columns and files of a data set on disk, long lists as a hash; nothing for a table."""
    return {name: _shorten(value) for name, value in pool.describe().items()}


def describe_learner(learner: Any) -> Fingerprint:
    """Return the class and the parameters of an unfitted learner.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> described = describe_learner(DecisionTreeClassifier(max_depth=3))
    >>> described["learner"], described["its max_depth"]
    ('sklearn.tree._classes.DecisionTreeClassifier', '3')
    """
    described = {"learner": _name_type(learner)}
    for name, value in sorted(_list_parameters(learner).items()):
        if name.split("__")[-1] not in _NOT_COMPARED:
            described[f"its {name}"] = _shorten(describe_value(value))
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
        if name.startswith("its ") and stored.get("learner") != given.get("learner"):
            # The parameters of another learner say nothing.
            continue
        then, now = stored.get(name, "none"), given.get(name, "none")
        if then != now:
            is_hash = any(value.startswith("hash ") for value in (then, now)) and "none" not in (then, now)
            differences.append(f"{name}: others now" if is_hash else f"{name}: {then} then, {now} now")
    return differences


def learner_types(learner: Any) -> list[str]:
    """Return the full names of the types and functions in the parameters of a learner, and its own.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> learner_types(FunctionTransformer(np.log1p))[0]
    'sklearn.preprocessing._function_transformer.FunctionTransformer'
    """
    return list(dict.fromkeys(map(_name_type, [learner, *_list_parameters(learner).values()])))


def _list_parameters(learner: Any) -> dict[str, Any]:
    return learner.get_params(deep=True) if hasattr(learner, "get_params") else {}


def _name_type(value: Any) -> str:
    """Return module and name of a type or function, or of the type of any other value."""
    named = value if callable(value) and hasattr(value, "__name__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__name__}"


def describe_value(value: Any) -> str:
    """Return a text that is the same for the same value in every process."""
    if value is None or isinstance(value, str | bool | int | float | complex | bytes | np.generic):
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {hash_columns(value.ravel())}"
    if isinstance(value, list | tuple | set | frozenset):
        entries = [describe_value(entry) for entry in value]
        if isinstance(value, set | frozenset):
            entries.sort()
        return f"{type(value).__name__}({', '.join(entries)})"
    if isinstance(value, dict):
        return f"dict of {describe_value(list(value.items()))}"
    # The parameters of an estimator are listed on their own; other objects may show their address.
    return _name_type(value)


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"hash {hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def _describe_type(X: Any) -> str:
    if sparse.issparse(X):
        return f"sparse {X.dtype}"
    if is_frame(X):
        types = ", ".join(type_ for _, type_ in list_column_types(X))
        return _shorten(f"{type(X).__module__.partition('.')[0]} frame of {types}")
    return str(X.dtype)


def _thin_out(column: Array) -> Array:
    """Return every row of a column, or of a large one every n-th."""
    return column[:: -(-column.nbytes // _HASHED_BYTES) or 1]


def _hash_features(sample: LabeledRows) -> str:
    X = sample.X
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        return hash_columns(X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
    if is_frame(X):
        columns: Callable[[Any], Any] = X.to_series if hasattr(X, "to_series") else lambda i: X.iloc[:, i]
        return hash_columns(*(np.asarray(columns(i)) for i in range(X.shape[1])))
    return hash_columns(X)


def hash_columns(*columns: Array) -> str:
    """Return a hash of the values of columns."""
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        if column.dtype.hasobject:
            digest.update("\n".join(map(describe_value, column.ravel().tolist())).encode("utf-8", "surrogatepass"))
        else:
            digest.update(np.ascontiguousarray(column).view(np.uint8).data if column.size else b"")
    return f"hash {digest.hexdigest()}"
