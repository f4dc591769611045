"""Comparison of rivals: means over the seeds, wins and losses by the paper's test, and figures of single runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median

from fitwithin_paper.study.result_log import ResultLine
from fitwithin_paper.study.significance import Direction, Tally, compare_accuracies, mean_of_known

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
        Time limit of the first as a share of T.
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

    @property
    def name(self) -> str:
        """Names of data set and learner."""
        return ", ".join(self.pair)


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

    @property
    def spread(self) -> Spread:
        """Differences in accuracy by pair, for the pairs for which both have a model."""
        known = ((duel.name, duel.difference) for duel in self.duels)
        return Spread({name: difference for name, difference in known if difference is not None})

    @property
    def losses(self) -> list[Duel]:
        """Pairs on which the first rival loses."""
        return [duel for duel in self.duels if duel.result == "loss"]

    def select_learner(self, learner: str) -> Contest:
        """Return the same contest for one learner only."""
        kept = tuple(duel for duel in self.duels if duel.pair[1] == learner)
        return Contest(self.first, self.second, self.share, kept)


@dataclass(frozen=True)
class Spread:
    """Values by the name of their run or pair.

    Examples
    --------
    >>> spread = Spread({"a": 0.1, "b": 0.2, "c": 0.6})
    >>> spread.median, round(spread.mean, 3), spread.largest, spread.smallest
    (0.2, 0.3, ('c', 0.6), ('a', 0.1))
    """

    values: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return fmean(self.values.values())

    @property
    def median(self) -> float:
        """Median of the values."""
        return median(self.values.values())

    @property
    def largest(self) -> tuple[str, float]:
        """Name and value of the largest."""
        return max(self.values.items(), key=lambda each: each[1])

    @property
    def smallest(self) -> tuple[str, float]:
        """Name and value of the smallest."""
        return min(self.values.items(), key=lambda each: each[1])


@dataclass(frozen=True, eq=False)
class Findings:
    """Result lines of one list of the benchmark, complete or not.

    Parameters
    ----------
    lines : sequence of mapping
        Lines of the file; of two lines about the same run the later one counts.
    """

    lines: Sequence[ResultLine]

    @cached_property
    def pairs(self) -> Mapping[PairKey, ResultLine]:
        """ResultLine with the description of each pair that has a run."""
        known = {(line["dataset"], line["learner"]): line for line in self.lines if line["kind"] == "pair"}
        run = {pair for pair, _, _ in self._fits}
        return {pair: line for pair, line in known.items() if pair in run}

    @cached_property
    def list_name(self) -> str:
        """Name of the list."""
        return " and ".join(sorted({line["list"] for line in self.pairs.values()}))

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
        """Return T: the mean limit of the runs at T, or the mean time of a fit on all rows if there are none."""
        limits = [fit["limit"] for rival in self.rivals if rival != FULL for fit in self.fits(pair, rival)]
        return mean_of_known(limits or (fit["fit_seconds"] for fit in self.fits(pair, FULL)))

    def accuracy(self, pair: PairKey, rival: str, share: float = 1.0) -> float | None:
        """Return the mean accuracy over the seeds; None unless every seed has a model."""
        found = [fit["accuracy"] for fit in self.fits(pair, rival, share)]
        return fmean(found) if found and None not in found else None

    def contest(self, first: str, second: str, share: float = 1.0, second_share: float | None = None) -> Contest:
        """Compare two rivals at the same share of T, or at two."""
        shares = (share, share if second_share is None else second_share)
        duels = (self._compare_on_pair(pair, (first, second), shares) for pair in self.pairs)
        return Contest(first, second, share, tuple(duel for duel in duels if duel is not None))

    def _compare_on_pair(self, pair: PairKey, rivals: tuple[str, str], shares: tuple[float, float]) -> Duel | None:
        both = list(zip(rivals, shares, strict=True))
        ours, theirs = (self.fits(pair, rival, share) for rival, share in both)
        # If the first one failed, it has no model and loses.
        if not ours or not theirs or any(map(_has_failed, theirs)):
            return None
        a, b = (self.accuracy(pair, rival, share) for rival, share in both)
        return Duel(pair, shares[0], a, b, _decide_result(a, b, self.pairs[pair]["test_rows"]))

    def lost_shares(self, share: float, rival: str = AUTO) -> Spread:
        """Return for each run the share of its limit that went into fits that left no model."""
        return self._measure(lambda fit: _divide(find_lost_seconds(fit), fit["limit"]), share, rival)

    def overhead_shares(self, least_limit: float = 0.0, below_limit: float = math.inf) -> Spread:
        """Return for each run of auto the share of its limit that was neither fit nor exam, for limits in a range."""
        return self._measure(
            lambda fit: _divide(fit["overhead"], fit["limit"]) if least_limit <= fit["limit"] < below_limit else None,
            None,
        )

    def late_seconds(self, share: float | None = None) -> Spread:
        """Return for each run of auto the seconds from its deadline to its return; negative if it was early."""
        # The time of a run that failed is not measured from the first line of its fit.
        return self._measure(lambda fit: None if _has_failed(fit) else fit["seconds"] - fit["limit"], share)

    def row_shares(self, left_out: Sequence[PairKey] = ()) -> Spread:
        """Return for each run of auto at T the rows of its model as a share of those that one fit takes in T."""
        kept = {pair: line["rows"] for pair, line in self.pairs.items() if pair not in left_out}
        # A run without a model has no rows.
        return self._measure(
            lambda fit: _divide(fit["rows"] or 0, kept.get((fit["dataset"], fit["learner"]))), share=1.0
        )

    def _measure(self, figure: Callable[[ResultLine], float | None], share: float | None, rival: str = AUTO) -> Spread:
        found = ((_name_run(fit), figure(fit)) for fit in self.all_fits(rival, share))
        return Spread({name: value for name, value in found if value is not None})

    def time_ratios(self, rival: str, share: float) -> list[float]:
        """Return for each run its real time as a multiple of its limit."""
        return [fit["seconds"] / fit["limit"] for fit in self.all_fits(rival, share) if fit["limit"] and fit["seconds"]]


def find_lost_seconds(fit: ResultLine) -> float | None:
    """Return the seconds in fits that left no model; the whole limit of a run that ended without one."""
    if fit["accuracy"] is None:
        return float(fit["limit"])
    lost = fit.get("lost")
    return None if lost is None else float(lost)


def format_share(share: float) -> str:
    """Return a share of T in words.

    Examples
    --------
    >>> format_share(1.0), format_share(0.25)
    ('T', '0.25 T')
    """
    return "T" if share == 1 else f"{share:g} T"


def _name_run(fit: ResultLine) -> str:
    return f"{fit['dataset']}, {fit['learner']}, {format_share(fit['share'])}, seed {fit['seed']}"


def _divide(value: float | None, by: float | None) -> float | None:
    return None if value is None or by is None else value / by


def _has_failed(fit: ResultLine) -> bool:
    """Return whether a run failed for another reason than time; such a run does not count as a win for the other."""
    return fit["accuracy"] is None and fit["stop"] != "killed" and not str(fit["error"]).startswith("NoModelInTime")


def _decide_result(first: float | None, second: float | None, test_rows: int) -> Direction:
    if first is not None and second is not None:
        return compare_accuracies(first, second, test_rows)
    if first is None and second is None:
        return "tie"
    return "loss" if first is None else "win"
