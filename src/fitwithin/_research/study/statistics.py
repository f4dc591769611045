"""The paper's test of a difference, wins and losses by it, and means of what is there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, Protocol

Direction = Literal["win", "tie", "loss"]


# The paper prints 1.645, the quantile of a one-sided test at 95 %, and no further digit.
Z = 1.645


class Findings(Protocol):
    """Accuracies of teachers, whoever measured them: this study or the paper."""

    def accuracy(self, learner: str, dataset: str, teacher: str) -> float | None:
        """The mean accuracy on the test set; None where there is none."""

    def came_to_nothing(self, learner: str, dataset: str, teacher: str) -> bool:
        """Whether the teacher was run there, and no run ended with a model."""

    def datasets(self, learner: str) -> Sequence[str]:
        """The data sets on which the learner was taught."""

    def test_rows(self, dataset: str) -> int | None:
        """The size of the test set; None where it is not known."""


def direction(first: float, second: float, test_rows: int) -> Direction:
    """Whether the first accuracy beats the second at 95 %, by the paper's test.

    Parameters
    ----------
    first, second : float
        Shares of the test set that are classified rightly.
    test_rows : int
        Rows of the test set.

    Returns
    -------
    {"win", "tie", "loss"}
        A tie unless ``|a - b| - 1.645 sqrt(a (1 - a) / m + b (1 - b) / m) > 0``.

    Examples
    --------
    >>> direction(0.866, 0.853, 174_304), direction(0.603, 0.601, 17_493), direction(0.389, 0.399, 15_552)
    ('win', 'tie', 'loss')
    """
    spread = math.sqrt((first * (1 - first) + second * (1 - second)) / test_rows)
    if abs(first - second) - Z * spread <= 0:
        return "tie"
    return "win" if first > second else "loss"


def directions(findings: Findings, learner: str, first: str, second: str) -> dict[str, Direction]:
    """For each data set that either teacher finished: whether the first teacher beats the second.

    A teacher without a model in any of its runs loses against one that has a model.
    """
    found: dict[str, Direction] = {}
    for dataset in findings.datasets(learner):
        a, b = (findings.accuracy(learner, dataset, teacher) for teacher in (first, second))
        rows = findings.test_rows(dataset)
        if a is not None and b is not None and rows:
            found[dataset] = direction(a, b, rows)
        elif a is not None and findings.came_to_nothing(learner, dataset, second):
            found[dataset] = "win"
        elif b is not None and findings.came_to_nothing(learner, dataset, first):
            found[dataset] = "loss"
    return found


@dataclass(frozen=True)
class Tally:
    """How often one teacher beat another, how often neither did, and how often it was beaten.

    Examples
    --------
    >>> both = Tally.of(["win", "tie", "win"]) + Tally.of(["loss"])
    >>> both, both.pairs, both.net
    (Tally(wins=2, ties=1, losses=1), 4, 'win')
    """

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @classmethod
    def of(cls, found: Iterable[Direction]) -> Tally:
        """Count directions."""
        counted = list(found)
        return cls(counted.count("win"), counted.count("tie"), counted.count("loss"))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.ties + other.ties, self.losses + other.losses)

    @property
    def pairs(self) -> int:
        """On how many pairs of a data set and a learner it rests."""
        return self.wins + self.ties + self.losses

    @property
    def net(self) -> Direction:
        """The direction of the whole: which of wins and losses is the larger."""
        if self.wins == self.losses:
            return "tie"
        return "win" if self.wins > self.losses else "loss"


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there; None where nothing is.

    Examples
    --------
    >>> mean([0.5, None, 1.0]), mean([])
    (0.75, None)
    """
    present = [value for value in values if value is not None]
    return fmean(present) if present else None
