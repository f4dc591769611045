"""Thresholds on the line: TCTBase and TBatch without the examples, exact at any error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fitwithin._research.theory.arrays import Bools, Floats, Ints
from fitwithin._research.theory.schedule import Schedule

Learner = Literal["worst", "middle", "switching"]


LEARNERS: tuple[Learner, ...] = ("worst", "middle", "switching")


@dataclass(frozen=True, eq=False)
class Gaps:
    """Masses between the right threshold and the nearest example on its left and right, for each attempt.

    A risk minimiser depends on the examples only by these two, so they stand for the whole sample. Where
    there is no example yet, the gap is all the mass on that side. Distances from the threshold,
    unlike places on the line, keep their precision however small they are.
    """

    left: Floats
    right: Floats

    def closed(self, left: Floats, right: Floats) -> Gaps:
        """After more examples, the nearest of them at these distances."""
        return Gaps(np.minimum(self.left, left), np.minimum(self.right, right))

    def wider_left(self) -> Bools:
        """Whether the left gap is the wider one."""
        return np.asarray(self.left > self.right)

    def widest(self) -> Floats:
        """The wider gap."""
        return np.maximum(self.left, self.right)

    def narrowest(self) -> Floats:
        """The narrower gap."""
        return np.minimum(self.left, self.right)


def tct_thresholds(
    schedule: Schedule, learner: Learner, attempts: int, rng: np.random.Generator, *, threshold: float = 0.5
) -> Floats:
    """Errors of Algorithm 2's hypotheses on a threshold in the uniform distribution on [0, 1].

    Parameters
    ----------
    schedule : Schedule
        The sizes of the rounds.
    learner : {"worst", "middle", "switching"}
        Where the risk minimiser puts the threshold in the gap. The worst takes the end that is farther from
        the truth. The switching one takes the nearer end in all rounds but the one it is judged by.
    attempts : int
        Independent runs.
    rng : numpy.random.Generator
        All chance.
    threshold : float, default=0.5
        The right threshold, in (0, 1).

    Returns
    -------
    array of shape (rounds, attempts)

    Examples
    --------
    >>> errors = tct_thresholds(Schedule(0.2, 12), "worst", 100, np.random.default_rng(0))
    >>> bool(errors[-1].max() < 1e-4)
    True
    """
    gaps = _unbiased(Gaps(np.full(attempts, threshold), np.full(attempts, 1 - threshold)), 1, threshold, rng)
    errors = []
    for added, wrong in zip(schedule.added, schedule.mistakes_added, strict=True):
        errors.append(_error(learner, gaps))
        mistaken_left, mistaken = _mistakes(learner, gaps)
        gaps = _unbiased(gaps, int(added - wrong), threshold, rng)
        if wrong:
            # A mistake is uniform between the truth and the hypothesis, and what counts is the nearest.
            nearest = mistaken * _nearest_of(np.full(attempts, wrong), rng)
            gaps = gaps.closed(np.where(mistaken_left, nearest, np.inf), np.where(mistaken_left, np.inf, nearest))
    return np.array(errors)


def tbatch_thresholds(
    examples: int, learner: Learner, attempts: int, rng: np.random.Generator, *, threshold: float = 0.5
) -> Floats:
    """Error of each attempt that trains once, on unbiased examples.

    Examples
    --------
    >>> bool(tbatch_thresholds(10_000, "worst", 100, np.random.default_rng(0)).max() < 0.01)
    True
    """
    whole = Gaps(np.full(attempts, threshold), np.full(attempts, 1 - threshold))
    return _error(learner, _unbiased(whole, examples, threshold, rng))


def _error(learner: Learner, gaps: Gaps) -> Floats:
    if learner == "middle":
        return np.asarray(np.abs(gaps.left - gaps.right) / 2)
    return gaps.widest()


def _mistakes(learner: Learner, gaps: Gaps) -> tuple[Bools, Floats]:
    """Whether the hypothesis is wrong on the left of the truth, and on what mass."""
    if learner == "switching":
        return ~gaps.wider_left(), gaps.narrowest()
    return gaps.wider_left(), _error(learner, gaps)


def _unbiased(gaps: Gaps, examples: int, threshold: float, rng: np.random.Generator) -> Gaps:
    """The gaps after examples from the whole line: how many fall left is binomial, where they fall uniform."""
    left = rng.binomial(examples, threshold, size=len(gaps.left))
    return gaps.closed(threshold * _nearest_of(left, rng), (1 - threshold) * _nearest_of(examples - left, rng))


def _nearest_of(examples: Ints, rng: np.random.Generator) -> Floats:
    """The smallest of so many uniform numbers in [0, 1]; 1 if there are none."""
    # P(smallest > x) = (1 - x)^n, inverted; expm1 keeps the digits of a tiny one.
    exponential = rng.standard_exponential(len(examples))
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(-exponential / examples))
