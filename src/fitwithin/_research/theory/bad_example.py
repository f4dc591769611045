"""The bad example of the paper's appendix: too many mistakes hide the best classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._research.theory.arrays import Bools
from fitwithin._research.theory.finite import Problem, Ties, tbatch, tct_base
from fitwithin._research.theory.schedule import Rounding, Schedule

ALPHA = 0.9


ROUNDS = 20


BATCH = 1000


ATTEMPTS = 100


# The paper's own figures, over 100 attempts; nothing is computed from them.
PAPER_TCTBASE = 0.08


PAPER_TBATCH = 1.0


_ROUNDINGS: tuple[Rounding, ...] = ("down", "nearest", "up")


# How a tie is broken. The paper lists the best classifier last, so it loses every tie that goes by the list.
TIES: dict[str, tuple[tuple[int, ...], Ties]] = {
    "as listed": ((0, 1, 2, 3), "first"),
    "best first": ((3, 0, 1, 2), "first"),
    "random": ((0, 1, 2, 3), "random"),
}


@dataclass(frozen=True)
class Found:
    """How often the best classifier was found: `low` and `high` hold 95 % of the repeats of 100 attempts."""

    teacher: str
    alpha: float
    examples: int
    rounding: str
    ties: str
    attempts: int
    any_round: float
    low: float
    high: float
    last_round: float
    paper: float

    def briefly(self) -> FoundBriefly:
        """What fits on a line."""
        shares = (f"{self.any_round:.1%}", f"{ATTEMPTS * self.low:.0f}-{ATTEMPTS * self.high:.0f}")
        return FoundBriefly(
            self.teacher, self.rounding, self.ties, *shares, f"{self.last_round:.1%}", f"{self.paper:.0%}"
        )


@dataclass(frozen=True)
class FoundBriefly:
    """The same as text; `of_100` is what 95 % of the repeats of 100 attempts count."""

    teacher: str
    rounding: str
    ties: str
    any_round: str
    of_100: str
    last_round: str
    paper: str


@dataclass(frozen=True)
class AtAlpha:
    """The same for one share of mistakes: in any round, and in the last, which is the one returned."""

    alpha: float
    ties: str
    attempts: int
    any_round: float
    last_round: float


@dataclass(frozen=True)
class AtRound:
    """Share of the attempts whose hypothesis of this round is the best classifier."""

    alpha: float
    ties: str
    round: int
    found: float


@dataclass(frozen=True)
class BadExample:
    """All that is measured on the bad example."""

    found: Sequence[Found]
    curve: Sequence[AtAlpha]
    rounds: Sequence[AtRound]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Records by the name of their table."""
        return {"bad_example": self.found, "bad_example_alpha": self.curve, "bad_example_rounds": self.rounds}

    def summary(self) -> Sequence[FoundBriefly]:
        """The records to print."""
        return [row.briefly() for row in self.found]


def bad_example() -> Problem:
    """Six points and the classifiers h1, h2, h3 and h-bar, the best, in the paper's order.

    Examples
    --------
    >>> (9 * bad_example().errors).round(12).tolist()
    [4.0, 4.0, 4.0, 3.0]
    """
    points = np.arange(1, 7)
    positive = ([1, 2, 3, 4], [1, 2, 5, 6], [3, 4, 5, 6], points)
    odd = points % 2 == 1
    return Problem(np.where(odd, 2, 1) / 9, np.array([np.isin(points, chosen) != odd for chosen in positive]))


def safe_alpha() -> float:
    """The share of mistakes below which alpha / (1 - alpha) is less than what any other classifier loses.

    There the agnostic theorem leaves only the best classifier, once the unbiased examples are many.

    Examples
    --------
    >>> round(safe_alpha(), 12)
    0.1
    """
    gap = float(bad_example().excess[:3].min())
    return gap / (1 + gap)


def measure_bad_example(rng: np.random.Generator, attempts: int = 1000) -> BadExample:
    """Run TCTBase at 0.9 in all ways to round and to break ties, then at other shares, and TBatch.

    Parameters
    ----------
    rng : numpy.random.Generator
        All chance.
    attempts : int, default=1000
        For each share of mistakes; ten times as many for the paper's own.
    """
    return BadExample(list(_found(rng, 10 * attempts)), list(_curve(rng, attempts)), list(_rounds(rng, attempts)))


def _found(rng: np.random.Generator, attempts: int) -> Iterator[Found]:
    for rounding in _ROUNDINGS:
        schedule = Schedule(ALPHA, ROUNDS, rounding)
        for ties in TIES:
            hits = _tct_hits(schedule, ties, attempts, rng)
            examples = int(schedule.examples[-1])
            shares = (*_shares(np.any(hits, axis=0)), float(hits[-1].mean()))
            yield Found("TCTBase", ALPHA, examples, rounding, ties, attempts, *shares, PAPER_TCTBASE)
    for ties, (order, rule) in TIES.items():
        chosen = tbatch(bad_example().reordered(np.array(order)), BATCH, attempts, rng, rule)
        hit = np.asarray(chosen == _best(order))
        yield Found("TBatch", 0.0, BATCH, "", ties, attempts, *_shares(hit), float(hit.mean()), PAPER_TBATCH)


def _curve(rng: np.random.Generator, attempts: int) -> Iterator[AtAlpha]:
    for alpha in np.arange(20) / 20:
        for ties in TIES:
            hits = _tct_hits(Schedule(float(alpha), ROUNDS, "nearest"), ties, attempts, rng)
            shares = float(hits.any(axis=0).mean()), float(hits[-1].mean())
            yield AtAlpha(float(alpha), ties, attempts, *shares)


def _rounds(rng: np.random.Generator, attempts: int) -> Iterator[AtRound]:
    for ties in TIES:
        hits = _tct_hits(Schedule(ALPHA, ROUNDS, "nearest"), ties, attempts, rng)
        for number, share in enumerate(hits.mean(axis=1), start=1):
            yield AtRound(ALPHA, ties, number, float(share))


def _tct_hits(schedule: Schedule, ties: str, attempts: int, rng: np.random.Generator) -> Bools:
    order, rule = TIES[ties]
    chosen = tct_base(bad_example().reordered(np.array(order)), schedule, attempts, rng, rule)
    return np.asarray(chosen == _best(order))


def _best(order: tuple[int, ...]) -> int:
    """Where the best classifier, the last of the paper's list, is in this order."""
    return order.index(3)


def _shares(hit: Bools) -> tuple[float, float, float]:
    """The share of all attempts, and the range of 95 % of the repeats of the paper's 100."""
    repeats = hit.reshape(-1, ATTEMPTS).mean(axis=1)
    low, high = np.quantile(repeats, [0.025, 0.975])
    return float(hit.mean()), float(low), float(high)
