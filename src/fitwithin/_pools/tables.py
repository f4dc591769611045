"""What X may be; tables row by row: arrays, sparse matrices, and frames of pandas, polars and arrow."""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy import sparse

from fitwithin._core.exceptions import UserInputError, require_columns
from fitwithin._core.records import Rows
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks


def find_input_kind(X: Any) -> Literal["table", "data set", "collection"]:
    """Return whether X is a table in memory, a data set on disk, or a Dask collection, whose rows are on a cluster.

    Whatever is no data set and no collection counts as a table.
    """
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return "table"
    if is_path(X) or is_path_list(X) or is_lazy_frame(X) or is_dataset(X) or isinstance(X, Blocks):
        return "data set"
    dask = sys.modules.get("dask.base")
    return "collection" if dask is not None and dask.is_dask_collection(X) else "table"


def is_path(X: Any) -> bool:
    """Return whether X is a path."""
    return isinstance(X, str | os.PathLike)


def is_path_list(X: Any) -> bool:
    """Return whether X is a list of paths."""
    return isinstance(X, list | tuple) and bool(X) and all(map(is_path, X))


def is_lazy_frame(X: Any) -> bool:
    """Return whether X is a lazy frame of polars."""
    return _is_of_class(X, "polars", "LazyFrame")


def is_dataset(X: Any) -> bool:
    """Return whether X is a data set of pyarrow."""
    return _is_of_class(X, "pyarrow.dataset", "Dataset")


def _is_of_class(X: Any, module: str, name: str) -> bool:
    """Return whether X is of this class, without importing its module."""
    return module in sys.modules and isinstance(X, getattr(sys.modules[module], name))


def is_frame(X: Any) -> bool:
    """Return whether X is a frame of pandas, polars or arrow."""
    return _library_of(X) in ("pandas", "polars", "pyarrow")


def read_texts(X: Any) -> Array | None:
    """Return a list, a Series or an array of texts as an array of objects; None for anything else.

    Raise a `UserInputError` if some of the texts are missing.
    """
    if not isinstance(X, list | tuple):
        shape = getattr(X, "shape", ())
        if len(shape) != 1 or np.asarray(X[:1]).dtype.kind not in "OUT":
            return None
    texts = np.empty(len(X), dtype=object)
    texts[:] = list(X)
    n_texts = sum(isinstance(text, str) for text in texts)
    if n_texts == len(texts):
        return texts if n_texts else None
    if n_texts and all(isinstance(text, str) or text is None or text != text for text in texts):
        raise UserInputError(
            f"X holds texts, and {len(texts) - n_texts:,} of {len(texts):,} are missing.",
            "Drop these rows, or put an empty text there.",
        )
    return None


def is_text_array(X: Any) -> bool:
    """Return whether X is what `read_texts` returns."""
    return isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.hasobject


def list_column_types(X: Any) -> list[tuple[str, str]]:
    """Return the name and the type of each column of a frame; empty for anything else."""
    match _library_of(X):
        case "pandas":
            return [(str(name), str(dtype)) for name, dtype in X.dtypes.items()]
        case "polars":
            return [(name, str(dtype)) for name, dtype in X.schema.items()]
        case "pyarrow":
            return [(column.name, str(column.type)) for column in X.schema]
        case _:
            return []


def is_contiguous(rows: Rows) -> bool:
    """Return whether each row number is one more than the number before it; False for no rows."""
    # The ends alone rule out most selections, without a pass over all numbers.
    return bool(len(rows)) and bool(rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all())


def take_rows(X: Any, rows: Rows) -> Any:
    """Return these rows of X in a form that learners accept: arrow tables become pandas frames."""
    match _library_of(X):
        case "pandas":
            # pandas does not copy a slice.
            return X.iloc[slice(int(rows[0]), int(rows[-1]) + 1) if is_contiguous(rows) else rows]
        case "pyarrow":
            return X.take(rows).to_pandas()
        case _:
            return X[rows]


def copy_if_view(X: Any) -> Any:
    """Return X, copied if writing to it could change the table that it was taken from.

    Before pandas 3 a slice of a frame writes through to that frame.
    """
    is_view = _library_of(X) == "pandas" and int(sys.modules["pandas"].__version__.split(".")[0]) < 3
    return X.copy() if is_view else X


def convert_arrow(X: Any) -> Any:
    """Return an arrow table as a pandas frame, and anything else unchanged."""
    return X.to_pandas() if _library_of(X) == "pyarrow" else X


def concatenate(parts: Sequence[Any]) -> Any:
    """Join the rows of several tables of one type."""
    if len(parts) == 1:
        return parts[0]
    match _library_of(parts[0]):
        case "pandas":
            return sys.modules["pandas"].concat(parts)
        case "polars":
            return sys.modules["polars"].concat(parts)
        case "sparse":
            return type(parts[0])(sparse.vstack(parts, format="csr"))
        case _:
            return np.concatenate(parts)


def describe_table(X: Any) -> str:
    """Return the type of a table in words, to compare the types of two of them."""
    library = _library_of(X)
    names = {"array": "an array of texts" if is_text_array(X) else "a NumPy array", "sparse": "a sparse matrix"}
    return names.get(library, f"a {library} {type(X).__name__}")


def _library_of(X: Any) -> str:
    if sparse.issparse(X):
        return "sparse"
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if _is_of_class(X, library, name):
            return library
    return "array"


def take_named_columns(X: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a frame without the columns that are `given` by name, and the values by role; refuse unknown names."""
    named = {role: name for role, name in given.items() if isinstance(name, str)}
    if not named:
        return X, dict(given)
    if not is_frame(X):
        role, name = next(iter(named.items()))
        raise UserInputError(
            f"The {role} is {name!r}, the name of a column, but X is a {type(X).__name__}, which has no names.",
            "Pass the values, or a frame or a data set as X.",
        )
    require_columns(named.values(), (name for name, _ in list_column_types(X)), "X")
    library, names = _library_of(X), list(named.values())
    columns = dict(given) | {role: X[name] for role, name in named.items()}
    if library == "pyarrow":
        columns |= {role: columns[role].to_pandas().to_numpy() for role in named}
    return X.drop(names) if library == "polars" else X.drop(columns=names), columns


def split_validation_frame(X_val: Any, y_val: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return features and target of validation rows, where `y_val` may be the name of a column.

    If `sample_weight` names a column of the training rows, that column is no feature here either.
    """
    has_weights = isinstance(sample_weight, str) and sample_weight in dict(list_column_types(X_val))
    X_val, columns = take_named_columns(X_val, {"target": y_val, "weights": sample_weight if has_weights else None})
    return X_val, columns["target"]


def split_scored_frame(X: Any, y: Any, sample_weight: Any, feature_names: Sequence[str] | None) -> tuple[Any, Any, Any]:
    """Return features, target and weights; if y is a name, without columns that are no features of the model."""
    features, columns = take_named_columns(X, {"target": y, "weights": sample_weight})
    names = feature_names if isinstance(y, str) else None
    if names is not None and set(names) <= dict(list_column_types(features)).keys():
        features = features.select(list(names)) if _library_of(X) == "pyarrow" else features[list(names)]
    return features, columns["target"], columns["weights"]


def list_columns(X: Any) -> Iterable[list[Hashable]]:
    """Return the values of each column of an array or a frame."""
    if not is_frame(X):
        return (column.tolist() for column in X.T)
    if hasattr(X, "get_columns"):
        return (column.to_list() for column in X.get_columns())
    return (column.tolist() for _, column in X.items())
