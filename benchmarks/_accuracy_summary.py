"""What the lines say: means over the seeds, who beats whom by the paper's test, and by how much."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from fitwithin._research.study.result_log import ResultLine
from fitwithin._research.study.significance import Direction, Tally, compare_accuracies, mean_of_known

AUTO, FULL, DOUBLE = "auto", "full", "double"

Key = tuple[str, str]
"""A data set and a learner."""


@dataclass(frozen=True)
class Duel:
    """Two rivals on one pair.

    Parameters
    ----------
    pair : (str, str)
        The data set and the learner.
    share : float
        Of T, their limit.
    first, second : float or None
        Mean accuracies over the seeds; None for one that at least once had no model in time.
    result : {"win", "tie", "loss"}
        For the first.
    """

    pair: Key
    share: float
    first: float | None
    second: float | None
    result: Direction

    @property
    def difference(self) -> float | None:
        """The first less the second; None where one of them is missing."""
        return None if self.first is None or self.second is None else self.first - self.second


@dataclass(frozen=True)
class Contest:
    """Two rivals on all pairs that both were tried on."""

    first: str
    second: str
    share: float
    duels: tuple[Duel, ...]

    @property
    def tally(self) -> Tally:
        """Wins, ties and losses of the first."""
        return Tally.count(duel.result for duel in self.duels)

    @property
    def difference(self) -> float | None:
        """The mean difference, where both have a model."""
        return mean_of_known(duel.difference for duel in self.duels)

    def of_learner(self, learner: str) -> Contest:
        """The same with one learner only."""
        kept = tuple(duel for duel in self.duels if duel.pair[1] == learner)
        return Contest(self.first, self.second, self.share, kept)


@dataclass(frozen=True, eq=False)
class Findings:
    """The lines of the benchmark, complete or not.

    Parameters
    ----------
    lines : sequence of mapping
        As they are in the file; of two about the same run the later one counts.
    half : {"tune", "final", "both"}
        Whose pairs to look at.
    """

    lines: Sequence[ResultLine]
    half: str = "both"

    @cached_property
    def pairs(self) -> Mapping[Key, ResultLine]:
        """What is known about each pair that has a run."""
        known = {(line["dataset"], line["learner"]): line for line in self.lines if line["kind"] == "pair"}
        run = {pair for pair, _, _ in self._fits}
        return {pair: line for pair, line in known.items() if self.half in (line["half"], "both") and pair in run}

    @cached_property
    def _fits(self) -> Mapping[tuple[Key, str, float], Mapping[int, ResultLine]]:
        fits: dict[tuple[Key, str, float], dict[int, ResultLine]] = defaultdict(dict)
        for line in self.lines:
            if line["kind"] == "fit":
                fits[(line["dataset"], line["learner"]), line["rival"], line["share"]][line["seed"]] = line
        return dict(fits)

    def fits(self, pair: Key, rival: str, share: float = 1.0) -> list[ResultLine]:
        """The runs of a rival on a pair, one a seed. A training on all rows has no limit, hence one share."""
        return list(self._fits.get((pair, rival, 1.0 if rival == FULL else share), {}).values())

    def all_fits(self, rival: str, share: float | None = None) -> list[ResultLine]:
        """The runs of a rival on all pairs."""
        return [
            fit
            for (pair, name, of), fits in self._fits.items()
            if name == rival and share in (None, of) and pair in self.pairs
            for fit in fits.values()
        ]

    @cached_property
    def rivals(self) -> list[str]:
        """Everyone who was run on these pairs, in the order of their first run."""
        return list(dict.fromkeys(name for pair, name, _ in self._fits if pair in self.pairs))

    @cached_property
    def learners(self) -> list[str]:
        """The learners of the pairs."""
        return list(dict.fromkeys(learner for _, learner in self.pairs))

    @cached_property
    def shares(self) -> list[float]:
        """The shares of T that were run, the largest first."""
        return sorted({share for pair, _, share in self._fits if pair in self.pairs}, reverse=True)

    def limit(self, pair: Key) -> float | None:
        """T: the mean time of a training on all rows."""
        return mean_of_known(fit["fit_seconds"] for fit in self.fits(pair, FULL))

    def accuracy(self, pair: Key, rival: str, share: float = 1.0) -> float | None:
        """The mean over the seeds; None unless there is a model from each."""
        found = [fit["accuracy"] for fit in self.fits(pair, rival, share)]
        return fmean(found) if found and None not in found else None

    def contest(self, first: str, second: str, share: float = 1.0) -> Contest:
        """One rival against another, at the same share of T."""
        duels = (self._duel(pair, first, second, share) for pair in self.pairs)
        return Contest(first, second, share, tuple(duel for duel in duels if duel is not None))

    def _duel(self, pair: Key, first: str, second: str, share: float) -> Duel | None:
        ours, theirs = (self.fits(pair, rival, share) for rival in (first, second))
        # Where the first one broke down it has no model, and loses.
        if not ours or not theirs or any(map(_broke_down, theirs)):
            return None
        a, b = (self.accuracy(pair, rival, share) for rival in (first, second))
        return Duel(pair, share, a, b, _result(a, b, self.pairs[pair]["test_rows"]))

    def quarter(self, first: str = AUTO, second: str = DOUBLE) -> dict[Key, tuple[float, float]]:
        """The accuracies of the first at a quarter of T and of the second at T, where both were run; 0 for no model."""
        return {
            pair: (self.accuracy(pair, first, 0.25) or 0.0, self.accuracy(pair, second) or 0.0)
            for pair in self.pairs
            if self.fits(pair, first, 0.25) and self.fits(pair, second)
        }

    def overheads(self, rival: str = AUTO) -> list[float]:
        """Of each run, the share of its limit that was neither training nor exam."""
        fits = (fit for fit in self.all_fits(rival) if fit["overhead"] is not None)
        return [fit["overhead"] / fit["limit"] for fit in fits]

    def slowness(self, rival: str, share: float) -> list[float]:
        """Of each run, its real time as a multiple of its limit."""
        return [fit["seconds"] / fit["limit"] for fit in self.all_fits(rival, share) if fit["limit"] and fit["seconds"]]


def _broke_down(fit: ResultLine) -> bool:
    """Whether a run failed for another reason than time; to win against that is no merit."""
    return fit["accuracy"] is None and fit["stop"] != "killed" and not str(fit["error"]).startswith("NoModelInTime")


def _result(first: float | None, second: float | None, test_rows: int) -> Direction:
    if first is not None and second is not None:
        return compare_accuracies(first, second, test_rows)
    if first is None and second is None:
        return "tie"
    return "loss" if first is None else "win"
