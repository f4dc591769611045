"""What the learner loops of a session share: the budget, the best model and a lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Estimate, Lesson, Mask, Rows
from fitwithin._core.rounds import OnRound
from fitwithin._session.listeners import Listener
from fitwithin._session.selection import ModelSelector

if TYPE_CHECKING:
    from fitwithin._session.session import Session


Widen = Callable[[Estimate, Rows, Mask], Estimate]
"""Takes an estimate, its rows, and which of them are predicted wrongly."""


@dataclass(frozen=True, eq=False)
class SessionParts:
    """What all loops of a session share.

    Parameters
    ----------
    budget : Budget
        The time limit.
    costs : CostEstimates
        Predicts lessons and exams, and learns from them.
    selector : ModelSelector
        Holds the best model.
    session : Session
        Is stored while it runs.
    listeners : sequence of Listener
        Told what the session does.
    on_round : callable or None
        Called with each finished `Round`; stops the session by returning True.
    widen : callable or None
        Returns the estimate from holdout rows with an interval that allows for their groups.
    """

    budget: Budget
    costs: CostEstimates
    selector: ModelSelector
    session: Session
    listeners: Sequence[Listener]
    on_round: OnRound | None
    widen: Widen | None = None

    @property
    def has_best_model(self) -> bool:
        """Whether the session has a model."""
        return self.selector.best is not None

    def costs_of(self, lesson: Lesson) -> CostEstimates:
        """Return the costs of the learner of a lesson."""
        return self.costs if lesson.candidate is None else lesson.candidate.costs


class LoopLock(Protocol):
    """Lock that the loops of a session share."""

    def released(self) -> AbstractContextManager[None]:
        """Return a context for a call of the runner, in which other loops go on."""
        ...

    def wait(self) -> None:
        """Wait until another loop's learner has done something; see `Wait`."""
        ...


class NoLock:
    """Lock of a loop without others."""

    def released(self) -> AbstractContextManager[None]:
        """Return a context that does nothing."""
        return nullcontext()

    def wait(self) -> None:
        """Return at once."""
