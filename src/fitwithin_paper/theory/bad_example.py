"""The bad example of the paper's appendix: too many mistakes hide the best classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitwithin_paper.theory.finite_problem import FiniteProblem, TieRule, simulate_tbatch, simulate_tct_base
from fitwithin_paper.theory.round_schedule import Rounding, RoundSchedule

# Share of mistakes in the paper's experiment.
PAPER_ALPHA = 0.9

# Rounds of TCTBase in the paper's experiment.
N_ROUNDS = 20

# Examples of TBatch in the paper's experiment.
BATCH_EXAMPLES = 1000

# Attempts in the paper's experiment.
PAPER_ATTEMPTS = 100

# Share of attempts in which the paper's TCTBase found the best classifier. Only shown for comparison.
PAPER_TCTBASE = 0.08

# The same for the paper's TBatch.
PAPER_TBATCH = 1.0

_ROUNDINGS: tuple[Rounding, ...] = ("down", "nearest", "up")

# Order of the hypotheses and tie rule. The paper lists the best classifier last, so there it loses every tie.
TIE_BREAKING: dict[str, tuple[tuple[int, ...], TieRule]] = {
    "as listed": ((0, 1, 2, 3), "first"),
    "best first": ((3, 0, 1, 2), "first"),
    "random": ((0, 1, 2, 3), "random"),
}


@dataclass(frozen=True)
class DiscoveryRate:
    """Share of attempts that found the best classifier.

    `any_round` counts every round, `last_round` only the returned hypothesis. 95 % of the repeats of 100
    attempts lie between `low` and `high`.
    """

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

    def format_brief(self) -> BriefDiscoveryRate:
        """Return the columns that fit on one line of a terminal."""
        shares = (f"{self.any_round:.1%}", f"{PAPER_ATTEMPTS * self.low:.0f}-{PAPER_ATTEMPTS * self.high:.0f}")
        return BriefDiscoveryRate(
            self.teacher, self.rounding, self.ties, *shares, f"{self.last_round:.1%}", f"{self.paper:.0%}"
        )


@dataclass(frozen=True)
class BriefDiscoveryRate:
    """A `DiscoveryRate` as text; `of_100` is the 95 % range of successes in 100 attempts."""

    teacher: str
    rounding: str
    ties: str
    any_round: str
    of_100: str
    last_round: str
    paper: str


@dataclass(frozen=True)
class DiscoveryRateByAlpha:
    """Discovery rate for one share of mistakes: in any round, and in the last round, which is returned."""

    alpha: float
    ties: str
    attempts: int
    any_round: float
    last_round: float


@dataclass(frozen=True)
class DiscoveryRateByRound:
    """Share of attempts in which this round's hypothesis is the best classifier."""

    alpha: float
    ties: str
    round: int
    found: float


@dataclass(frozen=True)
class BadExampleResult:
    """All measurements on the bad example."""

    rates: Sequence[DiscoveryRate]
    rates_by_alpha: Sequence[DiscoveryRateByAlpha]
    rates_by_round: Sequence[DiscoveryRateByRound]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Return the records by table name."""
        return {
            "bad_example": self.rates,
            "bad_example_alpha": self.rates_by_alpha,
            "bad_example_rounds": self.rates_by_round,
        }

    def summary(self) -> Sequence[BriefDiscoveryRate]:
        """Return the records to print."""
        return [row.format_brief() for row in self.rates]


def make_bad_example() -> FiniteProblem:
    """Return six points and the classifiers h1, h2, h3 and h-bar, the best, in the paper's order.

    Examples
    --------
    >>> (9 * make_bad_example().errors).round(12).tolist()
    [4.0, 4.0, 4.0, 3.0]
    """
    points = np.arange(1, 7)
    positive = ([1, 2, 3, 4], [1, 2, 5, 6], [3, 4, 5, 6], points)
    odd = points % 2 == 1
    return FiniteProblem(np.where(odd, 2, 1) / 9, np.array([np.isin(points, chosen) != odd for chosen in positive]))


def find_safe_alpha() -> float:
    """Return the share of mistakes below which alpha / (1 - alpha) is less than any other classifier's excess error.

    Below it, the agnostic theorem rules out all but the best classifier, given enough unbiased examples.

    Examples
    --------
    >>> round(find_safe_alpha(), 12)
    0.1
    """
    gap = float(make_bad_example().excess_errors[:3].min())
    return gap / (1 + gap)


def simulate_bad_example(rng: np.random.Generator, n_attempts: int = 1000) -> BadExampleResult:
    """Run TCTBase at 0.9 with every rounding and tie rule, then at other shares of mistakes, and TBatch.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of randomness.
    n_attempts : int, default=1000
        Attempts for each share of mistakes; the paper's own setting gets ten times as many.
    """
    return BadExampleResult(
        list(_simulate_paper_setting(rng, 10 * n_attempts)),
        list(_simulate_alphas(rng, n_attempts)),
        list(_simulate_rounds(rng, n_attempts)),
    )


def _simulate_paper_setting(rng: np.random.Generator, n_attempts: int) -> Iterator[DiscoveryRate]:
    for rounding in _ROUNDINGS:
        schedule = RoundSchedule(PAPER_ALPHA, N_ROUNDS, rounding)
        for ties in TIE_BREAKING:
            found = _find_best_by_tct_base(schedule, ties, n_attempts, rng)
            n_examples = int(schedule.n_examples[-1])
            shares = (*_share_with_range(np.any(found, axis=0)), float(found[-1].mean()))
            yield DiscoveryRate("TCTBase", PAPER_ALPHA, n_examples, rounding, ties, n_attempts, *shares, PAPER_TCTBASE)
    for ties, (order, tie_rule) in TIE_BREAKING.items():
        problem = make_bad_example().reorder(np.array(order))
        hypotheses = simulate_tbatch(problem, BATCH_EXAMPLES, n_attempts, rng, tie_rule)
        found = np.asarray(hypotheses == _best_index(order))
        shares = (*_share_with_range(found), float(found.mean()))
        yield DiscoveryRate("TBatch", 0.0, BATCH_EXAMPLES, "", ties, n_attempts, *shares, PAPER_TBATCH)


def _simulate_alphas(rng: np.random.Generator, n_attempts: int) -> Iterator[DiscoveryRateByAlpha]:
    for alpha in np.arange(20) / 20:
        for ties in TIE_BREAKING:
            schedule = RoundSchedule(float(alpha), N_ROUNDS, "nearest")
            found = _find_best_by_tct_base(schedule, ties, n_attempts, rng)
            shares = float(found.any(axis=0).mean()), float(found[-1].mean())
            yield DiscoveryRateByAlpha(float(alpha), ties, n_attempts, *shares)


def _simulate_rounds(rng: np.random.Generator, n_attempts: int) -> Iterator[DiscoveryRateByRound]:
    for ties in TIE_BREAKING:
        found = _find_best_by_tct_base(RoundSchedule(PAPER_ALPHA, N_ROUNDS, "nearest"), ties, n_attempts, rng)
        for number, share in enumerate(found.mean(axis=1), start=1):
            yield DiscoveryRateByRound(PAPER_ALPHA, ties, number, float(share))


def _find_best_by_tct_base(
    schedule: RoundSchedule, ties: str, n_attempts: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return whether each round of each attempt has the best classifier."""
    order, tie_rule = TIE_BREAKING[ties]
    problem = make_bad_example().reorder(np.array(order))
    return np.asarray(simulate_tct_base(problem, schedule, n_attempts, rng, tie_rule) == _best_index(order))


def _best_index(order: tuple[int, ...]) -> int:
    """Return the index, in this order, of the best classifier, which is the last in the paper's list."""
    return order.index(3)


def _share_with_range(found: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the share over all attempts, and the 95 % range of the shares in repeats of the paper's 100."""
    repeats = found.reshape(-1, PAPER_ATTEMPTS).mean(axis=1)
    low, high = np.quantile(repeats, [0.025, 0.975])
    return float(found.mean()), float(low), float(high)
