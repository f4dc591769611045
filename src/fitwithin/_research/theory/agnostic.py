"""The agnostic theorem: without a perfect hypothesis, mistakes cost at most alpha / (1 - alpha) of error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitwithin._research.theory.arrays import Floats
from fitwithin._research.theory.bad_example import bad_example
from fitwithin._research.theory.finite import Problem, draw, sample_mistakes, tct_base
from fitwithin._research.theory.guarantee import DELTA, guaranteed
from fitwithin._research.theory.schedule import Schedule

ALPHAS = tuple(float(alpha) for alpha in np.arange(11) / 20)


_ATTEMPTS = 1000


_ROUNDS = 18


_FIRST_ROUND = 4


_LEAST_ERROR = 0.05


_SHARE_OF_TERM = 0.9


@dataclass(frozen=True)
class Excess:
    """Error beyond the best of the class at one round, beside the theorem's bound.

    `epsilon` is epsilon_T^A for as many examples as are unbiased in this round, `bound` is
    epsilon + alpha / (1 - alpha), `excess` is what less than a share `delta` of the attempts exceed, and
    `above` is the share of attempts above the bound, which the theorem keeps below `delta`.
    """

    problem: str
    alpha: float
    round: int
    unbiased: int
    epsilon: float
    bound: float
    excess: float
    mean_excess: float
    above: float
    delta: float


@dataclass(frozen=True)
class Nearest:
    """The round whose excess comes nearest to its bound; `above` is the largest share above it, of all rounds."""

    problem: str
    alpha: float
    round: int
    unbiased: int
    excess: float
    bound: float
    above: float


@dataclass(frozen=True)
class Agnostic:
    """All that is measured for the agnostic theorem."""

    rows: Sequence[Excess]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Records by the name of their table."""
        return {"agnostic": self.rows, "agnostic_nearest": self.summary()}

    def summary(self) -> Sequence[Nearest]:
        """For each problem and share of mistakes the round that comes nearest to the bound."""
        return [self._nearest(*key) for key in dict.fromkeys((row.problem, row.alpha) for row in self.rows)]

    def _nearest(self, problem: str, alpha: float) -> Nearest:
        rows = [row for row in self.rows if (row.problem, row.alpha) == (problem, alpha)]
        row = max(rows, key=lambda row: row.excess / row.bound)
        above = max(row.above for row in rows)
        return Nearest(problem, alpha, row.round, row.unbiased, row.excess, row.bound, above)


def seesaw(alpha: float) -> Problem:
    """Two hypotheses that are wrong in different places, one worse by 0.9 alpha / (1 - alpha).

    The mistakes of the better one count against it alone. After some rounds of them the risk minimiser
    prefers the worse one, as long as it is worse by less than alpha / (1 - alpha): the theorem's term
    is needed.

    Examples
    --------
    >>> seesaw(0.5).errors.round(3).tolist()
    [0.95, 0.05]
    """
    worse = _LEAST_ERROR + _SHARE_OF_TERM * alpha / (1 - alpha)
    masses = np.array([worse, _LEAST_ERROR, 1 - worse - _LEAST_ERROR])
    # At alpha = 1/2 the two fill everything, and rounding must not leave a negative mass.
    return Problem(np.maximum(masses, 0.0), np.array([[True, False, False], [False, True, False]]))


def _bad_example_at(_: float) -> Problem:
    return bad_example().worst_first()


PROBLEMS: dict[str, Callable[[float], Problem]] = {"bad example": _bad_example_at, "seesaw": seesaw}


def measure_agnostic(rng: np.random.Generator) -> Agnostic:
    """Run TCTBase over shares of mistakes on the bad example and the seesaw."""
    return Agnostic([row for name in PROBLEMS for alpha in ALPHAS for row in _rows(name, alpha, rng)])


def _rows(name: str, alpha: float, rng: np.random.Generator) -> Iterator[Excess]:
    problem, schedule = PROBLEMS[name](alpha), Schedule(alpha, _ROUNDS)
    excess = problem.excess[tct_base(problem, schedule, _ATTEMPTS, rng)]
    for place in range(_FIRST_ROUND - 1, _ROUNDS):
        unbiased, found = int(schedule.unbiased[place]), excess[place]
        epsilon = 2 * float(guaranteed(deviations(problem, unbiased, _ATTEMPTS, rng)))
        bound = epsilon + alpha / (1 - alpha)
        yield Excess(
            name,
            alpha,
            place + 1,
            unbiased,
            epsilon,
            bound,
            float(guaranteed(found)),
            float(found.mean()),
            float(np.mean(found > bound)),
            DELTA,
        )


def deviations(problem: Problem, examples: int, attempts: int, rng: np.random.Generator) -> Floats:
    """For each unbiased sample the largest distance of a sample error from the true one, over the class.

    Examples
    --------
    >>> problem = Problem(np.array([0.5, 0.5]), np.array([[True, False], [True, True]]))
    >>> deviations(problem, 1, 3, np.random.default_rng(0)).tolist()
    [0.5, 0.5, 0.5]
    """
    sample_errors = sample_mistakes(problem, draw(problem, examples, attempts, rng)) / examples
    return np.asarray(np.abs(sample_errors - problem.errors).max(axis=1))
