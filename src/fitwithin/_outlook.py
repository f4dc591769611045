"""What a teacher may afford."""

from __future__ import annotations

import math

from ._budget import Budget
from ._cost import CostModel

# A little more than the session asks for where a lesson must end by itself.
_SURE = 1.1


class Outlook:
    """The seconds that are left, and what the next requests would take.

    Parameters
    ----------
    budget : Budget, optional
        What is left; without one there is no end.
    cost : CostModel, optional
        What lessons and exams take.
    graceful : bool, default=False
        Whether the learner can be asked to stop, so that a lesson may be cut short.
    killable : bool, default=True
        Whether a lesson that takes too long ends at the deadline, with nothing lost but its time.

    Examples
    --------
    >>> Outlook().left
    inf
    >>> Outlook().examinable(0.1, most=5000)
    5000
    """

    def __init__(
        self,
        budget: Budget | None = None,
        cost: CostModel | None = None,
        *,
        graceful: bool = False,
        killable: bool = True,
    ) -> None:
        self.graceful = graceful
        self.killable = killable
        self.cost = cost or CostModel()
        self._budget = budget

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return math.inf if self._budget is None else self._budget.remaining()

    def lesson(self, rows: int) -> float:
        """Seconds that training on so many rows is expected to take; 0 before anything is known."""
        return self.cost.fit(rows)

    def aside(self, rows: int) -> float:
        """Seconds that such a lesson takes beside its training: rows to the learner, its model to safety and back."""
        return self.cost.aside(rows)

    def exam(self, rows: int) -> float:
        """Seconds of an exam of so many rows."""
        return self.cost.exam(rows)

    def examinable(self, share: float, most: int) -> int:
        """Rows that can be examined in a share of the time that is left, at most so many."""
        seconds = self.exam(most)
        return most if seconds <= share * self.left else int(most * share * self.left / seconds)

    @property
    def doubt(self) -> float:
        """The factor, at least 1, by which a lesson may well take longer; hardly ever more, if none can be killed."""
        return math.sqrt(self.cost.headroom) if self.killable else _SURE * self.cost.headroom
