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
    """The best model of a session, and how it came about."""

    model: Any
    history: list[Round]
    stop_reason: StopReason
    record: ModelRecord
    seconds_lost: float  # of fits that left no model: the deadline, the memory limit, an error or the user ended them
    warnings: Sequence[tuple[str, type[Warning]]]
    candidate: int | None = None
    held_out: Mapping[Purpose, Rows] = field(default_factory=dict)  # the rows of the last exams
    members: VoteMembers = field(default_factory=VoteMembers)  # to be closed
    row_seconds: float = 0.0  # to predict a row; 0 if unknown
    costs: CostEstimates | None = None  # of the model's learner; None for a fallback

    def describe_costs(self, n_rows: int, scoring: Scoring) -> dict[str, Any] | None:
        """Return what a forecast for `n_rows` needs besides the history, as plain values that any format can store."""
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
    """Return the error for a session that ends without a model; `status` says what was going on."""
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
    """Return the error for a session whose learner was stopped for its memory, in this round, without a model."""
    return NoModelInMemory(
        f"No model within the memory limit of {format_bytes(stop.limit)}: in round {number}, {activity}, the learner "
        f"took {format_bytes(stop.n_bytes)} and was stopped. Allow more memory.",
        "Or begin with fewer rows, for example teacher=fitwithin.teachers.TCT(first=100), or let the learner use fewer "
        "processes.",
    )
