"""Simulation of TCTBase and TBatch for a threshold on the line, exact at any error, without storing examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fitwithin_paper.theory.round_schedule import RoundSchedule

ThresholdLearner = Literal["worst", "middle", "switching"]


THRESHOLD_LEARNERS: tuple[ThresholdLearner, ...] = ("worst", "middle", "switching")


@dataclass(frozen=True, eq=False)
class ThresholdGaps:
    """Masses between the true threshold and the nearest example on its left and right, for each attempt.

    A risk minimiser depends on the examples only through these two gaps, so they describe the whole sample.
    On a side without examples the gap is the whole mass of that side. Distances from the threshold,
    unlike positions on the line, keep their precision however small they are.
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]

    def narrow(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> ThresholdGaps:
        """Return the gaps after more examples, the nearest of them at these distances."""
        return ThresholdGaps(np.minimum(self.left, left), np.minimum(self.right, right))

    def is_left_wider(self) -> NDArray[np.bool_]:
        """Return whether the left gap is the wider one."""
        return np.asarray(self.left > self.right)

    def wider(self) -> NDArray[np.float64]:
        """Return the wider gap."""
        return np.maximum(self.left, self.right)

    def narrower(self) -> NDArray[np.float64]:
        """Return the narrower gap."""
        return np.minimum(self.left, self.right)


def simulate_tct_base_thresholds(
    schedule: RoundSchedule,
    learner: ThresholdLearner,
    n_attempts: int,
    rng: np.random.Generator,
    *,
    threshold: float = 0.5,
) -> NDArray[np.float64]:
    """Run Algorithm 2 on a threshold in the uniform distribution on [0, 1], and return the errors.

    Parameters
    ----------
    schedule : RoundSchedule
        Sample sizes of the rounds.
    learner : {"worst", "middle", "switching"}
        Where the risk minimiser puts the threshold between the nearest examples. "worst" takes the end farther
        from the true threshold. "switching" takes the nearer end in every round except the evaluated one.
    n_attempts : int
        Number of independent runs.
    rng : numpy.random.Generator
        The only source of randomness.
    threshold : float, default=0.5
        The true threshold, in (0, 1).

    Returns
    -------
    array of shape (n_rounds, n_attempts)

    Examples
    --------
    >>> errors = simulate_tct_base_thresholds(RoundSchedule(0.2, 12), "worst", 100, np.random.default_rng(0))
    >>> bool(errors[-1].max() < 1e-4)
    True
    """
    gaps = _add_unbiased(_make_full_gaps(threshold, n_attempts), 1, threshold, rng)
    errors = []
    for n_added, n_mistakes in zip(schedule.n_added, schedule.n_mistakes_added, strict=True):
        errors.append(_compute_error(learner, gaps))
        is_left, mistake_mass = _locate_mistakes(learner, gaps)
        gaps = _add_unbiased(gaps, int(n_added - n_mistakes), threshold, rng)
        if n_mistakes:
            # A mistake is uniform between the true threshold and the hypothesis; only the nearest matters.
            nearest = mistake_mass * _draw_nearest(np.full(n_attempts, n_mistakes), rng)
            gaps = gaps.narrow(np.where(is_left, nearest, np.inf), np.where(is_left, np.inf, nearest))
    return np.array(errors)


def simulate_tbatch_thresholds(
    n_examples: int,
    learner: ThresholdLearner,
    n_attempts: int,
    rng: np.random.Generator,
    *,
    threshold: float = 0.5,
) -> NDArray[np.float64]:
    """Return the error of each attempt, trained once on unbiased examples.

    Examples
    --------
    >>> bool(simulate_tbatch_thresholds(10_000, "worst", 100, np.random.default_rng(0)).max() < 0.01)
    True
    """
    return _compute_error(learner, _add_unbiased(_make_full_gaps(threshold, n_attempts), n_examples, threshold, rng))


def _make_full_gaps(threshold: float, n_attempts: int) -> ThresholdGaps:
    """Return the gaps before the first example."""
    return ThresholdGaps(np.full(n_attempts, threshold), np.full(n_attempts, 1 - threshold))


def _compute_error(learner: ThresholdLearner, gaps: ThresholdGaps) -> NDArray[np.float64]:
    if learner == "middle":
        return np.asarray(np.abs(gaps.left - gaps.right) / 2)
    return gaps.wider()


def _locate_mistakes(learner: ThresholdLearner, gaps: ThresholdGaps) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether the hypothesis is wrong left of the true threshold, and the mass on which it is wrong."""
    if learner == "switching":
        return ~gaps.is_left_wider(), gaps.narrower()
    return gaps.is_left_wider(), _compute_error(learner, gaps)


def _add_unbiased(gaps: ThresholdGaps, n_examples: int, threshold: float, rng: np.random.Generator) -> ThresholdGaps:
    """Return the gaps after unbiased examples: the number on the left is binomial, the positions are uniform."""
    n_left = rng.binomial(n_examples, threshold, size=len(gaps.left))
    left = threshold * _draw_nearest(n_left, rng)
    return gaps.narrow(left, (1 - threshold) * _draw_nearest(n_examples - n_left, rng))


def _draw_nearest(n_examples: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the smallest of n uniform numbers in [0, 1]; 1 if n is 0."""
    # P(smallest > x) = (1 - x)^n, inverted; expm1 keeps the digits of tiny values.
    exponential = rng.standard_exponential(len(n_examples))
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(-exponential / n_examples))
