"""Intervals from rows of a few blocks of a data set: rows of one block may be more alike than rows of all blocks."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from fitwithin._core.records import Z_95
from fitwithin._core.target import Array
from fitwithin._pools.pool import Clusters


def interval_factor(values: Array, clusters: Clusters) -> float:
    """Return by how much the interval of a mean over rows must be wider because the rows come from a few blocks.

    It compares how far the means of blocks lie apart with what rows at random would give: the design effect of a
    cluster sample. Blocks that have not been sampled are the reason for it, so it is 1 once all have been. Classes
    are sampled evenly, so that differences between them are left out.

    Parameters
    ----------
    values : array
        What each row adds to the metric, such as whether it is predicted correctly.
    clusters : Clusters
        The blocks of the rows.

    Examples
    --------
    >>> sorted_file = Clusters(np.array([0, 0, 0, 0, 4, 4, 4, 4]), None, n_blocks=10)
    >>> interval_factor(np.array([1, 1, 1, 1, 0, 0, 0, 0]), sorted_file) > 5
    True
    >>> interval_factor(np.array([1, 1, 0, 0, 1, 1, 0, 0]), sorted_file)
    1.0
    """
    _, blocks = np.unique(clusters.blocks, return_inverse=True)
    n_found = int(blocks.max(initial=-1)) + 1
    unread = 1 - n_found / clusters.n_blocks
    if unread <= 0 or not len(blocks):
        return 1.0
    residuals = _leave_out_class_means(np.asarray(values, dtype=np.float64), clusters.classes)
    by_row = float(residuals @ residuals)
    if not by_row > 0:
        return 1.0
    sums = np.bincount(blocks, weights=residuals)
    # One block tells nothing about others; that they are like rows at random is the least that can be said.
    effect = n_found / (n_found - 1) * float(sums @ sums) / by_row if n_found > 1 else 1.0
    # Few blocks tell little.
    effect *= float(t.ppf(0.975, max(1, n_found - 1)) / Z_95) ** 2
    return max(1.0, float(np.sqrt(1 - unread + unread * effect)))


def _leave_out_class_means(values: Array, classes: Array | None) -> Array:
    if classes is None:
        return np.asarray(values - values.mean())
    counts = np.maximum(1, np.bincount(classes))
    return np.asarray(values - (np.bincount(classes, weights=values) / counts)[classes])
