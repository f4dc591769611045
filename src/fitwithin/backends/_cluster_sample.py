"""Intervals from rows of a few blocks of a data set: rows of one block may be more alike than rows of all blocks."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from fitwithin._core.records import Z_95, Estimate
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters


def interval_factor(values: Array, clusters: Clusters) -> float:
    """Return by how much the interval of a mean over rows must be wider because the rows come from a few blocks.

    The variance of a mean over rows at random is that of rows. To it comes the variance between blocks, as far as the
    rows are spread over the blocks in other proportions than those of the data set: if blocks were not read, above
    all. Classes are sampled evenly, so that differences between them are left out.

    Parameters
    ----------
    values : array
        What each row adds to the metric, such as whether it is predicted correctly.
    clusters : Clusters
        The blocks of the rows.

    Examples
    --------
    >>> sorted_file = Clusters(np.array([0, 0, 0, 0, 4, 4, 4, 4]), None, np.full(10, 100))
    >>> interval_factor(np.array([1, 1, 1, 1, 0, 0, 0, 0]), sorted_file) > 5
    True
    >>> interval_factor(np.array([1, 1, 0, 0, 1, 1, 0, 0]), sorted_file)
    1.0
    """
    residuals = _leave_out_class_means(np.asarray(values, dtype=np.float64), clusters.classes)
    of_rows = float(residuals @ residuals)
    n_rows = np.bincount(clusters.blocks, minlength=len(clusters.block_rows)).astype(np.float64)
    if not of_rows > 0:
        return 1.0
    imbalance = n_rows / n_rows.sum() - clusters.block_rows / clusters.block_rows.sum()
    n_found = int(np.count_nonzero(n_rows))
    between = (
        _estimate_variance_between(residuals, clusters.blocks, n_rows) if n_found > 1 else of_rows / len(residuals)
    )
    # A few blocks tell little about how far blocks lie apart.
    doubt = float(t.ppf(0.975, max(1, n_found - 1)) / Z_95) ** 2
    effect = doubt * between * float(imbalance @ imbalance) / (of_rows / len(residuals) ** 2)
    return float(np.sqrt(1 + effect))


def widen_interval(estimate: Estimate, values: Array, clusters: Clusters) -> Estimate:
    """Return an estimate with an interval that is wider by `interval_factor`."""
    value, factor = estimate.value, interval_factor(values, clusters)
    return Estimate(value, value - factor * (value - estimate.low), value + factor * (estimate.high - value))


def _estimate_variance_between(residuals: Array, blocks: Array, n_rows: Array) -> float:
    """Return the variance of the means of blocks, without the part that comes from the variance of rows."""
    n_found, total = int(np.count_nonzero(n_rows)), float(n_rows.sum())
    if total <= n_found:
        return 0.0
    sums = np.bincount(blocks, weights=residuals, minlength=len(n_rows))
    explained = float((sums[n_rows > 0] ** 2 / n_rows[n_rows > 0]).sum())
    within = (float(residuals @ residuals) - explained) / (total - n_found)
    rows_per_block = (total - float((n_rows**2).sum()) / total) / (n_found - 1)
    return max(0.0, (explained / (n_found - 1) - within) / rows_per_block)


def _leave_out_class_means(values: Array, classes: Array | None) -> Array:
    if classes is None:
        return np.asarray(values - values.mean())
    counts = np.maximum(1, np.bincount(classes))
    return np.asarray(values - (np.bincount(classes, weights=values) / counts)[classes])
