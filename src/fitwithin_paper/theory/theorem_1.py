"""Theorem 1: in the realizable case TCTBase matches TBatch's guarantee for a constant factor of its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitwithin_paper.theory.finite_problem import FiniteProblem, simulate_tbatch, simulate_tct_base
from fitwithin_paper.theory.high_probability_bound import DELTA, high_probability_bound
from fitwithin_paper.theory.round_schedule import RoundSchedule
from fitwithin_paper.theory.training_time import GROWTH_FACTORS, TrainingTime

# Shares of mistakes, from none to the paper's bad example.
ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)

# Exponents k of the training time.
EXPONENTS = (1, 2, 3)

# Rounds of TCTBase: enough to match the largest batch at alpha = 0.9.
_N_ROUNDS = 13

# Sample sizes of TBatch: just above the 2^i - 1 examples of a round, where doubling wastes most, and some between.
# Not 2^i - 1 itself: there TCTBase without mistakes is TBatch, and chance would decide which has the better bound.
_BATCH_SIZES = np.array([size * 2**power for power in range(7) for size in (4, 5, 6)][:-1])

# Rounds of TCTBase for the proof's own count: enough for the largest batch below at alpha = 0.9.
_N_PROOF_ROUNDS = 15

# Sample sizes of TBatch for the proof's own count.
_PROOF_BATCH_SIZES = np.arange(1, 1001)


@dataclass(frozen=True)
class TimeOverhead:
    """Time of TCTBase divided by that of TBatch for the same guarantee, at the worst sample size of TBatch.

    `proof` is the time until TCTBase holds as many unbiased examples as TBatch, which is all that the
    proof uses. `singletons` and `steps` are measured on two problems, with the worst risk minimiser.
    """

    k: int
    growth: str
    alpha: float
    bound: float
    proof: float
    singletons: float
    steps: float


@dataclass(frozen=True)
class ErrorAtBatchSize:
    """Error of TCTBase once it holds as many unbiased examples as TBatch, next to TBatch's guarantee.

    `epsilon` is epsilon_T, and `error` the same for TCTBase. `above` is the share of attempts with an error
    above epsilon, which the theorem bounds by `delta`.
    """

    problem: str
    alpha: float
    batch: int
    round: int
    examples: int
    epsilon: float
    error: float
    mean_error: float
    above: float
    delta: float


@dataclass(frozen=True)
class Theorem1Result:
    """All measurements for theorem 1."""

    overheads: Sequence[TimeOverhead]
    errors: Sequence[ErrorAtBatchSize]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Return the records by table name."""
        return {"theorem_1_overhead": self.overheads, "theorem_1_errors": self.errors}

    def summary(self) -> Sequence[Any]:
        """Return the records to print."""
        return [row for row in self.overheads if row.growth == "1 + ln m"]


def overhead_bound(alpha: float, k: int) -> float:
    """Return theorem 1's factor on the time of TBatch, 2 (2 / (1 - alpha))^(k + 1).

    Examples
    --------
    >>> overhead_bound(0.0, k=1), overhead_bound(0.5, k=1)
    (8.0, 32.0)
    """
    return float(2 * (2 / (1 - alpha)) ** (k + 1))


def make_singletons(n_points: int = 64) -> FiniteProblem:
    """Return a correct hypothesis and, for each point, one that is wrong only there; the worst first.

    The masses fall as 1/j. A mistake rules out a single hypothesis, so a hundred mistakes of one
    hypothesis carry no more information than one. Mistakes are nearly useless here.

    Examples
    --------
    >>> make_singletons(3).errors.round(3).tolist()
    [0.545, 0.273, 0.182, 0.0]
    """
    masses = 1 / np.arange(1, n_points + 1)
    wrong = np.vstack([np.eye(n_points, dtype=bool), np.zeros((1, n_points), dtype=bool)])
    return FiniteProblem(masses / masses.sum(), wrong).sort_worst_first()


def make_steps(n_points: int = 96) -> FiniteProblem:
    """Return all thresholds on equally likely points, with the correct one in the middle; the worst first.

    Examples
    --------
    >>> make_steps(4).errors.tolist()
    [0.5, 0.5, 0.25, 0.25, 0.0]
    """
    position = np.arange(n_points)
    above = position >= np.arange(n_points + 1)[:, np.newaxis]
    return FiniteProblem(np.full(n_points, 1 / n_points), above != above[n_points // 2]).sort_worst_first()


REALIZABLE_PROBLEMS = {"singletons": make_singletons, "steps": make_steps}


def simulate_theorem_1(rng: np.random.Generator, n_attempts: int = 1000) -> Theorem1Result:
    """Run TBatch over sample sizes and TCTBase over shares of mistakes; compare time and error."""
    batch_bounds: dict[str, NDArray[np.float64]] = {}
    errors: dict[tuple[str, float], NDArray[np.float64]] = {}
    for name, make_problem in REALIZABLE_PROBLEMS.items():
        problem = make_problem()
        batches = [simulate_tbatch(problem, int(size), n_attempts, rng) for size in _BATCH_SIZES]
        batch_bounds[name] = high_probability_bound(problem.errors[np.array(batches)])
        for alpha in ALPHAS:
            hypotheses = simulate_tct_base(problem, RoundSchedule(alpha, _N_ROUNDS), n_attempts, rng)
            errors[name, alpha] = problem.errors[hypotheses]
    return Theorem1Result(
        list(_measure_overheads(batch_bounds, errors)),
        [row for key in errors for row in _compare_errors(*key, batch_bounds[key[0]], errors[key])],
    )


def find_proof_rounds(schedule: RoundSchedule, batch_sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each sample size of TBatch, the first round (from 0) with as many unbiased examples.

    It is never later than the round of the proof, the first with batch_size / (1 - alpha) examples in all.

    Examples
    --------
    >>> find_proof_rounds(RoundSchedule(alpha=0.5, n_rounds=5), np.array([1, 2, 3, 5])).tolist()
    [0, 1, 2, 3]
    """
    return np.searchsorted(schedule.n_unbiased, batch_sizes)


def _measure_overheads(
    batch_bounds: Mapping[str, NDArray[np.float64]], errors: Mapping[tuple[str, float], NDArray[np.float64]]
) -> Iterator[TimeOverhead]:
    for k in EXPONENTS:
        for growth in GROWTH_FACTORS:
            training_time = TrainingTime(k, growth)
            for alpha in ALPHAS:
                schedule = RoundSchedule(alpha, _N_ROUNDS)
                rounds = [_find_matching_rounds(errors[name, alpha], batch_bounds[name]) for name in batch_bounds]
                measured = [_largest_overhead(training_time, schedule, _BATCH_SIZES, each) for each in rounds]
                proof = _measure_proof_overhead(training_time, alpha)
                yield TimeOverhead(k, growth, alpha, overhead_bound(alpha, k), proof, *measured)


def _measure_proof_overhead(training_time: TrainingTime, alpha: float) -> float:
    schedule = RoundSchedule(alpha, _N_PROOF_ROUNDS)
    rounds = find_proof_rounds(schedule, _PROOF_BATCH_SIZES)
    return _largest_overhead(training_time, schedule, _PROOF_BATCH_SIZES, rounds)


def _find_matching_rounds(errors: NDArray[np.float64], batch_bounds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first rounds, from 0, at which TCTBase's error bound is no worse than TBatch's."""
    # Errors of the worst risk minimiser never rise from round to round, so the bounds are sorted.
    return np.searchsorted(-high_probability_bound(errors), -batch_bounds)


def _largest_overhead(
    training_time: TrainingTime,
    schedule: RoundSchedule,
    batch_sizes: NDArray[np.int64],
    rounds: NDArray[np.int64],
) -> float:
    return float(np.max(training_time.after_rounds(schedule)[rounds] / training_time.of_training(batch_sizes)))


def _compare_errors(
    name: str, alpha: float, batch_bounds: NDArray[np.float64], errors: NDArray[np.float64]
) -> Iterator[ErrorAtBatchSize]:
    schedule = RoundSchedule(alpha, _N_ROUNDS)
    rounds = find_proof_rounds(schedule, _BATCH_SIZES)
    for batch_size, epsilon, index in zip(_BATCH_SIZES, batch_bounds, rounds, strict=True):
        found = errors[index]
        yield ErrorAtBatchSize(
            problem=name,
            alpha=alpha,
            batch=int(batch_size),
            round=int(index) + 1,
            examples=int(schedule.n_examples[index]),
            epsilon=float(epsilon),
            error=float(high_probability_bound(found)),
            mean_error=float(found.mean()),
            above=float(np.mean(found > epsilon)),
            delta=DELTA,
        )
