"""Similarity of a sampled data set to its original: single columns, and pairs of columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fitwithin_paper.study.bayesian_network import mutual_information
from fitwithin_paper.study.discretization import (
    CategoryStates,
    Discretization,
    IntervalStates,
    StateCodes,
    is_numeric_column,
)

_N_INTERVALS = 5
"""Intervals of a numeric column; few, because some originals have only a few hundred rows."""


_MAX_COMPARED_ROWS = 100_000
"""Sampled rows that are compared at most, to bound the time."""


MAX_MARGINAL_DISTANCE = 0.05
"""Largest total variation distance of a column in a sampled set that resembles its original.

The paper's seven sets, sampled with a million rows, have 0.02 at most."""


MIN_DEPENDENCE_CORRELATION = 0.8
"""Lowest correlation of the pairwise dependence in a sampled set that resembles its original.

The paper's seven sets, with the class and one other column as parents, have between 0.86 and 0.97."""


@dataclass(frozen=True)
class SampleAgreement:
    """Agreement of a sampled data set with its original.

    Parameters
    ----------
    marginal_mean, marginal_worst : float
        Total variation distance between the distributions of a column, over all columns including the class. 0 for
        equal distributions, 1 for disjoint ones.
    dependence_correlation : float
        Correlation between the mutual information of pairs of columns in the original and in the sampled set.
    dependence_difference : float
        Mean absolute difference of these values, in nats.
    class_difference : float
        Mean absolute difference over the pairs of a column and the class, in nats.
    """

    marginal_mean: float
    marginal_worst: float
    dependence_correlation: float
    dependence_difference: float
    class_difference: float

    @property
    def violations(self) -> tuple[str, ...]:
        """Violated bounds, in words; empty if the sampled set resembles its original."""
        violations = []
        if self.marginal_worst > MAX_MARGINAL_DISTANCE:
            violations.append(f"a marginal differs by more than {MAX_MARGINAL_DISTANCE:g}")
        if not self.dependence_correlation >= MIN_DEPENDENCE_CORRELATION:  # also true for nan
            violations.append(f"pairwise dependence correlates less than {MIN_DEPENDENCE_CORRELATION:g}")
        return tuple(violations)

    def __str__(self) -> str:
        figures = (
            f"marginals differ by {self.marginal_mean:.3f} on average and {self.marginal_worst:.3f} at most, "
            f"pairwise dependence correlates {self.dependence_correlation:.3f} with the original's, "
            f"dependence on the class differs by {self.class_difference:.3f} nats"
        )
        return f"{figures}; NOT LIKE THE ORIGINAL: {' and '.join(self.violations)}" if self.violations else figures


def measure_agreement(original: Any, sampled: Any, *, target: str = "target") -> SampleAgreement:
    """Compare a sampled frame with its original.

    Numeric columns are cut into five intervals with about equally many of the original's values in each. The mutual
    information of a small original is biased upwards; both values are corrected for this (Miller and Madow).

    Parameters
    ----------
    original, sampled : pandas.DataFrame
        Frames with the same columns, of the same kinds.
    target : str, default="target"
        The class column.

    Returns
    -------
    SampleAgreement
        The figures.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [4, 3, 2, 1], "target": [0, 0, 1, 1]})
    >>> measure_agreement(frame, frame)
    SampleAgreement(marginal_mean=0.0, marginal_worst=0.0, dependence_correlation=1.0, dependence_difference=0.0,
              class_difference=0.0)
    """
    sampled = sampled.iloc[:_MAX_COMPARED_ROWS]  # rows are independent: the first are as good as any
    names = list(original)
    discretizations = [_discretize(original[name]) for name in names]
    before = [states.encode(original[name]) for name, states in zip(names, discretizations, strict=True)]
    after = [states.encode(sampled[name]) for name, states in zip(names, discretizations, strict=True)]
    distances = [_total_variation_distance(x, y) for x, y in zip(before, after, strict=True)]
    pairs = list(combinations(range(len(names)), 2))
    dependence_before = np.array([_corrected_mutual_information(before[i], before[j]) for i, j in pairs])
    dependence_after = np.array([_corrected_mutual_information(after[i], after[j]) for i, j in pairs])
    difference = np.abs(dependence_before - dependence_after)
    has_class = np.array([names.index(target) in pair for pair in pairs])
    return SampleAgreement(
        float(np.mean(distances)),
        float(np.max(distances)),
        float(np.corrcoef(dependence_before, dependence_after)[0, 1]),
        float(difference.mean()),
        float(difference[has_class].mean()),
    )


def _discretize(column: Any) -> Discretization:
    if is_numeric_column(column):
        return IntervalStates.from_column(column, _N_INTERVALS)
    return CategoryStates.from_column(column)


def _total_variation_distance(x: StateCodes, y: StateCodes) -> float:
    """Return the total variation distance between two columns of states."""
    n_states = max(x.max(), y.max()) + 1
    shares = [np.bincount(codes, minlength=n_states) / len(codes) for codes in (x, y)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _corrected_mutual_information(x: StateCodes, y: StateCodes) -> float:
    """Return the mutual information less its expected bias (Miller and Madow)."""
    n_cells = len(np.unique(x * (y.max() + 1) + y)) - len(np.unique(x)) - len(np.unique(y)) + 1
    return mutual_information(x, y) - n_cells / (2 * len(x))
