"""The paper's significance test for two accuracies, and wins and losses by it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, Protocol

Direction = Literal["win", "tie", "loss"]


Z_95 = 1.645
"""Quantile of the one-sided test at 95 %; the paper prints no further digit."""


class AccuracySource(Protocol):
    """Accuracies of teachers, from this study or from the paper."""

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """Mean accuracy on the test set; None if there is none."""

    def never_had_model(self, learner: str, dataset: str, teacher: str) -> bool:
        """Whether the teacher was run and no run ended with a model."""

    def datasets(self, learner: str) -> Sequence[str]:
        """Data sets on which the learner was run."""

    def test_rows(self, dataset: str) -> int | None:
        """Number of test rows; None if unknown."""


def compare_accuracies(first: float, second: float, test_rows: int) -> Direction:
    """Test whether the first accuracy beats the second at 95 %, by the paper's test.

    Parameters
    ----------
    first, second : float
        Shares of the test rows that are predicted correctly.
    test_rows : int
        Number of test rows.

    Returns
    -------
    {"win", "tie", "loss"}
        A tie unless ``|a - b| - 1.645 sqrt(a (1 - a) / m + b (1 - b) / m) > 0``.

    Examples
    --------
    >>> compare_accuracies(0.866, 0.853, 174_304), compare_accuracies(0.603, 0.601, 17_493)
    ('win', 'tie')
    >>> compare_accuracies(0.389, 0.399, 15_552)
    'loss'
    """
    standard_error = math.sqrt((first * (1 - first) + second * (1 - second)) / test_rows)
    if abs(first - second) - Z_95 * standard_error <= 0:
        return "tie"
    return "win" if first > second else "loss"


def compare_by_dataset(source: AccuracySource, learner: str, first: str, second: str) -> dict[str, Direction]:
    """Test for each data set whether the first teacher beats the second.

    A teacher without a model in any of its runs loses to a teacher that has a model. Data sets that neither teacher
    finished are left out.
    """
    found: dict[str, Direction] = {}
    for dataset in source.datasets(learner):
        a, b = (source.accuracy(learner, dataset, teacher) for teacher in (first, second))
        test_rows = source.test_rows(dataset)
        if a is not None and b is not None and test_rows:
            found[dataset] = compare_accuracies(a, b, test_rows)
        elif a is not None and source.never_had_model(learner, dataset, second):
            found[dataset] = "win"
        elif b is not None and source.never_had_model(learner, dataset, first):
            found[dataset] = "loss"
    return found


@dataclass(frozen=True)
class Tally:
    """Counts of wins, ties and losses of one teacher against another.

    Examples
    --------
    >>> both = Tally.count(["win", "tie", "win"]) + Tally.count(["loss"])
    >>> both, both.pairs, both.net
    (Tally(wins=2, ties=1, losses=1), 4, 'win')
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @classmethod
    def count(cls, directions: Iterable[Direction]) -> Tally:
        """Count directions."""
        counted = list(directions)
        return cls(counted.count("win"), counted.count("tie"), counted.count("loss"))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.ties + other.ties, self.losses + other.losses)

    @property
    def pairs(self) -> int:
        """Number of compared pairs of a data set and a learner."""
        return self.wins + self.ties + self.losses

    @property
    def net(self) -> Direction:
        """Direction of the larger of wins and losses."""
        if self.wins == self.losses:
            return "tie"
        return "win" if self.wins > self.losses else "loss"


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none.

    Examples
    --------
    >>> mean_of_known([0.5, None, 1.0]), mean_of_known([])
    (0.75, None)
    """
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
