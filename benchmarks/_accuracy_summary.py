"""Comparison of rivals: means over the seeds, wins and losses by the paper's test, and differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from fitwithin._research.study.result_log import ResultLine
from fitwithin._research.study.significance import Direction, Tally, compare_accuracies, mean_of_known

AUTO = "auto"
FULL = "full"
DOUBLE = "double"

PairKey = tuple[str, str]
"""A data set and a learner."""


@dataclass(frozen=True)
class Duel:
    """Two rivals on one pair.

    Parameters
    ----------
    pair : (str, str)
        The data set and the learner.
    share : float
        Their time limit as a share of T.
    first, second : float or None
        Mean accuracies over the seeds; None for a rival that had no model in time for some seed.
    result : {"win", "tie", "loss"}
        Result for the first.
    """

    pair: PairKey
    share: float
    first: float | None
    second: float | None
    result: Direction

    @property
    def difference(self) -> float | None:
        """Accuracy of the first minus that of the second; None if one is missing."""
        return None if self.first is None or self.second is None else self.first - self.second


@dataclass(frozen=True)
class Contest:
    """Two rivals on all pairs that both ran on."""

    first: str
    second: str
    share: float
    duels: tuple[Duel, ...]

    @property
    def tally(self) -> Tally:
        """Wins, ties and losses of the first rival."""
        return Tally.count(duel.result for duel in self.duels)

    @property
    def difference(self) -> float | None:
        """Mean difference over the pairs for which both have a model."""
        return mean_of_known(duel.difference for duel in self.duels)

    def select_learner(self, learner: str) -> Contest:
        """Return the same contest for one learner only."""
        kept = tuple(duel for duel in self.duels if duel.pair[1] == learner)
        return Contest(self.first, self.second, self.share, kept)


@dataclass(frozen=True, eq=False)
class Findings:
    """Result lines of the benchmark, complete or not.

    Parameters
    ----------
    lines : sequence of mapping
        Lines of the file; of two lines about the same run the later one counts.
    half : {"tune", "final", "both"}
        Half whose pairs to include.
    """

    lines: Sequence[ResultLine]
    half: str = "both"

    @cached_property
    def pairs(self) -> Mapping[PairKey, ResultLine]:
        """ResultLine with the description of each pair that has a run."""
        known = {(line["dataset"], line["learner"]): line for line in self.lines if line["kind"] == "pair"}
        run = {pair for pair, _, _ in self._fits}
        return {pair: line for pair, line in known.items() if self.half in (line["half"], "both") and pair in run}

    @cached_property
    def _fits(self) -> Mapping[tuple[PairKey, str, float], Mapping[int, ResultLine]]:
        fits: dict[tuple[PairKey, str, float], dict[int, ResultLine]] = defaultdict(dict)
        for line in self.lines:
            if line["kind"] == "fit":
                fits[(line["dataset"], line["learner"]), line["rival"], line["share"]][line["seed"]] = line
        return dict(fits)

    def fits(self, pair: PairKey, rival: str, share: float = 1.0) -> list[ResultLine]:
        """Return the runs of a rival on a pair, one for each seed. A fit on all rows has only the share 1."""
        return list(self._fits.get((pair, rival, 1.0 if rival == FULL else share), {}).values())

    def all_fits(self, rival: str, share: float | None = None) -> list[ResultLine]:
        """Return the runs of a rival on all pairs."""
        return [
            fit
            for (pair, name, of), fits in self._fits.items()
            if name == rival and share in (None, of) and pair in self.pairs
            for fit in fits.values()
        ]

    @cached_property
    def rivals(self) -> list[str]:
        """Rivals that ran on these pairs, in the order of their first run."""
        return list(dict.fromkeys(name for pair, name, _ in self._fits if pair in self.pairs))

    @cached_property
    def learners(self) -> list[str]:
        """Learners of the pairs."""
        return list(dict.fromkeys(learner for _, learner in self.pairs))

    @cached_property
    def shares(self) -> list[float]:
        """Shares of T that were run, the largest first."""
        return sorted({share for pair, _, share in self._fits if pair in self.pairs}, reverse=True)

    def mean_limit(self, pair: PairKey) -> float | None:
        """Return T, the mean time of a fit on all rows."""
        return mean_of_known(fit["fit_seconds"] for fit in self.fits(pair, FULL))

    def accuracy(self, pair: PairKey, rival: str, share: float = 1.0) -> float | None:
        """Return the mean accuracy over the seeds; None unless every seed has a model."""
        found = [fit["accuracy"] for fit in self.fits(pair, rival, share)]
        return fmean(found) if found and None not in found else None

    def contest(self, first: str, second: str, share: float = 1.0) -> Contest:
        """Compare two rivals at the same share of T."""
        duels = (self._compare_on_pair(pair, first, second, share) for pair in self.pairs)
        return Contest(first, second, share, tuple(duel for duel in duels if duel is not None))

    def _compare_on_pair(self, pair: PairKey, first: str, second: str, share: float) -> Duel | None:
        ours, theirs = (self.fits(pair, rival, share) for rival in (first, second))
        # If the first one failed, it has no model and loses.
        if not ours or not theirs or any(map(_has_failed, theirs)):
            return None
        a, b = (self.accuracy(pair, rival, share) for rival in (first, second))
        return Duel(pair, share, a, b, _decide_result(a, b, self.pairs[pair]["test_rows"]))

    def compare_at_quarter(self, first: str = AUTO, second: str = DOUBLE) -> dict[PairKey, tuple[float, float]]:
        """Return accuracies of the first at a quarter of T and of the second at T, if both ran; 0 for no model."""
        return {
            pair: (self.accuracy(pair, first, 0.25) or 0.0, self.accuracy(pair, second) or 0.0)
            for pair in self.pairs
            if self.fits(pair, first, 0.25) and self.fits(pair, second)
        }

    def overhead_shares(self, rival: str = AUTO) -> list[float]:
        """Return for each run the share of its limit that was neither fit nor exam."""
        fits = (fit for fit in self.all_fits(rival) if fit["overhead"] is not None)
        return [fit["overhead"] / fit["limit"] for fit in fits]

    def time_ratios(self, rival: str, share: float) -> list[float]:
        """Return for each run its real time as a multiple of its limit."""
        return [fit["seconds"] / fit["limit"] for fit in self.all_fits(rival, share) if fit["limit"] and fit["seconds"]]


def _has_failed(fit: ResultLine) -> bool:
    """Return whether a run failed for another reason than time; such a run does not count as a win for the other."""
    return fit["accuracy"] is None and fit["stop"] != "killed" and not str(fit["error"]).startswith("NoModelInTime")


def _decide_result(first: float | None, second: float | None, test_rows: int) -> Direction:
    if first is not None and second is not None:
        return compare_accuracies(first, second, test_rows)
    if first is None and second is None:
        return "tie"
    return "loss" if first is None else "win"
