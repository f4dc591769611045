"""The way from what a user passes as X to the blocks of a data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from fitwithin._core.exceptions import UserInputError, no_such_column
from fitwithin._pools.input_kind import is_dataset, is_lazy_frame, is_path, is_path_list
from fitwithin._pools.sources.blocks import Blocks, Check, LabeledBlocks
from fitwithin._pools.sources.read_errors import require_library


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
    require_library("pyarrow", "A data set outside memory")
    if is_lazy:
        from fitwithin._pools.sources.lazy_frame_blocks import LazyFrameBlocks

        known = X.collect_schema().names()
        unknown = next((name for name in (*(names or ()), *roles) if name not in known), None)
        if unknown is not None:
            raise no_such_column(unknown, known, "The lazy frame")
        return LazyFrameBlocks(X, names=names, folder=spool, check=check)
    require_library("pandas", "A data set outside memory")
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
        blocks = JoinedBlocks(blocks, open_validation_blocks(X_val, y_val, y, features), sample_weight)
    return LabeledBlocks(blocks, y, sample_weight, groups, blocks.n_blocks - n_blocks)


def _describe(X: Any) -> str:
    if is_path(X):
        return str(os.fspath(X))
    if is_path_list(X):
        return f"{os.fspath(X[0])}{' (and others)' if len(X) > 1 else ''}"
    return "The lazy frame" if is_lazy_frame(X) else "The data set"
