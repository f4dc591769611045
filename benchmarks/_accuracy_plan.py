"""What the benchmark of accuracy runs: pairs of a data set and a learner, rivals, seeds, shares of T."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal

PAIRS = Path(__file__).with_name("accuracy_pairs.csv")
"""The list of pairs, fixed before the teacher was tuned on any of them."""

HALVES = ("tune", "final")
"""By data set: sets of about the same number of classes and size were put side by side, and one of each two went, by
hand and before the teacher was tuned, to either half. Earlier experiments with a prototype had seen covtype, unsw_nb15,
dota2 and fruits360 of the one half, and mnist, poker_hand and GTSRB of the other."""

SHARES = (1.0, 0.25, 0.1)
"""Time limits as shares of T, the time of a training on all rows."""

LEAST_SECONDS = 2.0
"""Limits below T that are shorter are not run."""

RIVALS = ("full", "auto", "tct", "double", "tct_al", "sgd", "flaml", "lightgbm-callback")
"""Everyone, the measure of T first."""

SHORT_RIVALS = ("full", "auto", "double", "tct")

# For the estimate: real time as a multiple of the limit, seconds that a run takes beside its limit (warming up and
# the test set; for FLAML its imports too), and seconds for reading and encoding a data set.
_TIMES_LIMIT: Mapping[str, float] = {"flaml": 2.2}
_BESIDE: Mapping[str, float] = {"flaml": 6.0}
_USUALLY_BESIDE = 2.0
_DATA_SECONDS = 20.0

Half = Literal["tune", "final", "both"]


@dataclass(frozen=True)
class Pair:
    """A data set and a learner.

    Parameters
    ----------
    half : {"tune", "final"}
        Whether the teacher may be tuned on it. All pairs of a data set are in the same half.
    dataset, learner : str
        By name.
    rows : int
        Training rows: as many as give a training that is long enough, and not too long.
    seconds : float
        Roughly, what a training on them takes. The benchmark measures it again.
    short_rows : int or None
        Training rows in the short version; None if it is not part of that.
    """

    half: str
    dataset: str
    learner: str
    rows: int
    seconds: float
    short_rows: int | None = None

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.dataset}, {self.learner}"


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Parameters
    ----------
    pairs : tuple of Pair
        Those of one data set follow each other.
    rivals : tuple of str
        By name; "full" is always run, because it measures T.
    seeds : tuple of int
        Of the teachers' choices and the learners; the split into training and test stays.
    shares : tuple of float
        Of T, the first of them 1.
    test_rows : int
        Test rows at most: where there are more, classifying them takes longer than the training.
    """

    pairs: tuple[Pair, ...]
    rivals: tuple[str, ...] = RIVALS
    seeds: tuple[int, ...] = (0, 1)
    shares: tuple[float, ...] = SHARES
    test_rows: int = 50_000

    def by_dataset(self) -> Iterator[tuple[str, list[Pair]]]:
        """The pairs of each data set, so that it is read once."""
        return ((dataset, list(pairs)) for dataset, pairs in groupby(self.pairs, key=lambda pair: pair.dataset))

    def shares_of(self, full: float) -> list[float]:
        """The shares of a T, without those that are too short."""
        return [share for share in self.shares if share == 1 or share * full >= LEAST_SECONDS]

    def turns(self, seed: int, share: float) -> list[str]:
        """The rivals of a share in an order that changes, so that nobody is always first."""
        others = [rival for rival in self.rivals if rival != "full"]
        turn = (seed + self.shares.index(share)) % max(1, len(others))
        return others[turn:] + others[:turn]


def read_pairs(file: Path = PAIRS) -> tuple[Pair, ...]:
    """The list of pairs."""
    with file.open(newline="", encoding="utf-8") as lines:
        return tuple(_pair(row) for row in csv.DictReader(lines))


def _pair(row: Mapping[str, str]) -> Pair:
    short = int(row["short_rows"]) if row["short_rows"] else None
    return Pair(row["half"], row["dataset"], row["learner"], int(row["rows"]), float(row["seconds"]), short)


def select_pairs(pairs: Sequence[Pair], half: Half, only: str = "") -> tuple[Pair, ...]:
    """The pairs of a half, or of both, whose name holds a text."""
    return tuple(pair for pair in pairs if half in (pair.half, "both") and only in pair.name)


def make_short_plan(pairs: Sequence[Pair], variants: Sequence[str] = ()) -> Plan:
    """A few pairs with fewer rows, one seed, the rivals that matter most: ten minutes."""
    few = (replace(pair, rows=pair.short_rows, seconds=3.0) for pair in pairs if pair.short_rows is not None)
    return Plan(tuple(few), tuple(dict.fromkeys([*SHORT_RIVALS, *variants])), seeds=(0,), shares=(1.0,))


def expected_seconds(plan: Plan, applies: Mapping[tuple[str, str], bool]) -> dict[Pair, float]:
    """What each pair will roughly take.

    Parameters
    ----------
    plan : Plan
        What is to be run.
    applies : mapping of (rival, learner) to bool
        Who has anything to say about which learner.
    """
    datasets = [pair.dataset for pair in plan.pairs]
    return {
        pair: _DATA_SECONDS / datasets.count(pair.dataset) + len(plan.seeds) * _seed_seconds(plan, pair, applies)
        for pair in plan.pairs
    }


def _seed_seconds(plan: Plan, pair: Pair, applies: Mapping[tuple[str, str], bool]) -> float:
    limits = [("full", pair.seconds)]
    for share in plan.shares_of(pair.seconds):
        limits += [(rival, share * pair.seconds) for rival in plan.turns(0, share) if applies[rival, pair.learner]]
    return sum(_TIMES_LIMIT.get(rival, 1.0) * limit + _BESIDE.get(rival, _USUALLY_BESIDE) for rival, limit in limits)
