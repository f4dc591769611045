"""Validation and holdout rows that the user chose: whole groups, the last rows, or rows of another table."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.exceptions import UserInputError
from fitwithin._core.records import Rows
from fitwithin._core.target import Labels, count_codes, encode_integers, is_missing, refuse_unknown_labels
from fitwithin._pools.decks.deck import count_validation_rows
from fitwithin._pools.decks.table_pile import sample_candidates, sample_stratified
from fitwithin._pools.target_pass import TargetPass
from fitwithin._session.inputs.fit_arguments import warn_of_weightless_classes

Codes = npt.NDArray[np.integer[Any]]
"""The group of each row, as a number from 0 on without gaps."""

# Validation rows; there are as many holdout rows. Rows that are near in time or in a group say the same, so they are
# more than with random rows. Every model is examined on the first of them only, as many as the time allows.
_ROWS_ONE_IN = 20  # rows of X for each validation row
_MAX_ROWS = 100_000  # more would hardly change the estimate, and training may need them
_MIN_ROWS = 200  # the standard error of an accuracy is 3.5 % at most
_SMALL_TABLE_ONE_IN = 10  # rows of X for each one, where `_MIN_ROWS` would be more

# Expected validation rows of the rarest class below which they are drawn by class; of five, all are missed in 1 of 150
# draws, and an area under the ROC curve from fewer than five has no interval.
_MIN_CLASS_ROWS = 10

# Range of whole numbers up to which groups are counted instead of sorted, for each row.
_COUNTED_RANGE = 4

# Random holdout rows of a data set that is read block by block, of all its rows, up to `_MAX_ROWS`.
_HOLDOUT_ONE_IN = 50

# Rows below which the teacher holds out rows itself: they are read at once.
_SMALL_DATA_SET_ROWS = 10_000

# Groups that are needed: for training, validation and holdout.
_MIN_GROUPS = 3

# Groups that make an interval of a useful width, and how many times the validation rows may be held out to have them.
# On skin_segmentation, five groups made it 2.6 times as wide as ten. Of small tables more rows are held out anyhow.
_ENOUGH_GROUPS = 10
_MANY_ROWS = 2

# A group with more rows than this many times the validation rows is used for training if there are others.
_LARGE_GROUP = 2


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows of a pool that no model is trained on before it is chosen.

    Parameters
    ----------
    validation, holdout : array of int
        Rows that choose the model, and rows that estimate its score; both in random order.
    can_refit : bool, default=True
        Whether a last fit of the best model may take them too.
    groups : array of int or None, default=None
        The group of each row of the pool, if whole groups are held out.
    """

    validation: Rows
    holdout: Rows
    can_refit: bool = True
    groups: Codes | None = None


def hold_out_rows(n_rows: int, groups: Any, labels: Labels | None, rng: np.random.Generator) -> HeldOutRows:
    """Return the rows of random groups, or without groups the last rows.

    Parameters
    ----------
    n_rows : int
        Rows to choose from.
    groups : array-like or None
        The group of each row.
    labels : Labels or None
        The class of each row.
    rng : numpy.random.Generator
        Chooses the rows.

    Raises
    ------
    ValueError
        If too few rows, groups or classes are left for training.
    """
    if groups is None:
        held_out, advice = hold_out_last_rows(n_rows, rng), "Sort the rows by time, not by class."
    else:
        held_out = hold_out_groups(encode_groups(groups, n_rows), rng)
        advice = "Give groups that hold several classes each, or more of them."
    if labels is not None:
        _check_classes(labels, held_out, advice)
    return held_out


def hold_out_random_rows(n_rows: int, rng: np.random.Generator) -> HeldOutRows:
    """Return random rows.

    Examples
    --------
    >>> rows = hold_out_random_rows(30, np.random.default_rng(0))
    >>> len(rows.validation), len(rows.holdout), len({*rows.validation, *rows.holdout})
    (3, 3, 6)
    """
    count = count_held_out_rows(n_rows)
    rows = rng.permutation(n_rows)[: 2 * count]
    return HeldOutRows(rows[:count], rows[count:])


def hold_out_last_rows(n_rows: int, rng: np.random.Generator) -> HeldOutRows:
    """Return the last rows as holdout rows, and those before them as validation rows.

    Examples
    --------
    >>> rows = hold_out_last_rows(30, np.random.default_rng(0))
    >>> sorted(rows.validation.tolist()), sorted(rows.holdout.tolist())
    ([24, 25, 26], [27, 28, 29])
    """
    if n_rows < 3:
        raise ValueError(
            f'validation="last" needs at least 3 rows, for training, validation and holdout; X has {n_rows}. '
            'Add rows, or set validation="random".'
        )
    count = count_held_out_rows(n_rows)
    last = np.arange(n_rows - 2 * count, n_rows)
    return HeldOutRows(rng.permutation(last[:count]), rng.permutation(last[count:]))


def hold_out_groups(groups: Codes, rng: np.random.Generator) -> HeldOutRows:
    """Return the rows of random groups.

    Parameters
    ----------
    groups : array of int
        The group of each row, from 0 on without gaps.
    rng : numpy.random.Generator
        Chooses the groups.

    Examples
    --------
    >>> groups = np.repeat(np.arange(10), 3)
    >>> rows = hold_out_groups(groups, np.random.default_rng(0))
    >>> len(set(groups[rows.validation])), len(set(groups[rows.holdout]))
    (1, 1)
    """
    sizes = np.bincount(groups)
    if len(sizes) < _MIN_GROUPS:
        raise UserInputError(
            f"groups holds {len(sizes)} different {'group' if len(sizes) == 1 else 'groups'}; at least "
            f"{_MIN_GROUPS} are needed, for training, validation and holdout.",
            "Leave out groups, or give finer ones.",
        )
    aim = count_held_out_rows(len(groups))
    order = rng.permutation(len(sizes))
    is_large = sizes[order] > _LARGE_GROUP * aim
    order = order[np.argsort(np.where(is_large, sizes[order], 0), kind="stable")]
    most = _MANY_ROWS * aim if len(groups) >= _MIN_ROWS * _ROWS_ONE_IN else aim
    n_validation = _count_groups(sizes[order], aim, most, n_others=2)
    n_both = n_validation + _count_groups(sizes[order[n_validation:]], aim, most, n_others=1)
    chosen = order[:n_validation], order[n_validation:n_both]
    validation, holdout = (rng.permutation(np.flatnonzero(np.isin(groups, part))) for part in chosen)
    return HeldOutRows(validation, holdout, groups=groups)


def hold_out_second_table(n_rows: int, n_more: int, rng: np.random.Generator) -> HeldOutRows:
    """Return two random halves of the rows that a second table adds to a pool.

    Raises
    ------
    ValueError
        If it has fewer than two rows.

    Examples
    --------
    >>> rows = hold_out_second_table(100, 4, np.random.default_rng(0))
    >>> sorted([*rows.validation.tolist(), *rows.holdout.tolist()])
    [100, 101, 102, 103]
    """
    if n_more < 2:
        raise ValueError(
            f"X_val has {n_more} {'row' if n_more == 1 else 'rows'}; at least 2 are needed, one to choose the model "
            "and one to estimate its score. Add rows."
        )
    rows = n_rows + rng.permutation(n_more)
    return HeldOutRows(rows[: n_more // 2], rows[n_more // 2 :], can_refit=False)


def hold_out_in_blocks(
    found: TargetPass, groups: Any, n_validation_blocks: int, *, seed: int, last: bool, teacher_holds_out: bool
) -> TargetPass:
    """Return the target of a data set with its validation and holdout rows: the user's, or random ones of each block.

    Parameters
    ----------
    found : TargetPass
        The target.
    groups : array-like or None
        The group of each row, to hold out whole groups.
    n_validation_blocks : int
        Blocks at the end that are a validation set.
    seed : int
        Chooses the groups, and halves the validation set.
    last : bool
        Whether to hold out the last rows.
    teacher_holds_out : bool
        Whether the teacher would hold out random rows itself.
    """
    n_rows, rng = int(found.block_rows.sum()), np.random.default_rng(seed)
    labels = found.target if isinstance(found.target, Labels) else None
    if labels is not None and found.n_weighted is not None:
        n_blocks = len(found.block_rows) - n_validation_blocks
        codes = labels.codes[: found.block_rows[:n_blocks].sum()]
        of_training = replace(labels, counts=count_codes(codes, len(labels.classes)))
        warn_of_weightless_classes(of_training, found.n_weighted[:n_blocks].sum(axis=0))
    if not (n_validation_blocks or groups is not None or last):
        if not teacher_holds_out or n_rows < _SMALL_DATA_SET_ROWS:
            return found
        n_validation = count_validation_rows(n_rows)
        n_holdout = max(n_validation, min(_MAX_ROWS, n_rows // _HOLDOUT_ONE_IN))
        rows = rng.choice(n_rows, n_validation + n_holdout, replace=False)
        return found.hold_out(rows[:n_validation], rows[n_validation:])
    if not n_validation_blocks:
        held_out = hold_out_rows(n_rows, groups, labels, rng)
        return found.hold_out(held_out.validation, held_out.holdout)
    n_training = int(found.block_rows[:-n_validation_blocks].sum())
    held_out = hold_out_second_table(n_training, n_rows - n_training, rng)
    if labels is not None:
        _check_classes(labels, held_out, "Add rows to X.")
        counts = count_codes(labels.codes[:n_training], len(labels.classes))
        refuse_unknown_labels(labels.classes[counts == 0].tolist())
        found = replace(found, target=replace(labels, counts=counts))
    return found.hold_out(held_out.validation, held_out.holdout)


def hold_out_by_class(labels: Labels, rng: np.random.Generator) -> HeldOutRows | None:
    """Return random rows in the class proportions, if some class is so rare that others would often lack it.

    Each of the two parts has a row of each class that has three rows, and begins with it.

    Examples
    --------
    >>> labels = Labels.encode(np.arange(10_000) < 10)
    >>> rows = hold_out_by_class(labels, np.random.default_rng(0))
    >>> np.bincount(labels.codes[rows.validation]), np.bincount(labels.codes[rows.holdout])
    (array([499,   1]), array([499,   1]))
    """
    n_rows, count = len(labels.codes), count_held_out_rows(len(labels.codes))
    if int(labels.counts[labels.counts > 0].min()) * count >= _MIN_CLASS_ROWS * n_rows:
        return None
    left = np.where(labels.counts < 3, 0, labels.counts)
    taken: Rows = np.zeros(0, dtype=np.intp)
    parts: list[Rows] = []
    for _ in range(2):
        candidates = sample_candidates(n_rows, count, rng)
        candidates = candidates[~np.isin(candidates, taken)]
        taken = sample_stratified(labels.codes, candidates, taken, left, count, rng)
        left = left - count_codes(labels.codes[taken], len(left))
        first = np.unique(labels.codes[taken], return_index=True)[1]
        parts.append(np.concatenate([taken[first], np.delete(taken, first)]))
    return HeldOutRows(parts[0], parts[1])


def encode_groups(groups: Any, n_rows: int) -> Codes:
    """Return a number from 0 on for the group of each row.

    Raises
    ------
    ValueError
        If there is not one group for each row, or one is missing.
    TypeError
        If a group is not hashable.

    Examples
    --------
    >>> encode_groups(["b", ("a", 1), "b"], 3)
    array([0, 1, 0])
    """
    column = groups if isinstance(groups, list | tuple) else np.asarray(groups)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise ValueError(
            f"groups has the shape {column.shape}; expected one dimension, with one entry for each row. "
            "Number the groups, or pass one column."
        )
    if len(column) != n_rows:
        raise ValueError(f"groups has {len(column)} entries for {n_rows} rows; it must have one entry for each row.")
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        n_missing = int(np.count_nonzero(column != column))
        # Counting takes a tenth of the time of sorting.
        encoded = encode_integers(column, _COUNTED_RANGE * n_rows) or np.unique(column, return_inverse=True)
        codes: Codes = encoded[1]
    else:
        numbers: dict[Hashable, int] = {}
        try:
            codes = np.fromiter((numbers.setdefault(label, len(numbers)) for label in column), np.intp, n_rows)
        except TypeError:
            raise TypeError(
                "groups holds entries that are not hashable, such as lists; expected numbers, text or tuples. "
                "Convert the entries, for example to text."
            ) from None
        n_missing = int(np.isin(codes, [number for label, number in numbers.items() if is_missing(label)]).sum())
    if n_missing:
        raise ValueError(
            f"groups contains NaN or None in {n_missing} rows; every row needs a group. "
            "Drop these rows, or give them groups of their own."
        )
    return codes


def count_held_out_rows(n_rows: int) -> int:
    """Return the validation rows, and as many holdout rows, to take from a table with this number of rows.

    Examples
    --------
    >>> [count_held_out_rows(n_rows) for n_rows in (3, 100, 3_000, 100_000, 10_000_000)]
    [1, 10, 200, 5000, 100000]
    """
    count = max(n_rows // _ROWS_ONE_IN, min(_MIN_ROWS, n_rows // _SMALL_TABLE_ONE_IN))
    return max(1, min(_MAX_ROWS, count))


def _check_classes(labels: Labels, held_out: HeldOutRows, advice: str) -> None:
    """Raise a ValueError if fewer than two classes are left for training."""
    codes = labels.codes[np.concatenate([held_out.validation, held_out.holdout])]
    found = np.flatnonzero(labels.counts - count_codes(codes, len(labels.classes)))
    if len(found) < 2:
        raise ValueError(
            f"Without the validation and holdout rows, the rows for training hold only one class, "
            f"{labels.classes[found[0]]!r}; a classifier needs at least 2 classes. {advice}"
        )


def _count_groups(sizes: npt.NDArray[np.intp], aim: int, most: int, n_others: int) -> int:
    """Return how many of the first groups to hold out: about `aim` rows, or for enough groups up to `most`."""
    ends = np.cumsum(sizes)
    nearest = int(np.argmin(np.abs(ends - aim))) + 1
    n_affordable = int(np.searchsorted(ends, most, "right"))
    return max(1, min(max(nearest, min(_ENOUGH_GROUPS, n_affordable)), len(sizes) - n_others))
