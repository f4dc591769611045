"""Plan of the accuracy benchmark: pairs of a data set and a learner, rivals, seeds, shares of T."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

PAIRS = Path(__file__).with_name("accuracy_pairs.csv")
"""File with the pairs. Those of the final list were written down before auto was tuned on any other."""

LISTS = ("tuning", "final")
"""Lists of pairs. Settings may be chosen by the tuning list; the final list is run once, at the end. No pair is in
both, but some data sets are: the final list has other learners and other encodings."""

RIVALS = ("full", "auto", "tct", "double", "tct_al", "sgd", "flaml", "lightgbm-callback")
"""All rivals; the first one measures T."""

FEW_RIVALS = ("full", "auto", "double", "tct")
"""Rivals of the final list and of the short version."""

# The constants below only predict how long the benchmark takes. Real time as a multiple of the limit; 1 by default.
_LIMIT_MULTIPLES: Mapping[str, float] = {"flaml": 2.2}

# Seconds of a run beyond its limit, for the warm-up and the test rows; FLAML has imports too.
_EXTRA_SECONDS: Mapping[str, float] = {"flaml": 6.0}

# The same for all other rivals.
_DEFAULT_EXTRA_SECONDS = 2.0

# Seconds to read and encode a data set.
_DATA_SECONDS = 20.0


@dataclass(frozen=True)
class Limits:
    """Time limits of a list, as shares of T, the time of a fit on all rows.

    Parameters
    ----------
    auto, rivals : tuple of float
        Shares of T for auto and its variants, and for the other rivals; the first is 1.
    shortest : float
        Limits below T that are shorter than this, in seconds, are skipped.
    least_full : float, default=0.0
        T in seconds where a fit on all rows takes less. KNN's fit takes no time at all.
    """

    auto: tuple[float, ...]
    rivals: tuple[float, ...]
    shortest: float
    least_full: float = 0.0

    def find_full_seconds(self, measured: float) -> float:
        """Return T for a fit on all rows that took this long."""
        return max(measured, self.least_full)

    def select_shares(self, full_seconds: float) -> list[float]:
        """Return the shares for a given T, without those that give too short a limit."""
        every = dict.fromkeys([*self.auto, *self.rivals])
        return [share for share in every if share >= 1 or share * full_seconds >= self.shortest]


LIMITS: Mapping[str, Limits] = {
    "tuning": Limits(auto=(1.0, 0.25, 0.1), rivals=(1.0, 0.25, 0.1), shortest=2.0),
    "final": Limits(auto=(1.0, 0.25, 4.0), rivals=(1.0, 0.25), shortest=0.5, least_full=3.0),
}
"""Limits of each list."""


@dataclass(frozen=True)
class Pair:
    """A data set and a learner.

    Parameters
    ----------
    list_name : {"tuning", "final"}
        List of the pair: auto may be tuned on "tuning" only.
    dataset, learner : str
        Their names.
    rows : int
        Training rows, chosen so that a fit on all of them takes 3 to 60 s. For a memory-mapped data set every training
        row is offered, and these are the rows of the fit that measures T.
    seconds : float
        Approximate T. The benchmark measures it again.
    short_rows : int or None
        Training rows in the short version; None if the pair is not part of it.
    test_rows : int or None
        Maximum number of test rows; None for that of the plan.
    """

    list_name: str
    dataset: str
    learner: str
    rows: int
    seconds: float
    short_rows: int | None = None
    test_rows: int | None = None

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
    limits : Limits
        Time limits as shares of T.
    test_rows : int
        Maximum number of test rows; predicting more would take longer than the fit.
    """

    pairs: tuple[Pair, ...]
    rivals: tuple[str, ...] = RIVALS
    seeds: tuple[int, ...] = (0, 1)
    limits: Limits = LIMITS["tuning"]
    test_rows: int = 50_000

    def group_by_dataset(self) -> Iterator[tuple[str, list[Pair]]]:
        """Return the pairs of each data set, so that it is read once."""
        return ((dataset, list(pairs)) for dataset, pairs in groupby(self.pairs, key=lambda pair: pair.dataset))

    def list_runs(self, full_seconds: float, seed: int) -> list[tuple[str, float]]:
        """Return the runs of a seed for a given T, as rivals and shares of T."""
        shares = self.limits.select_shares(full_seconds)
        return [(rival, share) for share in shares for rival in self._rotate_rivals(seed, share)]

    def _rotate_rivals(self, seed: int, share: float) -> list[str]:
        """Return the rivals of a share in rotating order, so that none is always first."""
        rivals = [rival for rival in self.rivals if rival != "full" and share in self._shares_of(rival)]
        every = list(dict.fromkeys([*self.limits.auto, *self.limits.rivals]))
        turn = (seed + every.index(share)) % max(1, len(rivals))
        return rivals[turn:] + rivals[:turn]

    def _shares_of(self, rival: str) -> tuple[float, ...]:
        return self.limits.auto if rival.startswith("auto") else self.limits.rivals


def read_pairs(file: Path = PAIRS) -> tuple[Pair, ...]:
    """Read all pairs."""
    with file.open(newline="", encoding="utf-8") as lines:
        return tuple(_parse_pair(row) for row in csv.DictReader(lines))


def _parse_pair(row: Mapping[str, str]) -> Pair:
    short, test = (int(row[column]) if row[column] else None for column in ("short_rows", "test_rows"))
    return Pair(row["list"], row["dataset"], row["learner"], int(row["rows"]), float(row["seconds"]), short, test)


def select_pairs(
    pairs: Sequence[Pair], list_name: str, only: str = "", part: tuple[int, int] = (1, 1)
) -> tuple[Pair, ...]:
    """Return the pairs of a list whose name contains a text.

    Parameters
    ----------
    pairs : sequence of Pair
        All pairs.
    list_name : {"tuning", "final"}
        The list.
    only : str, default=""
        The text.
    part : (int, int), default=(1, 1)
        Number of the part, from 1, and number of parts: every n-th data set, for runs in parallel.
    """
    chosen = [pair for pair in pairs if pair.list_name == list_name and only in pair.name]
    datasets = list(dict.fromkeys(pair.dataset for pair in chosen))
    number, parts = part
    return tuple(pair for pair in chosen if pair.dataset in datasets[number - 1 :: parts])


def make_short_plan(pairs: Sequence[Pair], variants: Sequence[str] = ()) -> Plan:
    """Return a plan of ten minutes: few pairs with fewer rows, one seed, the most important rivals."""
    few = (replace(pair, rows=pair.short_rows, seconds=3.0) for pair in pairs if pair.short_rows is not None)
    limits = Limits(auto=(1.0,), rivals=(1.0,), shortest=0.0)
    return Plan(tuple(few), tuple(dict.fromkeys([*FEW_RIVALS, *variants])), seeds=(0,), limits=limits)


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
    runs = [(rival, share) for rival, share in plan.list_runs(pair.seconds, 0) if applies[rival, pair.learner]]
    return sum(
        _LIMIT_MULTIPLES.get(rival, 1.0) * share * pair.seconds + _EXTRA_SECONDS.get(rival, _DEFAULT_EXTRA_SECONDS)
        for rival, share in [("full", 1.0), *runs]
    )
