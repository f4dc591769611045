"""The threshold theorem: time to reach an error, TCTBase beside TBatch, over many orders of magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._research.theory.arrays import Floats
from fitwithin._research.theory.clock import LearnerTime
from fitwithin._research.theory.guarantee import DELTA, guaranteed
from fitwithin._research.theory.schedule import Schedule
from fitwithin._research.theory.thresholds import LEARNERS, Learner, tbatch_thresholds, tct_thresholds

ALPHAS = (0.05, 0.2, 0.5)


POWERS = (1, 2)


SIX_ORDERS = (1, 7)


SIXTY_ORDERS = (1, 61)


_ATTEMPTS = 1000


_ROUNDS = 36


_PER_DECADE = 4


_LARGEST_BATCH = 30


@dataclass(frozen=True)
class ErrorAtTime:
    """Errors at one simulated time, for k = 1 and f = 1; `error` is kept with probability 1 - `delta`."""

    teacher: str
    learner: str
    alpha: float
    examples: int
    time: float
    median_error: float
    error: float
    delta: float


@dataclass(frozen=True)
class TimeToError:
    """Least simulated time that keeps the error at `epsilon` with probability 1 - delta.

    `c` is log2 of TCTBase's time over the root of log2 of TBatch's, the constant of the theorem.
    """

    learner: str
    alpha: float
    k: int
    epsilon: float
    tct_base: float
    tbatch: float
    c: float


@dataclass(frozen=True)
class Fit:
    """Straight lines through log2 of TCTBase's time, over `orders` orders of magnitude of epsilon.

    `slope` and `r2` are those against the root of log2(1/epsilon), the theorem's law; `power` and
    `power_r2` against log2(1/epsilon), a power law. `tbatch` is the power of TBatch's time, about k.
    `c` is the least constant with which the theorem's bound holds over this range.
    """

    learner: str
    alpha: float
    k: int
    orders: int
    slope: float
    r2: float
    power: float
    power_r2: float
    tbatch: float
    c: float


@dataclass(frozen=True)
class Speedup:
    """All that is measured for the threshold theorem."""

    errors: Sequence[ErrorAtTime]
    times: Sequence[TimeToError]
    fits: Sequence[Fit]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Records by the name of their table."""
        # For other k the times follow from the examples of each round, and would only make the table long.
        times = [row for row in self.times if row.k == 1]
        return {"thresholds_errors": self.errors, "thresholds_times": times, "thresholds_fits": self.fits}

    def summary(self) -> Sequence[Any]:
        """The records to print."""
        return [fit for fit in self.fits if fit.k == 1]


def measure_speedup(rng: np.random.Generator) -> Speedup:
    """Run TCTBase for each learner and share of mistakes, and TBatch, down to tiny errors."""
    errors: list[ErrorAtTime] = []
    times: list[TimeToError] = []
    for learner in LEARNERS:
        errors += _batches(learner, rng)
        for alpha in ALPHAS:
            schedule = Schedule(alpha, _ROUNDS)
            found = tct_thresholds(schedule, learner, _ATTEMPTS, rng)
            errors += _rounds(learner, schedule, found)
            times += [row for k in POWERS for row in _times(learner, schedule, guaranteed(found), k)]
    return Speedup(errors, times, list(_fits(times)))


def batch_size(epsilon: float, learner: Learner, delta: float = DELTA) -> int:
    """The least number of examples by which TBatch keeps the error at epsilon with probability 1 - delta.

    Both gaps exceed a and b with probability (1 - a - b)^m. So the wider one exceeds epsilon with
    probability 2 (1 - epsilon)^m - (1 - 2 epsilon)^m, and half their difference, the error of the middle,
    with (1 - 2 epsilon)^m. Both formulas leave out that a gap ends with the line, which needs a side without examples.

    Examples
    --------
    >>> batch_size(0.01, "worst"), batch_size(0.01, "middle")
    (366, 149)
    """
    low, high = 0, 1
    while _failure(high, epsilon, learner) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _failure(middle, epsilon, learner) > delta else (low, middle)
    return high


def _failure(examples: int, epsilon: float, learner: Learner) -> float:
    """Probability that TBatch errs on more than epsilon."""
    both = math.exp(examples * math.log1p(-2 * epsilon))
    return both if learner == "middle" else 2 * math.exp(examples * math.log1p(-epsilon)) - both


def _batches(learner: Learner, rng: np.random.Generator) -> Iterator[ErrorAtTime]:
    for power in range(_LARGEST_BATCH + 1):
        found = tbatch_thresholds(2**power, learner, _ATTEMPTS, rng)
        median, kept = float(np.median(found)), float(guaranteed(found))
        yield ErrorAtTime("TBatch", learner, 0.0, 2**power, float(LearnerTime(1).of(2**power)), median, kept, DELTA)


def _rounds(learner: Learner, schedule: Schedule, found: Floats) -> Iterator[ErrorAtTime]:
    times = LearnerTime(1).after(schedule)
    columns = zip(schedule.examples, times, np.median(found, axis=1), guaranteed(found), strict=True)
    for examples, time, median, kept in columns:
        row = int(examples), float(time), float(median), float(kept)
        yield ErrorAtTime("TCTBase", learner, schedule.alpha, *row, DELTA)


def _times(learner: Learner, schedule: Schedule, kept: Floats, k: int) -> Iterator[TimeToError]:
    clock = LearnerTime(k)
    after = clock.after(schedule)
    first, last = SIXTY_ORDERS
    for step in range(first * _PER_DECADE, last * _PER_DECADE + 1):
        epsilon = 10.0 ** (-step / _PER_DECADE)
        reached = np.flatnonzero(kept <= epsilon)
        # Too slow a learner is not at this error yet; its table ends here.
        if not len(reached):
            return
        batch = float(clock.of(float(batch_size(epsilon, learner))))
        time = float(after[reached[0]])
        yield TimeToError(
            learner, schedule.alpha, k, epsilon, time, batch, math.log2(time) / math.sqrt(math.log2(batch))
        )


def _fits(times: Sequence[TimeToError]) -> Iterator[Fit]:
    for key in dict.fromkeys((row.learner, row.alpha, row.k) for row in times):
        rows = [row for row in times if (row.learner, row.alpha, row.k) == key]
        for first, last in (SIX_ORDERS, SIXTY_ORDERS):
            wanted = (last - first) * _PER_DECADE + 1
            if len(rows) >= wanted:
                yield _fit(key, last - first, rows[:wanted])


def _fit(key: tuple[str, float, int], orders: int, rows: Sequence[TimeToError]) -> Fit:
    bits = np.log2([1 / row.epsilon for row in rows])
    time, batch = np.log2([row.tct_base for row in rows]), np.log2([row.tbatch for row in rows])
    slope, _, r2 = line(np.sqrt(bits), time)
    power, _, power_r2 = line(bits, time)
    return Fit(*key, orders, slope, r2, power, power_r2, line(bits, batch)[0], max(row.c for row in rows))


def line(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Slope and intercept of the least squares line, and the share of the variance of y that it explains.

    Examples
    --------
    >>> [round(number, 9) for number in line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))]
    [2.0, 1.0, 1.0]
    """
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(intercept), float(np.corrcoef(x, y)[0, 1] ** 2)
