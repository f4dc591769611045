"""Whether a sampled set is like its original: each column by itself, and every two of them together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fitwithin._research.study.bayes_net import mutual_information
from fitwithin._research.study.codings import Categories, Codes, Coding, Intervals, is_number

_INTERVALS = 5


_ROWS = 100_000


FARTHEST = 0.05
"""The total variation distance of any column, beyond which a sampled set is not like its original. The paper's seven
sets, of a million rows, have 0.02 at most."""


LOOSEST = 0.8
"""The correlation of pairwise dependence, below which it is not. With two parents for each column, of which one is the
class, the paper's seven sets come to between 0.86 and 0.97."""


@dataclass(frozen=True)
class Agreement:
    """How far a sampled set agrees with its original.

    Parameters
    ----------
    marginal_mean, marginal_worst : float
        The total variation distance between the distributions of a column in both: 0 if they are equal, 1 if they have
        nothing in common; over all columns, the class included.
    dependence_correlation : float
        Between the mutual information of every two columns in the original and in the sampled set.
    dependence_difference : float
        The mean absolute difference of the two, in nats.
    class_difference : float
        The same, over the pairs of a column and the class only.
    """

    marginal_mean: float
    marginal_worst: float
    dependence_correlation: float
    dependence_difference: float
    class_difference: float

    @property
    def troubles(self) -> tuple[str, ...]:
        """Which of the bounds are broken, in words; nothing if the sampled set is like its original."""
        troubles = []
        if self.marginal_worst > FARTHEST:
            troubles.append(f"a marginal differs by more than {FARTHEST:g}")
        if not self.dependence_correlation >= LOOSEST:  # nor if it is not a number
            troubles.append(f"pairwise dependence correlates less than {LOOSEST:g}")
        return tuple(troubles)

    def __str__(self) -> str:
        figures = (
            f"marginals differ by {self.marginal_mean:.3f} on average and {self.marginal_worst:.3f} at most, "
            f"pairwise dependence correlates {self.dependence_correlation:.3f} with the original's, "
            f"dependence on the class differs by {self.class_difference:.3f} nats"
        )
        return f"{figures}; NOT LIKE THE ORIGINAL: {' and '.join(self.troubles)}" if self.troubles else figures


def agreement(original: Any, generated: Any, *, target: str = "target") -> Agreement:
    """Compare a sampled frame with its original.

    Numbers are cut into five intervals with about as many of the original's values in each. The mutual information of
    a small original is too high by chance, and is corrected for that in both (Miller and Madow).

    Parameters
    ----------
    original, generated : pandas.DataFrame
        With the same columns, of the same kinds.
    target : str, default="target"
        The column with the class.

    Returns
    -------
    Agreement
        The figures.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": [4, 3, 2, 1], "target": [0, 0, 1, 1]})
    >>> agreement(frame, frame)
    Agreement(marginal_mean=0.0, marginal_worst=0.0, dependence_correlation=1.0, dependence_difference=0.0,
              class_difference=0.0)
    """
    generated = generated.iloc[:_ROWS]  # rows are sampled one by one: the first are as good as any
    names = list(original)
    codings = [_coding(original[name]) for name in names]
    before = [coding.encode(original[name]) for name, coding in zip(names, codings, strict=True)]
    after = [coding.encode(generated[name]) for name, coding in zip(names, codings, strict=True)]
    marginals = [_distance(x, y) for x, y in zip(before, after, strict=True)]
    pairs = list(combinations(range(len(names)), 2))
    was = np.array([_dependence(before[i], before[j]) for i, j in pairs])
    is_now = np.array([_dependence(after[i], after[j]) for i, j in pairs])
    difference = np.abs(was - is_now)
    with_class = np.array([names.index(target) in pair for pair in pairs])
    return Agreement(
        float(np.mean(marginals)),
        float(np.max(marginals)),
        float(np.corrcoef(was, is_now)[0, 1]),
        float(difference.mean()),
        float(difference[with_class].mean()),
    )


def _coding(column: Any) -> Coding:
    return Intervals.of(column, _INTERVALS) if is_number(column) else Categories.of(column)


def _distance(x: Codes, y: Codes) -> float:
    """The total variation distance between two columns of states."""
    states = max(x.max(), y.max()) + 1
    shares = [np.bincount(codes, minlength=states) / len(codes) for codes in (x, y)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _dependence(x: Codes, y: Codes) -> float:
    """Mutual information, less what comes of chance with so few rows."""
    cells = len(np.unique(x * (y.max() + 1) + y)) - len(np.unique(x)) - len(np.unique(y)) + 1
    return mutual_information(x, y) - cells / (2 * len(x))
