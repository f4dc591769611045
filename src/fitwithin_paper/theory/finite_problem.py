"""Exact simulation of TCTBase and TBatch for finitely many points and hypotheses, many attempts at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fitwithin_paper.theory.round_schedule import RoundSchedule

TieRule = Literal["first", "random"]

# Smaller differences between errors are rounding; every real one in these problems exceeds 1e-3.
_ROUNDING_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """Points with their probabilities, and hypotheses given by the points that they get wrong.

    Labels are a function of the point, so a count for each point describes a sample.

    Parameters
    ----------
    masses : array of shape (n_points,)
        Probability of each point.
    wrong : array of bool of shape (n_hypotheses, n_points)
        Whether each hypothesis is wrong at each point. The order of the hypotheses decides ties under the rule
        "first".

    Examples
    --------
    >>> problem = FiniteProblem(np.array([0.5, 0.25, 0.25]), np.array([[False, True, False], [False, True, True]]))
    >>> problem.errors.tolist()
    [0.25, 0.5]
    >>> problem.sort_worst_first().errors.tolist()
    [0.5, 0.25]
    """

    masses: NDArray[np.float64]
    wrong: NDArray[np.bool_]

    @property
    def errors(self) -> NDArray[np.float64]:
        """True error of each hypothesis."""
        return self.wrong @ self.masses

    @property
    def excess_errors(self) -> NDArray[np.float64]:
        """True error of each hypothesis above the smallest one; rounding differences count as zero."""
        excess = self.errors - self.errors.min()
        return np.where(excess > _ROUNDING_TOLERANCE, excess, 0.0)

    def sort_worst_first(self) -> FiniteProblem:
        """Sort the hypotheses by falling error; the tie rule "first" then models the worst learner."""
        return self.reorder(np.argsort(-self.errors, kind="stable"))

    def reorder(self, order: NDArray[np.int64]) -> FiniteProblem:
        """Return the same hypotheses in another order."""
        return FiniteProblem(self.masses, self.wrong[order])


def simulate_tct_base(
    problem: FiniteProblem,
    schedule: RoundSchedule,
    n_attempts: int,
    rng: np.random.Generator,
    tie_rule: TieRule = "first",
) -> NDArray[np.int64]:
    """Run Algorithm 2 with an empirical risk minimiser.

    Mistakes are drawn from the masses, conditional on the hypothesis being wrong. A hypothesis that is never
    wrong ends the search and is kept.

    Parameters
    ----------
    problem : FiniteProblem
        The problem to learn.
    schedule : RoundSchedule
        Sample sizes of the rounds.
    n_attempts : int
        Number of independent runs.
    rng : numpy.random.Generator
        The only source of randomness.
    tie_rule : {"first", "random"}, default="first"
        Which of the hypotheses with the fewest mistakes to return.

    Returns
    -------
    array of int of shape (n_rounds, n_attempts)
        The hypothesis of each round.

    Examples
    --------
    >>> problem = FiniteProblem(np.array([0.5, 0.5]), np.array([[True, False], [False, False]]))
    >>> simulate_tct_base(problem, RoundSchedule(alpha=0.5, n_rounds=3), 4, np.random.default_rng(0))[-1].tolist()
    [1, 1, 1, 1]
    """
    mistake_masses, is_perfect = _masses_given_mistake(problem), problem.errors == 0
    sample = rng.multinomial(1, problem.masses, size=n_attempts)
    hypotheses: list[NDArray[np.int64]] = []
    for n_added, n_mistakes in zip(schedule.n_added, schedule.n_mistakes_added, strict=True):
        hypothesis = _minimise_mistakes(problem, sample, tie_rule, rng)
        if hypotheses:
            hypothesis = np.where(is_perfect[hypotheses[-1]], hypotheses[-1], hypothesis)
        hypotheses.append(hypothesis)
        sample += rng.multinomial(n_added - n_mistakes, problem.masses, size=n_attempts)
        sample += rng.multinomial(np.where(is_perfect[hypothesis], 0, n_mistakes), mistake_masses[hypothesis])
    return np.array(hypotheses)


def simulate_tbatch(
    problem: FiniteProblem, n_examples: int, n_attempts: int, rng: np.random.Generator, tie_rule: TieRule = "first"
) -> NDArray[np.int64]:
    """Return the hypothesis of each attempt, trained once on an unbiased sample.

    Examples
    --------
    >>> problem = FiniteProblem(np.array([0.5, 0.5]), np.array([[True, False], [False, False]]))
    >>> simulate_tbatch(problem, 100, 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """
    return _minimise_mistakes(problem, draw_samples(problem, n_examples, n_attempts, rng), tie_rule, rng)


def draw_samples(
    problem: FiniteProblem, n_examples: int, n_attempts: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw unbiased samples, as a count for each point: shape (n_attempts, n_points)."""
    return rng.multinomial(n_examples, problem.masses, size=n_attempts)


def count_mistakes(problem: FiniteProblem, samples: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count the mistakes of each hypothesis in each sample: shape (n_attempts, n_hypotheses)."""
    # Floats, because numpy multiplies them with BLAS; whole numbers below 2^53 stay exact.
    return samples.astype(np.float64) @ problem.wrong.T.astype(np.float64)


def _minimise_mistakes(
    problem: FiniteProblem, samples: NDArray[np.int64], tie_rule: TieRule, rng: np.random.Generator
) -> NDArray[np.int64]:
    mistakes = count_mistakes(problem, samples)
    if tie_rule == "random":
        fewest = mistakes == mistakes.min(axis=1, keepdims=True)
        mistakes = np.where(fewest, rng.random(mistakes.shape), 2.0)
    return np.asarray(np.argmin(mistakes, axis=1), dtype=np.int64)


def _masses_given_mistake(problem: FiniteProblem) -> NDArray[np.float64]:
    """Return the distribution over points of each hypothesis's mistakes."""
    mistakes = problem.wrong * problem.masses
    # A hypothesis that is never wrong is asked for no mistakes, but numpy needs a distribution in its row.
    mistakes[~mistakes.any(axis=1)] = problem.masses
    return np.asarray(mistakes / mistakes.sum(axis=1, keepdims=True))
