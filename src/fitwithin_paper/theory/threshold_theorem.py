"""The threshold theorem: time of TCTBase and TBatch to reach an error, over many orders of magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitwithin_paper.theory.high_probability_bound import DELTA, high_probability_bound
from fitwithin_paper.theory.round_schedule import RoundSchedule
from fitwithin_paper.theory.threshold_problem import (
    THRESHOLD_LEARNERS,
    ThresholdLearner,
    simulate_tbatch_thresholds,
    simulate_tct_base_thresholds,
)
from fitwithin_paper.theory.training_time import TrainingTime

# Shares of mistakes.
ALPHAS = (0.05, 0.2, 0.5)

# Exponents k of the training time.
EXPONENTS = (1, 2)

# A range of errors from 10^-first to 10^-last: a range that a user meets.
SIX_ORDERS = (1, 7)

# The same, wide enough to tell the theorem's law from a power law.
SIXTY_ORDERS = (1, 61)

# Attempts for each learner and share of mistakes.
_N_ATTEMPTS = 1000

# Rounds of TCTBase: enough for the worst learner to reach an error of 10^-61.
_N_ROUNDS = 36

# Errors for each power of ten.
_ERRORS_PER_DECADE = 4

# log2 of TBatch's largest sample, about 10^9 examples.
_LARGEST_BATCH_POWER = 30


@dataclass(frozen=True)
class ErrorAtTime:
    """Errors at one simulated time, for k = 1 and f = 1; `error` holds with probability 1 - `delta`."""

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

    `c` is log2 of TCTBase's time divided by the root of log2 of TBatch's, the constant of the theorem.
    """

    learner: str
    alpha: float
    k: int
    epsilon: float
    tct_base: float
    tbatch: float
    c: float


@dataclass(frozen=True)
class ScalingFit:
    """Straight lines through log2 of TCTBase's time, over `orders` orders of magnitude of epsilon.

    `slope` and `r2` describe the line against the root of log2(1/epsilon), the theorem's law; `power` and
    `power_r2` describe the line against log2(1/epsilon), a power law. `tbatch` is the exponent of TBatch's
    time, about k. `c` is the least constant with which the theorem's bound holds over this range.
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
class ThresholdResult:
    """All measurements for the threshold theorem."""

    errors: Sequence[ErrorAtTime]
    times: Sequence[TimeToError]
    fits: Sequence[ScalingFit]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Return the records by table name."""
        # For other k the times follow from the examples of each round and would only lengthen the table.
        times = [row for row in self.times if row.k == 1]
        return {"thresholds_errors": self.errors, "thresholds_times": times, "thresholds_fits": self.fits}

    def summary(self) -> Sequence[Any]:
        """Return the records to print."""
        return [fit for fit in self.fits if fit.k == 1]


def simulate_threshold_theorem(rng: np.random.Generator) -> ThresholdResult:
    """Run TCTBase for each learner and share of mistakes, and TBatch, down to tiny errors."""
    errors: list[ErrorAtTime] = []
    times: list[TimeToError] = []
    for learner in THRESHOLD_LEARNERS:
        errors += _measure_tbatch_errors(learner, rng)
        for alpha in ALPHAS:
            schedule = RoundSchedule(alpha, _N_ROUNDS)
            found = simulate_tct_base_thresholds(schedule, learner, _N_ATTEMPTS, rng)
            errors += _list_round_errors(learner, schedule, found)
            bounds = high_probability_bound(found)
            times += [row for k in EXPONENTS for row in _find_times_to_error(learner, schedule, bounds, k)]
    return ThresholdResult(errors, times, list(_fit_scaling_laws(times)))


def find_batch_size(epsilon: float, learner: ThresholdLearner, delta: float = DELTA) -> int:
    """Return the least number of examples with which TBatch keeps the error at epsilon with probability 1 - delta.

    The two gaps exceed a and b with probability (1 - a - b)^m. So the wider one exceeds epsilon with
    probability 2 (1 - epsilon)^m - (1 - 2 epsilon)^m. Half their difference, the error of "middle", exceeds it
    with probability (1 - 2 epsilon)^m. Both formulas ignore that a gap ends at the end of the line, which
    matters only on a side without examples.

    Examples
    --------
    >>> find_batch_size(0.01, "worst"), find_batch_size(0.01, "middle")
    (366, 149)
    """
    low, high = 0, 1
    while _tbatch_failure_probability(high, epsilon, learner) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        is_too_few = _tbatch_failure_probability(middle, epsilon, learner) > delta
        low, high = (middle, high) if is_too_few else (low, middle)
    return high


def _tbatch_failure_probability(n_examples: int, epsilon: float, learner: ThresholdLearner) -> float:
    """Return the probability that TBatch's error exceeds epsilon."""
    both = math.exp(n_examples * math.log1p(-2 * epsilon))
    return both if learner == "middle" else 2 * math.exp(n_examples * math.log1p(-epsilon)) - both


def _measure_tbatch_errors(learner: ThresholdLearner, rng: np.random.Generator) -> Iterator[ErrorAtTime]:
    for power in range(_LARGEST_BATCH_POWER + 1):
        found = simulate_tbatch_thresholds(2**power, learner, _N_ATTEMPTS, rng)
        time = float(TrainingTime(1).of_training(2**power))
        median, bound = float(np.median(found)), float(high_probability_bound(found))
        yield ErrorAtTime("TBatch", learner, 0.0, 2**power, time, median, bound, DELTA)


def _list_round_errors(
    learner: ThresholdLearner, schedule: RoundSchedule, found: NDArray[np.float64]
) -> Iterator[ErrorAtTime]:
    times = TrainingTime(1).after_rounds(schedule)
    medians, bounds = np.median(found, axis=1), high_probability_bound(found)
    for n_examples, time, median, bound in zip(schedule.n_examples, times, medians, bounds, strict=True):
        row = int(n_examples), float(time), float(median), float(bound)
        yield ErrorAtTime("TCTBase", learner, schedule.alpha, *row, DELTA)


def _find_times_to_error(
    learner: ThresholdLearner, schedule: RoundSchedule, bounds: NDArray[np.float64], k: int
) -> Iterator[TimeToError]:
    training_time = TrainingTime(k)
    round_times = training_time.after_rounds(schedule)
    first, last = SIXTY_ORDERS
    for step in range(first * _ERRORS_PER_DECADE, last * _ERRORS_PER_DECADE + 1):
        epsilon = 10.0 ** (-step / _ERRORS_PER_DECADE)
        reached = np.flatnonzero(bounds <= epsilon)
        # A slow learner does not reach this error within the simulated rounds; its table ends here.
        if not len(reached):
            return
        batch_time = float(training_time.of_training(float(find_batch_size(epsilon, learner))))
        time = float(round_times[reached[0]])
        c = math.log2(time) / math.sqrt(math.log2(batch_time))
        yield TimeToError(learner, schedule.alpha, k, epsilon, time, batch_time, c)


def _fit_scaling_laws(times: Sequence[TimeToError]) -> Iterator[ScalingFit]:
    for key in dict.fromkeys((row.learner, row.alpha, row.k) for row in times):
        rows = [row for row in times if (row.learner, row.alpha, row.k) == key]
        for first, last in (SIX_ORDERS, SIXTY_ORDERS):
            n_errors = (last - first) * _ERRORS_PER_DECADE + 1
            if len(rows) >= n_errors:
                yield _fit_scaling_law(key, last - first, rows[:n_errors])


def _fit_scaling_law(key: tuple[str, float, int], orders: int, rows: Sequence[TimeToError]) -> ScalingFit:
    bits = np.log2([1 / row.epsilon for row in rows])
    time, batch_time = np.log2([row.tct_base for row in rows]), np.log2([row.tbatch for row in rows])
    slope, _, r2 = fit_line(np.sqrt(bits), time)
    power, _, power_r2 = fit_line(bits, time)
    tbatch_power, _, _ = fit_line(bits, batch_time)
    return ScalingFit(*key, orders, slope, r2, power, power_r2, tbatch_power, max(row.c for row in rows))


def fit_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return slope and intercept of the least squares line, and the share of y's variance that it explains.

    Examples
    --------
    >>> [round(number, 9) for number in fit_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))]
    [2.0, 1.0, 1.0]
    """
    slope, intercept = np.polyfit(x, y, 1)
    return float(slope), float(intercept), float(np.corrcoef(x, y)[0, 1] ** 2)
