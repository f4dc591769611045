"""The end of a session: a model and its history, or an error that says why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import NoModelInMemory, NoModelInTime, OutOfMemory
from fitwithin._core.memory_limit import format_bytes
from fitwithin._core.records import Purpose, Rows, StopReason
from fitwithin._core.rounds import Round
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.selection import VoteMembers
from fitwithin.backends._metrics import find_bounds
from fitwithin.backends._scoring import Scoring

# Least limit, in seconds, that is recommended: the first fit of a program starts a process.
_MIN_RECOMMENDED_LIMIT = 5.0


@dataclass(frozen=True, eq=False)
class SessionResult:
    """The best model of a session, and how it came about.

    Parameters
    ----------
    model : estimator
        The fitted learner.
    history : list of Round
        Every finished round.
    stop_reason : str
        Why the session ended.
    record : ModelRecord
        The model's rows and scores.
    seconds_lost : float
        Seconds of the fits that left no model, because the deadline, the memory limit, an error or the user ended them.
    warnings : list of tuple
        What the user should know: texts, with the types of their warnings.
    candidate : int or None
        In a search, the number of its candidate.
    held_out : dict of array of int
        The rows of the last exams, by purpose.
    members : VoteMembers
        The models that may vote; to be closed.
    row_seconds : float
        Seconds that the model takes to predict a row; 0 if unknown.
    costs : CostEstimates or None
        Those of its learner; None for a fallback.
    """

    model: Any
    history: list[Round]
    stop_reason: StopReason
    record: ModelRecord
    seconds_lost: float = 0.0
    warnings: Sequence[tuple[str, type[Warning]]] = ()
    candidate: int | None = None
    held_out: Mapping[Purpose, Rows] = field(default_factory=dict)
    members: VoteMembers = field(default_factory=VoteMembers)
    row_seconds: float = 0.0
    costs: CostEstimates | None = None

    def describe_costs(self, n_rows: int, scoring: Scoring) -> dict[str, Any] | None:
        """Return what a forecast needs besides the history, as plain values that any format can store.

        Parameters
        ----------
        n_rows : int
            Rows that may be trained on.
        scoring : Scoring
            The metric.
        """
        costs = self.costs
        if costs is None:
            return None
        return {
            "observations": costs.cost.observations(),
            "traits": asdict(costs.cost.traits),
            "n_rows": costs.largest_lesson_rows(n_rows),
            "can_stop_early": costs.can_stop_early,
            "knows_steps": costs.knows_steps,
            "killable": costs.killable,
            "candidate": self.candidate,
            "best_value": find_bounds(scoring.scorer)[1],
        }


def no_model_error(budget: Budget, n_rounds: int, status: str) -> NoModelInTime:
    """Return the error for a session that ends without a model.

    Parameters
    ----------
    budget : Budget
        The time limit.
    n_rounds : int
        Finished rounds.
    status : str
        What was going on at the end.

    Examples
    --------
    >>> from fitwithin.testing import FakeClock
    >>> clock = FakeClock()
    >>> budget = Budget(10, clock=clock)
    >>> clock.advance(10)
    >>> print(no_model_error(budget, 0, "the learner was still training on 50 rows").sentence)
    No model within the limit of 10 s: after 10.00 s the learner was still training on 50 rows. Try a limit of 20 s or more.
    """  # noqa: E501  # the output of an example
    if n_rounds and not budget.is_spent:
        return NoModelInTime(
            f"{n_rounds} models were trained, but none was scored, so the best one is unknown.",
            "A teacher that returns its best model must yield Exam(rows), or set returns = 'last'.",
        )
    elapsed = budget.elapsed()
    if budget.spent:
        status += f" ({budget.spent:.2f} s of it in earlier calls)"
    limit = max(_MIN_RECOMMENDED_LIMIT, float(f"{2 * elapsed:.2g}"))
    return NoModelInTime(
        f"No model within the limit of {budget.seconds:g} s: after {elapsed:.2f} s {status}. "
        f"Try a limit of {limit:g} s or more.",
        "Or begin with fewer rows, for example teacher=fitwithin.teachers.TCT(first=100).",
    )


def no_memory_error(stop: OutOfMemory, number: int, activity: str) -> NoModelInMemory:
    """Return the error for a session whose learner was stopped for its memory before the first model.

    Parameters
    ----------
    stop : OutOfMemory
        The figures.
    number : int
        The round.
    activity : str
        What the learner did.

    Examples
    --------
    >>> print(no_memory_error(OutOfMemory(530_000_000, 512_000_000), 1, "training on 500 rows").sentence)
    No model within the memory limit of 512 MB: in round 1, training on 500 rows, the learner took 530 MB and was stopped. Allow more memory.
    """  # noqa: E501  # the output of an example
    return NoModelInMemory(
        f"No model within the memory limit of {format_bytes(stop.limit)}: in round {number}, {activity}, the learner "
        f"took {format_bytes(stop.n_bytes)} and was stopped. Allow more memory.",
        "Or begin with fewer rows, for example teacher=fitwithin.teachers.TCT(first=100), or let the learner use fewer "
        "processes.",
    )
