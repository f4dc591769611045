"""A pass over the target of a data set on disk: rows, classes and weights, before any features are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.records import Rows
from fitwithin._core.target import Array, Labels, Target, Values, count_codes, refuse_label_objects, refuse_single_class
from fitwithin._pools.sources.blocks import LabeledBlocks

if TYPE_CHECKING:
    import pyarrow as pa

_CHECK_SECONDS = 0.05
"""Seconds between two looks at the time, while a block is read."""

_N_THREADS = 4
"""Blocks whose target is read at the same time."""

_MAX_CLASSES = 1 << 16
"""Classes at most: more are probably values, and would need more than two bytes a row."""

_MAX_KEPT_CLASSES = 32
"""Classes up to which their rows are counted block by block: every deal looks at each of these numbers."""


@dataclass(frozen=True, eq=False)
class TargetPass:
    """What the pass found: the rows of each block, and the labels, or the type of the values, without any rows.

    `groups` are numbers for the group of each row, in the order of the data set. `n_weighted` counts the rows of each
    class in each block whose weight is not 0; None without weights. `parts` is 0 for a training row, 1 for a validation
    row, 2 for a holdout row; None without held-out rows.
    """

    block_rows: npt.NDArray[np.int64]
    target: Target
    groups: Array | None = None
    n_weighted: npt.NDArray[np.int64] | None = None
    parts: Array | None = None

    @property
    def n_classes(self) -> int:
        """Classes whose rows are counted block by block; 1 for regression, and with more than 32 classes."""
        n_classes = len(self.target.classes) if isinstance(self.target, Labels) else 1
        return n_classes if n_classes <= _MAX_KEPT_CLASSES else 1

    def hold_out(self, validation: Rows, holdout: Rows) -> TargetPass:
        """Return the same with validation and holdout rows, given by their positions in the data set."""
        parts = np.zeros(self.block_rows.sum(), np.uint8)
        parts[validation], parts[holdout] = 1, 2
        return replace(self, parts=parts)

    def split(self, column: Array) -> list[Array]:
        """Return the entries of each block in a column of all rows."""
        return np.split(column, np.cumsum(self.block_rows)[:-1])

    def count_cells(self) -> npt.NDArray[np.int64]:
        """Return the rows of each class and part in each block, of shape (n_blocks, n_classes, 3)."""
        cells = np.zeros(self.block_rows.sum(), np.uint8) if self.parts is None else self.parts
        if self.n_classes > 1:
            cells = cells + 3 * self.target.column.astype(np.uint8)
        counts = [np.bincount(block, minlength=3 * self.n_classes) for block in self.split(cells)]
        return np.array(counts, np.int64).reshape(-1, self.n_classes, 3)


@dataclass(frozen=True, eq=False)
class BlockTarget:
    """The target of one block: its classes and the code of each row, which a regression has not; weights and groups.

    `n_weighted` counts the rows of each class whose weight is not 0; it is None without weights.
    """

    n_rows: int
    classes: Array
    codes: Array
    weight: float
    n_weighted: Array | None = None
    groups: pa.ChunkedArray | None = None


def read_target(source: LabeledBlocks, *, regression: bool, check: Callable[[], None] = lambda: None) -> TargetPass:
    """Read the target, the weights and the groups of every block.

    `check` is called between blocks, and may raise at the deadline. A `UserInputError` tells that there are no rows, or
    that something is missing; a ValueError that the labels are no classes, or there is only one.
    """
    threads = ThreadPoolExecutor(_N_THREADS, thread_name_prefix="fitwithin-labels")
    read_block, blocks = partial(read_block_target, source, regression=regression), []
    try:
        for future in [threads.submit(read_block, number) for number in range(source.n_blocks)]:
            while not wait([future], _CHECK_SECONDS).done:
                check()
            check()
            blocks.append(future.result())
    finally:
        # Nobody waits for a disk that does not answer.
        threads.shutdown(wait=False, cancel_futures=True)
    return merge_targets(blocks, source.weight, source.group, regression=regression)


def merge_targets(blocks: list[BlockTarget], weight: str | None, group: str | None, *, regression: bool) -> TargetPass:
    """Return what is known of the targets of all blocks; raise as `read_target` does."""
    block_rows = np.array([block.n_rows for block in blocks], dtype=np.int64)
    if not block_rows.sum():
        raise UserInputError("The data set has no rows.", "Look at its filters, or at its files.")
    if weight is not None and not sum(block.weight for block in blocks) > 0:
        raise UserInputError(
            f"The sample weights in the column {weight!r} sum to zero or less.",
            "Give at least one row a weight greater than zero.",
        )
    groups = None if group is None else number_groups((block.groups for block in blocks), group)
    if regression:
        dtype = np.result_type(*{block.classes.dtype for block in blocks})
        return TargetPass(block_rows, Values(np.zeros(0, dtype)), groups)
    classes = np.unique(np.concatenate([block.classes for block in blocks if len(block.classes)]))
    if classes.dtype.kind == "f":
        check_classification_targets(np.repeat(classes, 2))
    refuse_single_class(classes, block_rows.sum())
    codes = np.concatenate([recode_labels(block.classes, block.codes, classes) for block in blocks])
    n_weighted = None if weight is None else np.zeros((len(blocks), len(classes)), np.int64)
    for number, block in enumerate(blocks):
        if n_weighted is not None and block.n_weighted is not None:
            n_weighted[number, recode_labels(block.classes, np.arange(len(block.classes)), classes)] = block.n_weighted
    return TargetPass(block_rows, Labels(classes, codes, count_codes(codes, len(classes))), groups, n_weighted)


def number_groups(blocks: Iterable[pa.ChunkedArray], name: str) -> Array:
    """Return a number for the group of each row, from 0 on without gaps; raise a UserInputError if one is missing."""
    import pyarrow as pa

    from fitwithin._pools.sources.column_types import decode_dictionary

    column = decode_dictionary(pa.chunked_array([chunk for block in blocks for chunk in block.chunks]))
    _refuse_values(name, "missing", column.null_count)
    numbers: Array = column.dictionary_encode().combine_chunks().indices.to_numpy()
    return numbers


def read_block_target(source: LabeledBlocks, number: int, *, regression: bool) -> BlockTarget:
    """Read the target, the weights and the groups of one block."""
    table = source.blocks.read(number, [*filter(None, (source.target, source.weight, source.group))])
    try:
        found = summarize_target(table, source.target, source.weight, regression=regression)
        return found if source.group is None else replace(found, groups=table[source.group])
    except UserInputError as error:
        raise UserInputError(f"{source.blocks.name_block(number)}: {error.sentence}", error.hint) from None


def summarize_target(table: pa.Table, target: str, weight: str | None = None, *, regression: bool) -> BlockTarget:
    """Return what is known of the target and the weights of one block."""
    weights = None if weight is None else read_values(table, weight)
    weight_sum = 0.0 if weights is None else float(weights.sum(dtype=np.float64))
    column = table.column(target)
    _refuse_values(target, "missing", column.null_count)
    if regression:
        classes = codes = read_values(table, target)[:0]
    else:
        classes, codes = encode_labels(column, target)
    n_weighted = None if regression or weights is None else count_codes(codes[weights != 0], len(classes))
    return BlockTarget(table.num_rows, classes, codes, weight_sum, n_weighted)


def read_values(table: pa.Table, name: str) -> Array:
    """Return a column of numbers.

    Raises
    ------
    UserInputError
        If it holds anything else, or one is missing.
    """
    column = table.column(name)
    try:
        values = column.to_numpy()
        values = values if values.dtype.kind in "fiub" else values.astype(np.float64)
    except (TypeError, ValueError):
        raise UserInputError(
            f"The column {name!r} holds {column.type}, not numbers.", "Convert it, or choose another column."
        ) from None
    _check_finite(values, name)
    return np.asarray(values)


def encode_labels(column: pa.ChunkedArray, name: str) -> tuple[Array, Array]:
    """Return the distinct labels of a column, in any order, and the code of each row's label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> classes, codes = encode_labels(pa.chunked_array([["b", "a", "b"]]), "label")
    >>> classes[codes].tolist()
    ['b', 'a', 'b']
    """
    import pyarrow as pa

    from fitwithin._pools.sources.column_types import decode_dictionary

    if pa.types.is_nested(column.type):
        raise UserInputError(
            f"The column {name!r} holds {column.type}, not one label for each row.", "Choose another column."
        )
    # Categories that no row has are no classes.
    encoded = decode_dictionary(column).combine_chunks().dictionary_encode()
    classes, codes = encoded.dictionary.to_numpy(zero_copy_only=False), encoded.indices.to_numpy()
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        _check_finite(classes[codes], name)
    if classes.dtype.kind == "O":
        refuse_label_objects(classes, f"the column {name!r}")
    if len(classes) > _MAX_CLASSES:
        raise UserInputError(
            f"The column {name!r} holds more than {_MAX_CLASSES:,} different labels.",
            "Use TimeConstrainedRegressor for values, or group the rare labels.",
        )
    return classes, codes.astype(np.min_scalar_type(max(1, len(classes)) - 1))


def recode_labels(found: Array, codes: Array, classes: Array) -> Array:
    """Return the positions in all classes of rows that have their positions among those found in a block.

    Examples
    --------
    >>> recode_labels(np.array(["c", "a"]), np.array([0, 0, 1]), np.array(["a", "b", "c"]))
    array([2, 2, 0], dtype=uint8)
    """
    code_of = np.searchsorted(classes, found.astype(classes.dtype, copy=False))
    return code_of.astype(np.min_scalar_type(len(classes) - 1))[codes]


def _check_finite(values: Array, name: str) -> None:
    _refuse_values(name, "infinite", int(np.count_nonzero(np.isinf(values))))
    _refuse_values(name, "missing", int(np.count_nonzero(np.isnan(values))))


def _refuse_values(name: str, kind: str, count: int) -> None:
    if count:
        wanted = "one" if kind == "missing" else "a finite one"
        raise UserInputError(
            f"The column {name!r} has {kind} values, at least {count:,}; every row needs {wanted}.",
            "Drop these rows, for example with a filter of the data set.",
        )
