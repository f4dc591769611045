"""The agnostic theorem: without a perfect hypothesis, mistakes cost at most alpha / (1 - alpha) of error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitwithin_paper.theory.bad_example import make_bad_example
from fitwithin_paper.theory.finite_problem import FiniteProblem, count_mistakes, draw_samples, simulate_tct_base
from fitwithin_paper.theory.high_probability_bound import DELTA, high_probability_bound
from fitwithin_paper.theory.round_schedule import RoundSchedule

# Shares of mistakes. Above 1/2 the bound exceeds 1 and says nothing.
ALPHAS = tuple(float(alpha) for alpha in np.arange(11) / 20)

# Attempts for each problem and share of mistakes.
_N_ATTEMPTS = 1000

# Rounds of TCTBase.
_N_ROUNDS = 18

# First round to report, with 15 examples: fewer leave the bound too loose to tell anything.
_FIRST_ROUND = 4

# Error of the seesaw's better hypothesis.
_BETTER_ERROR = 0.05

# Excess error of the seesaw's worse hypothesis, as a share of alpha / (1 - alpha).
_SHARE_OF_TERM = 0.9


@dataclass(frozen=True)
class ExcessError:
    """Error above the best of the class in one round, next to the theorem's bound.

    `epsilon` is epsilon_T^A for this round's number of unbiased examples, and `bound` is
    epsilon + alpha / (1 - alpha). Less than a share `delta` of the attempts exceed `excess`. `above` is the
    share of attempts above the bound, which the theorem keeps below `delta`.
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
class TightestRound:
    """The round whose excess error is closest to its bound; `above` is the maximum over all rounds."""

    problem: str
    alpha: float
    round: int
    unbiased: int
    excess: float
    bound: float
    above: float


@dataclass(frozen=True)
class AgnosticResult:
    """All measurements for the agnostic theorem."""

    excess_errors: Sequence[ExcessError]

    def tables(self) -> Mapping[str, Sequence[Any]]:
        """Return the records by table name."""
        return {"agnostic": self.excess_errors, "agnostic_nearest": self.summary()}

    def summary(self) -> Sequence[TightestRound]:
        """Return the tightest round for each problem and share of mistakes."""
        keys = dict.fromkeys((row.problem, row.alpha) for row in self.excess_errors)
        return [self._find_tightest(*key) for key in keys]

    def _find_tightest(self, problem: str, alpha: float) -> TightestRound:
        rows = [row for row in self.excess_errors if (row.problem, row.alpha) == (problem, alpha)]
        row = max(rows, key=lambda row: row.excess / row.bound)
        above = max(row.above for row in rows)
        return TightestRound(problem, alpha, row.round, row.unbiased, row.excess, row.bound, above)


def make_seesaw(alpha: float) -> FiniteProblem:
    """Return two hypotheses that are wrong at different points, one worse by 0.9 alpha / (1 - alpha).

    The mistakes of the better hypothesis count against it alone. After some rounds of them the risk
    minimiser prefers the worse one, as long as it is worse by less than alpha / (1 - alpha). So the
    theorem needs this term.

    Examples
    --------
    >>> make_seesaw(0.5).errors.round(3).tolist()
    [0.95, 0.05]
    """
    worse_error = _BETTER_ERROR + _SHARE_OF_TERM * alpha / (1 - alpha)
    masses = np.array([worse_error, _BETTER_ERROR, 1 - worse_error - _BETTER_ERROR])
    # At alpha = 1/2 the first two masses sum to 1, and rounding must not leave a negative third.
    return FiniteProblem(np.maximum(masses, 0.0), np.array([[True, False, False], [False, True, False]]))


def _make_worst_bad_example(_: float) -> FiniteProblem:
    return make_bad_example().sort_worst_first()


AGNOSTIC_PROBLEMS: dict[str, Callable[[float], FiniteProblem]] = {
    "bad example": _make_worst_bad_example,
    "seesaw": make_seesaw,
}


def simulate_agnostic_theorem(rng: np.random.Generator) -> AgnosticResult:
    """Run TCTBase over shares of mistakes on the bad example and the seesaw."""
    return AgnosticResult(
        [row for name in AGNOSTIC_PROBLEMS for alpha in ALPHAS for row in _simulate_problem(name, alpha, rng)]
    )


def _simulate_problem(name: str, alpha: float, rng: np.random.Generator) -> Iterator[ExcessError]:
    problem, schedule = AGNOSTIC_PROBLEMS[name](alpha), RoundSchedule(alpha, _N_ROUNDS)
    excess_errors = problem.excess_errors[simulate_tct_base(problem, schedule, _N_ATTEMPTS, rng)]
    for index in range(_FIRST_ROUND - 1, _N_ROUNDS):
        n_unbiased, found = int(schedule.n_unbiased[index]), excess_errors[index]
        epsilon = 2 * float(high_probability_bound(largest_deviations(problem, n_unbiased, _N_ATTEMPTS, rng)))
        bound = epsilon + alpha / (1 - alpha)
        yield ExcessError(
            problem=name,
            alpha=alpha,
            round=index + 1,
            unbiased=n_unbiased,
            epsilon=epsilon,
            bound=bound,
            excess=float(high_probability_bound(found)),
            mean_excess=float(found.mean()),
            above=float(np.mean(found > bound)),
            delta=DELTA,
        )


def largest_deviations(
    problem: FiniteProblem, n_examples: int, n_attempts: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw unbiased samples; return each one's largest gap between sample error and true error over the class.

    Examples
    --------
    >>> problem = FiniteProblem(np.array([0.5, 0.5]), np.array([[True, False], [True, True]]))
    >>> largest_deviations(problem, 1, 3, np.random.default_rng(0)).tolist()
    [0.5, 0.5, 0.5]
    """
    sample_errors = count_mistakes(problem, draw_samples(problem, n_examples, n_attempts, rng)) / n_examples
    return np.asarray(np.abs(sample_errors - problem.errors).max(axis=1))
