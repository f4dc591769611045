"""Theorem 1: in the realizable case TCTBase keeps the promise of TBatch for a constant factor of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._research.theory.arrays import Floats, Ints
from fitwithin._research.theory.clock import GROWTHS, LearnerTime, overhead_bound
from fitwithin._research.theory.finite import Problem, tbatch, tct_base
from fitwithin._research.theory.guarantee import DELTA, guaranteed
from fitwithin._research.theory.schedule import Schedule

ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)


POWERS = (1, 2, 3)


_ROUNDS = 13


# Just above the 2^i - 1 examples of a round, where doubling wastes most, and some between. Not 2^i - 1 itself:
# there TCTBase without mistakes is TBatch, and chance alone would decide which of the two promises more.
_BATCHES = np.array([size * 2**power for power in range(7) for size in (4, 5, 6)][:-1])


_PROOF_ROUNDS = 15


_PROOF_BATCHES = np.arange(1, 1001)


@dataclass(frozen=True)
class Overhead:
    """Time of TCTBase over that of TBatch for the same promise: the worst over the sizes of TBatch's sample.

    `proof` is the time until TCTBase holds as many unbiased examples as TBatch, which is all that the
    proof uses; `singletons` and `steps` are measured on two problems, with the worst risk minimiser.
    """

    k: int
    growth: str
    alpha: float
    bound: float
    proof: float
    singletons: float
    steps: float


@dataclass(frozen=True)
class ErrorAtBatch:
    """Error of TCTBase once it holds as many unbiased examples as TBatch, beside what TBatch promises.

    `epsilon` is epsilon_T, `error` the same for TCTBase, and `above` the share of attempts with an error
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
class Fallback:
    """All that is measured for theorem 1."""

    overhead: Sequence[Overhead]
    errors: Sequence[ErrorAtBatch]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Records by the name of their table."""
        return {"theorem_1_overhead": self.overhead, "theorem_1_errors": self.errors}

    def summary(self) -> Sequence[Any]:
        """The records to print."""
        return [row for row in self.overhead if row.growth == "1 + ln m"]


def singletons(points: int = 64) -> Problem:
    """A right hypothesis, and for each point one that is wrong there only; the worst first.

    The masses fall as 1/j. A mistake rules out a single hypothesis, so a hundred mistakes of one
    hypothesis teach no more than one: mistakes are nearly wasted here.

    Examples
    --------
    >>> singletons(3).errors.round(3).tolist()
    [0.545, 0.273, 0.182, 0.0]
    """
    masses = 1 / np.arange(1, points + 1)
    wrong = np.vstack([np.eye(points, dtype=bool), np.zeros((1, points), dtype=bool)])
    return Problem(masses / masses.sum(), wrong).worst_first()


def steps(points: int = 96) -> Problem:
    """All thresholds on equally likely points, with the right one in the middle; the worst first.

    Examples
    --------
    >>> steps(4).errors.tolist()
    [0.5, 0.5, 0.25, 0.25, 0.0]
    """
    place = np.arange(points)
    above = place >= np.arange(points + 1)[:, np.newaxis]
    return Problem(np.full(points, 1 / points), above != above[points // 2]).worst_first()


PROBLEMS = {"singletons": singletons, "steps": steps}


def measure_fallback(rng: np.random.Generator, attempts: int = 1000) -> Fallback:
    """Run TBatch over sizes and TCTBase over shares of mistakes, and compare time and error."""
    promised: dict[str, Floats] = {}
    errors: dict[tuple[str, float], Floats] = {}
    for name, make in PROBLEMS.items():
        problem = make()
        drawn = [tbatch(problem, int(batch), attempts, rng) for batch in _BATCHES]
        promised[name] = guaranteed(problem.errors[np.array(drawn)])
        for alpha in ALPHAS:
            errors[name, alpha] = problem.errors[tct_base(problem, Schedule(alpha, _ROUNDS), attempts, rng)]
    return Fallback(
        list(_overheads(promised, errors)),
        [row for key in errors for row in _errors_at(*key, promised[key[0]], errors[key])],
    )


def proof_round(schedule: Schedule, batches: Ints) -> Ints:
    """For each size of TBatch's sample the first round, from 0, that holds as many unbiased examples.

    Never later than the round of the proof, the first with batch / (1 - alpha) examples in all.

    Examples
    --------
    >>> proof_round(Schedule(alpha=0.5, rounds=5), np.array([1, 2, 3, 5])).tolist()
    [0, 1, 2, 3]
    """
    return np.searchsorted(schedule.unbiased, batches)


def _overheads(promised: Mapping[str, Floats], errors: Mapping[tuple[str, float], Floats]) -> Iterator[Overhead]:
    for k in POWERS:
        for growth in GROWTHS:
            clock = LearnerTime(k, growth)
            for alpha in ALPHAS:
                schedule = Schedule(alpha, _ROUNDS)
                measured = [
                    _worst(clock, schedule, _BATCHES, _round_of_promise(errors[name, alpha], promised[name]))
                    for name in PROBLEMS
                ]
                yield Overhead(k, growth, alpha, overhead_bound(alpha, k), _proof_overhead(clock, alpha), *measured)


def _proof_overhead(clock: LearnerTime, alpha: float) -> float:
    schedule = Schedule(alpha, _PROOF_ROUNDS)
    return _worst(clock, schedule, _PROOF_BATCHES, proof_round(schedule, _PROOF_BATCHES))


def _round_of_promise(errors: Floats, promised: Floats) -> Ints:
    """The first round, from 0, at which TCTBase promises as much as TBatch."""
    kept = guaranteed(errors)
    # Errors of the worst risk minimiser never rise from round to round, so the promises are sorted.
    return np.searchsorted(-kept, -promised)


def _worst(clock: LearnerTime, schedule: Schedule, batches: Ints, rounds: Ints) -> float:
    return float(np.max(clock.after(schedule)[rounds] / clock.of(batches)))


def _errors_at(name: str, alpha: float, promised: Floats, errors: Floats) -> Iterator[ErrorAtBatch]:
    schedule = Schedule(alpha, _ROUNDS)
    for batch, epsilon, place in zip(_BATCHES, promised, proof_round(schedule, _BATCHES), strict=True):
        found = errors[place]
        yield ErrorAtBatch(
            name,
            alpha,
            int(batch),
            int(place) + 1,
            int(schedule.examples[place]),
            float(epsilon),
            float(guaranteed(found)),
            float(found.mean()),
            float(np.mean(found > epsilon)),
            DELTA,
        )
