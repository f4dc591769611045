"""Plan of the accuracy benchmark: pairs of a data set and a learner, rivals, seeds, shares of T."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal

PAIRS = Path(__file__).with_name("accuracy_pairs.csv")
"""File with the pairs, fixed before the teacher was tuned on any of them."""

HALVES = ("tune", "final")
"""Halves of the data sets. Data sets of similar size and number of classes were paired, and one of each pair went to
each half, by hand and before the teacher was tuned. Earlier experiments with a prototype had used covtype, unsw_nb15,
dota2 and fruits360 of one half, and mnist, poker_hand and GTSRB of the other."""

SHARES = (1.0, 0.25, 0.1)
"""Time limits as shares of T, the time of a fit on all rows."""

MIN_LIMIT_SECONDS = 2.0
"""Limits below T that are shorter than this are skipped."""

RIVALS = ("full", "auto", "tct", "double", "tct_al", "sgd", "flaml", "lightgbm-callback")
"""All rivals; the first one measures T."""

SHORT_RIVALS = ("full", "auto", "double", "tct")

# The constants below only predict how long the benchmark takes. Real time as a multiple of the limit; 1 by default.
_LIMIT_MULTIPLES: Mapping[str, float] = {"flaml": 2.2}

# Seconds of a run beyond its limit, for the warm-up and the test rows; FLAML has imports too.
_EXTRA_SECONDS: Mapping[str, float] = {"flaml": 6.0}

# The same for all other rivals.
_DEFAULT_EXTRA_SECONDS = 2.0

# Seconds to read and encode a data set.
_DATA_SECONDS = 20.0

Half = Literal["tune", "final", "both"]


@dataclass(frozen=True)
class Pair:
    """A data set and a learner.

    Parameters
    ----------
    half : {"tune", "final"}
        Half of the data set: the teacher may be tuned on "tune" only.
    dataset, learner : str
        Their names.
    rows : int
        Training rows, chosen so that a fit on all of them takes 3 to 60 s.
    seconds : float
        Approximate time of a fit on them. The benchmark measures it again.
    short_rows : int or None
        Training rows in the short version; None if the pair is not part of it.
    """

    half: str
    dataset: str
    learner: str
    rows: int
    seconds: float
    short_rows: int | None = None

    @property
    def name(self) -> str:
        """Names of data set and learner."""
        return f"{self.dataset}, {self.learner}"


@dataclass(frozen=True)
class Plan:
    """Pairs, rivals, seeds and limits to run.

    Parameters
    ----------
    pairs : tuple of Pair
        The pairs, grouped by data set.
    rivals : tuple of str
        Their names; "full" always runs, because it measures T.
    seeds : tuple of int
        Seeds of the teachers and the learners; the split into training and test rows stays the same.
    shares : tuple of float
        Limits as shares of T; the first is 1.
    test_rows : int
        Maximum number of test rows; predicting more would take longer than the fit.
    """

    pairs: tuple[Pair, ...]
    rivals: tuple[str, ...] = RIVALS
    seeds: tuple[int, ...] = (0, 1)
    shares: tuple[float, ...] = SHARES
    test_rows: int = 50_000

    def group_by_dataset(self) -> Iterator[tuple[str, list[Pair]]]:
        """Return the pairs of each data set, so that it is read once."""
        return ((dataset, list(pairs)) for dataset, pairs in groupby(self.pairs, key=lambda pair: pair.dataset))

    def find_shares(self, full_seconds: float) -> list[float]:
        """Return the shares for a given T, without those that give too short a limit."""
        return [share for share in self.shares if share == 1 or share * full_seconds >= MIN_LIMIT_SECONDS]

    def rotate_rivals(self, seed: int, share: float) -> list[str]:
        """Return the rivals of a share in rotating order, so that none is always first."""
        others = [rival for rival in self.rivals if rival != "full"]
        turn = (seed + self.shares.index(share)) % max(1, len(others))
        return others[turn:] + others[:turn]


def read_pairs(file: Path = PAIRS) -> tuple[Pair, ...]:
    """Read the list of pairs."""
    with file.open(newline="", encoding="utf-8") as lines:
        return tuple(_parse_pair(row) for row in csv.DictReader(lines))


def _parse_pair(row: Mapping[str, str]) -> Pair:
    short = int(row["short_rows"]) if row["short_rows"] else None
    return Pair(row["half"], row["dataset"], row["learner"], int(row["rows"]), float(row["seconds"]), short)


def select_pairs(pairs: Sequence[Pair], half: Half, only: str = "") -> tuple[Pair, ...]:
    """Return the pairs of a half, or of both, whose name contains a text."""
    return tuple(pair for pair in pairs if half in (pair.half, "both") and only in pair.name)


def make_short_plan(pairs: Sequence[Pair], variants: Sequence[str] = ()) -> Plan:
    """Return a plan of ten minutes: few pairs with fewer rows, one seed, the most important rivals."""
    few = (replace(pair, rows=pair.short_rows, seconds=3.0) for pair in pairs if pair.short_rows is not None)
    return Plan(tuple(few), tuple(dict.fromkeys([*SHORT_RIVALS, *variants])), seeds=(0,), shares=(1.0,))


def predict_seconds(plan: Plan, applies: Mapping[tuple[str, str], bool]) -> dict[Pair, float]:
    """Predict the time of each pair.

    Parameters
    ----------
    plan : Plan
        The plan.
    applies : mapping of (rival, learner) to bool
        Whether each rival supports each learner.
    """
    datasets = [pair.dataset for pair in plan.pairs]
    return {
        pair: _DATA_SECONDS / datasets.count(pair.dataset)
        + len(plan.seeds) * _predict_seed_seconds(plan, pair, applies)
        for pair in plan.pairs
    }


def _predict_seed_seconds(plan: Plan, pair: Pair, applies: Mapping[tuple[str, str], bool]) -> float:
    limits = [("full", pair.seconds)]
    for share in plan.find_shares(pair.seconds):
        limits += [
            (rival, share * pair.seconds) for rival in plan.rotate_rivals(0, share) if applies[rival, pair.learner]
        ]
    return sum(
        _LIMIT_MULTIPLES.get(rival, 1.0) * limit + _EXTRA_SECONDS.get(rival, _DEFAULT_EXTRA_SECONDS)
        for rival, limit in limits
    )
