"""The way from what a user passes as X to the blocks of a data set, and reading all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fitwithin._core.exceptions import UserInputError, require_columns
from fitwithin._core.install_command import require_libraries
from fitwithin._core.target import Array
from fitwithin._pools.sources.blocks import Blocks, Check, LabeledBlocks
from fitwithin._pools.tables import is_dataset, is_lazy_frame, is_path, is_path_list

if TYPE_CHECKING:
    import pyarrow as pa

_JOINED_VALUES = 1 << 20
"""Values from which on small blocks are predicted together: a call of `predict` takes 1 ms, whatever its rows."""


def open_blocks(
    X: Any,
    names: Sequence[str] | None = None,
    *,
    roles: Sequence[str] = (),
    spool: Any = None,
    check: Check = lambda: None,
    split_large: bool = False,
) -> Blocks:
    """Return the rows of a data set in blocks.

    Parameters
    ----------
    X : str, path-like, list of them, pyarrow.dataset.Dataset or polars.LazyFrame
        See `find_input_kind`.
    names : sequence of str or None
        The columns to read, in this order; by default all but the index of pandas.
    roles : sequence of str
        Columns that must be there, and are kept even if pandas wrote them as its index.
    spool : str or path-like, optional
        Folder for the result of a query.
    check : callable, optional
        Called while files are opened; raises if the time is over.
    split_large : bool, default=False
        Whether the first rows of something large are a block of their own.

    Raises
    ------
    UserInputError
        If there are no such files or columns, or a file can't be read.
    ImportError
        If a library is missing.
    """
    # Checked first: `isinstance` reads the attribute `schema`, and polars warns if a lazy frame has to resolve it.
    is_lazy = is_lazy_frame(X)
    if not is_lazy and isinstance(X, Blocks):
        return X
    require_libraries("A data set outside memory", "pyarrow")
    if is_lazy:
        from fitwithin._pools.sources.lazy_frame_blocks import LazyFrameBlocks

        require_columns((*(names or ()), *roles), X.collect_schema().names(), "The lazy frame")
        return LazyFrameBlocks(X, names=names, folder=spool, check=check)
    require_libraries("A data set outside memory", "pandas")
    from fitwithin._pools.sources.dataset_blocks import DatasetBlocks

    options: dict[str, Any] = {"names": names, "roles": roles, "check": check, "split_large": split_large}
    if is_dataset(X):
        return DatasetBlocks(X, **options)
    from fitwithin._pools.sources.paths import open_paths

    return open_paths(X, label=_describe(X), **options)


def open_source(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    spool: Any = None,
    check: Check = lambda: None,
) -> LabeledBlocks:
    """Return a data set outside memory as a fit takes it.

    Parameters
    ----------
    X : object
        The first argument of `fit`; see `find_input_kind`.
    y : str
        Name of the target column.
    sample_weight : str, optional
        Name of the column of sample weights.
    groups : str, optional
        Name of the column of groups.
    X_val, y_val : data set or frame, and str or array-like, optional
        A validation set, whose blocks come after those of X.
    spool : str or path-like, optional
        Folder for the result of a query.
    check : callable, optional
        Called while files are opened; raises if the time is over.

    Raises
    ------
    UserInputError
        If y, `sample_weight` or `groups` is not the name of a column, or the data set can't be read.
    ImportError
        If a library is missing.
    """
    given = {"target": y, "weights": sample_weight, "groups": groups}
    named = {role: name for role, name in given.items() if name is not None or role == "target"}
    for role, name in named.items():
        if not isinstance(name, str):
            raise UserInputError(
                f"X is a data set outside memory, so the {role} must be the name of one of its columns; "
                f"got {type(name).__name__}.",
                "Pass a name, such as 'label'.",
            )
    if len(set(named.values())) < len(named):
        roles = [f"the {role}" for role, name in named.items() if list(named.values()).count(name) > 1]
        raise UserInputError(f"One column is {' and '.join(roles)}.", "Name other columns.")
    blocks = open_blocks(X, roles=list(named.values()), spool=spool, check=check, split_large=True)
    if len(blocks.schema.names) == len(named):
        raise UserInputError(f"{_describe(X)} has no column besides {y!r} to learn from.", "Is it the right one?")
    n_blocks = blocks.n_blocks
    if X_val is not None:
        from fitwithin._pools.sources.joined_blocks import JoinedBlocks, open_validation_blocks

        features = [name for name in blocks.schema.names if name not in named.values()]
        second = open_validation_blocks(X_val, y_val, y, features)
        if not second.n_blocks:
            raise UserInputError(
                "X_val has 0 rows; at least 2 are needed, to choose a model and to score it.", "Add rows."
            )
        blocks = JoinedBlocks(blocks, second, sample_weight)
    return LabeledBlocks(blocks, y, sample_weight, groups, blocks.n_blocks - n_blocks)


def _describe(X: Any) -> str:
    if is_path(X):
        return str(os.fspath(X))
    if is_path_list(X):
        return f"{os.fspath(X[0])}{' (and others)' if len(X) > 1 else ''}"
    return "The lazy frame" if is_lazy_frame(X) else "The data set"


def predict_blocks(predict: Any, X: Any, names: Sequence[str] | None) -> Array:
    """Predict all rows of a data set, block by block, and return the predictions of all of them.

    Parameters
    ----------
    predict : callable
        From a frame to an array with one entry for each of its rows.
    X : data set
        See `find_input_kind`.
    names : sequence of str or None
        The features, in the order of the model; None for all columns of the data set.

    Raises
    ------
    UserInputError
        If a column is missing, or there are no rows.
    """
    blocks = open_blocks(X, names)
    return _map_tables(lambda table: predict(blocks.to_frame(table)), blocks, names or blocks.schema.names)


def read_score_arguments(X: Any, y: Any, sample_weight: Any, features: Sequence[str] | None) -> tuple[Any, Any, Any]:
    """Return a data set, whose features stay on disk, its target and weights; each may be the name of a column.

    Raises
    ------
    UserInputError
        If there is no such column.
    """
    from fitwithin._pools.sources.column_types import decode_dictionary

    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    # Opened once for the target and the predictions.
    X = open_blocks(X, None if features is None else [*dict.fromkeys([*named, *features])], roles=named)
    target, weights = (
        # Labels as a fit on the same data set has them.
        _map_tables(lambda table: decode_dictionary(table[0]).to_numpy(), X, [value])
        if isinstance(value, str)
        else value
        for value in (y, sample_weight)
    )
    return X, target, weights


def _map_tables(function: Callable[[pa.Table], Any], blocks: Blocks, names: Sequence[str]) -> Array:
    """Return what a function makes of these columns of all rows: block by block, small blocks joined."""
    import pyarrow as pa

    parts: list[pa.Table] = []
    results: list[Array] = []
    n_rows = 0
    for number in range(blocks.n_blocks):
        parts.append(blocks.read(number, names))
        n_rows += parts[-1].num_rows
        if n_rows * len(names) >= _JOINED_VALUES or (n_rows and number == blocks.n_blocks - 1):
            results.append(np.asarray(function(pa.concat_tables(parts))))
            parts, n_rows = [], 0
    if not results:
        raise UserInputError("The data set has no rows.", "Is its filter right?")
    return np.concatenate(results)
