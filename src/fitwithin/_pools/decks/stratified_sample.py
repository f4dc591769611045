"""Random rows in the class proportions of a pool."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitwithin._core.records import Rows

Codes = npt.NDArray[np.unsignedinteger]
Counts = npt.NDArray[np.intp]

# Rows whose classes are looked up at a time, so that they stay in the processor's cache.
_CHUNK_ROWS = 1 << 16


def sample_stratified(
    strata: Codes, candidates: Rows, held_out: Rows, class_counts: Counts, count: int, rng: np.random.Generator
) -> Rows:
    """Return `count` random rows in the class proportions of the rows, at least one of every class.

    Parameters
    ----------
    strata : array of int
        The class of each row of the pool.
    candidates : array of int
        Random rows that are not held out, from `sample_candidates`.
    held_out : array of int
        Rows that are not to be chosen.
    class_counts : array of int
        How many of the others each class has.
    count : int
        Rows to choose, fewer than there are.
    rng : numpy.random.Generator
        Chooses them.
    """
    quotas = allocate_quotas(class_counts, count)
    chosen, missing = _take_up_to_quotas(strata, candidates, quotas)
    if missing.any():
        # The candidates hold too few rows of some rare classes: search the whole pool, once, for these classes.
        rare = _find_classes(strata, missing > 0)
        rare = rng.permutation(rare[~np.isin(rare, held_out)])
        refilled, _ = _take_up_to_quotas(strata, rare, np.where(missing > 0, quotas, 0))
        chosen = np.concatenate([chosen[(missing == 0)[strata[chosen]]], refilled])
    return rng.permutation(chosen)


def min_opening_size(class_counts: Counts, min_class_rows: int) -> int:
    """Rows that hold every class, and enough of the rarest one unless that takes over a tenth of the pool.

    Examples
    --------
    >>> min_opening_size(np.array([9900, 100]), 1), min_opening_size(np.array([9900, 100]), 5)
    (2, 500)
    """
    present = class_counts[class_counts > 0]
    if min_class_rows == 1:
        return len(present)
    pool_size = int(class_counts.sum())
    return max(len(present), min(-(-min_class_rows * pool_size // int(present.min())), pool_size // 10))


def drop_repeats(rows: Rows) -> Rows:
    """Return the distinct rows in the order of their first occurrence."""
    _, first_positions = np.unique(rows, return_index=True)
    return rows[np.sort(first_positions)]


def sample_candidates(size: int, count: int, rng: np.random.Generator) -> Rows:
    """Return random numbers below `size`, in random order and most likely enough for `count` rows of common classes."""
    n_draws = min(size, 4 * count)
    return drop_repeats(rng.integers(size, size=n_draws, dtype=np.intp)) if 8 * count < size else rng.permutation(size)


def _find_classes(strata: Codes, is_wanted: npt.NDArray[np.bool_]) -> Rows:
    """Return the rows of these classes, with little memory for any number of rows."""
    found = [
        start + np.flatnonzero(np.take(is_wanted, strata[start : start + _CHUNK_ROWS], mode="clip"))
        for start in range(0, len(strata), _CHUNK_ROWS)
    ]
    return np.concatenate(found)


def _take_up_to_quotas(strata: Codes, candidates: Rows, quotas: Counts) -> tuple[Rows, Counts]:
    """Return the first candidates of each class up to its quota, and the rows that each class still misses."""
    by_class = candidates[np.argsort(strata[candidates], kind="stable")]
    counts = np.bincount(strata[candidates], minlength=len(quotas))
    rank_in_class = np.arange(len(by_class)) - np.repeat(np.cumsum(counts) - counts, counts)
    return by_class[rank_in_class < np.repeat(quotas, counts)], np.maximum(quotas - counts, 0)


def allocate_quotas(class_counts: Counts, total: int) -> Counts:
    """Return the rows to take of each class: proportional by largest remainder, and at least one of each."""
    exact = class_counts * (total / class_counts.sum())
    quotas: Counts = np.maximum(np.floor(exact).astype(np.intp), class_counts > 0)
    by_remainder = np.argsort(np.floor(exact) - exact, kind="stable")
    rounded_down = by_remainder[quotas[by_remainder] < exact[by_remainder]]
    quotas[rounded_down[: max(0, total - int(quotas.sum()))]] += 1
    while quotas.sum() > total:
        # Rare classes were rounded up to one row; the largest classes make up for it.
        quotas[np.argmax(quotas)] -= 1
    return quotas
