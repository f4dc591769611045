"""TCTBase and TBatch for a finite class on finitely many points, exact and many attempts at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fitwithin._research.theory.arrays import Bools, Floats, Ints
from fitwithin._research.theory.schedule import Schedule

Ties = Literal["first", "random"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Points with their probabilities, and hypotheses by the points that they get wrong.

    Labels are a function of the point, so a sample is no more than a count for each point.

    Parameters
    ----------
    masses : array of shape (points,)
        Probability of each point.
    wrong : array of bool of shape (hypotheses, points)
        Where each hypothesis is wrong. The order of the rows decides ties when the first wins them.

    Examples
    --------
    >>> problem = Problem(np.array([0.5, 0.25, 0.25]), np.array([[False, True, False], [False, True, True]]))
    >>> problem.errors.tolist()
    [0.25, 0.5]
    >>> problem.worst_first().errors.tolist()
    [0.5, 0.25]
    """

    masses: Floats
    wrong: Bools

    @property
    def errors(self) -> Floats:
        """True error of each hypothesis."""
        return self.wrong @ self.masses

    @property
    def excess(self) -> Floats:
        """Its distance from the best error of the class; what is only rounding counts as none."""
        excess = self.errors - self.errors.min()
        return np.where(excess > 1e-12, excess, 0.0)

    def worst_first(self) -> Problem:
        """The same hypotheses by falling error: the first in a tie is then what the worst learner returns."""
        return self.reordered(np.argsort(-self.errors, kind="stable"))

    def reordered(self, order: Ints) -> Problem:
        """The same hypotheses in another order."""
        return Problem(self.masses, self.wrong[order])


def tct_base(
    problem: Problem, schedule: Schedule, attempts: int, rng: np.random.Generator, ties: Ties = "first"
) -> Ints:
    """Algorithm 2 with a risk minimiser; mistakes are drawn from the masses given that they are mistakes.

    A hypothesis that is never wrong has no mistakes to send: the search is over, and the hypothesis stays.

    Parameters
    ----------
    problem : Problem
        What to learn.
    schedule : Schedule
        The sizes of the rounds.
    attempts : int
        Independent runs.
    rng : numpy.random.Generator
        All chance.
    ties : {"first", "random"}, default="first"
        Which of the hypotheses with the fewest mistakes is returned.

    Returns
    -------
    array of int of shape (rounds, attempts)
        The hypothesis of each round.

    Examples
    --------
    >>> problem = Problem(np.array([0.5, 0.5]), np.array([[True, False], [False, False]]))
    >>> tct_base(problem, Schedule(alpha=0.5, rounds=3), 4, np.random.default_rng(0))[-1].tolist()
    [1, 1, 1, 1]
    """
    mistakes, perfect = _given_wrong(problem), problem.errors == 0
    sample = rng.multinomial(1, problem.masses, size=attempts)
    rounds: list[Ints] = []
    for added, wrong in zip(schedule.added, schedule.mistakes_added, strict=True):
        hypothesis = _minimise(problem, sample, ties, rng)
        if rounds:
            hypothesis = np.where(perfect[rounds[-1]], rounds[-1], hypothesis)
        rounds.append(hypothesis)
        sample += rng.multinomial(added - wrong, problem.masses, size=attempts)
        sample += rng.multinomial(np.where(perfect[hypothesis], 0, wrong), mistakes[hypothesis])
    return np.array(rounds)


def tbatch(problem: Problem, examples: int, attempts: int, rng: np.random.Generator, ties: Ties = "first") -> Ints:
    """The hypothesis of each attempt that trains once, on examples drawn from the masses.

    Examples
    --------
    >>> problem = Problem(np.array([0.5, 0.5]), np.array([[True, False], [False, False]]))
    >>> tbatch(problem, 100, 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """
    return _minimise(problem, draw(problem, examples, attempts, rng), ties, rng)


def draw(problem: Problem, examples: int, attempts: int, rng: np.random.Generator) -> Ints:
    """Unbiased samples, as a count for each point: shape (attempts, points)."""
    return rng.multinomial(examples, problem.masses, size=attempts)


def sample_mistakes(problem: Problem, sample: Ints) -> Floats:
    """Mistakes of each hypothesis in each sample: shape (attempts, hypotheses)."""
    # Floats, because numpy multiplies them by BLAS; whole numbers below 2^53 stay exact.
    return sample.astype(np.float64) @ problem.wrong.T.astype(np.float64)


def _minimise(problem: Problem, sample: Ints, ties: Ties, rng: np.random.Generator) -> Ints:
    mistakes = sample_mistakes(problem, sample)
    if ties == "random":
        fewest = mistakes == mistakes.min(axis=1, keepdims=True)
        mistakes = np.where(fewest, rng.random(mistakes.shape), 2.0)
    return np.asarray(np.argmin(mistakes, axis=1), dtype=np.int64)


def _given_wrong(problem: Problem) -> Floats:
    """For each hypothesis the masses of the points, given that it is wrong there."""
    mistakes = problem.wrong * problem.masses
    # A hypothesis that is never wrong is asked for no mistakes, but numpy wants a distribution in its row.
    mistakes[~mistakes.any(axis=1)] = problem.masses
    return np.asarray(mistakes / mistakes.sum(axis=1, keepdims=True))
