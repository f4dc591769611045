"""What a session takes over from an earlier call of `fit`, and stores for a later one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.records import Rows, StopReason
from fitwithin._session.checkpoint import Checkpoint
from fitwithin._session.fit_state import FitState, ModelRecord
from fitwithin._session.round_tracker import RoundTracker
from fitwithin._session.selection import ModelSelector, is_lower
from fitwithin.backends import SavedModel
from fitwithin.teachers import Deck, Teacher


class Continuation:
    """A session as a part of a longer fit: it begins with an earlier state, and its own is stored while it runs.

    Parameters
    ----------
    past : FitState or None
        An earlier fit on the same rows, to go on from.
    checkpoint : Checkpoint or None
        Where to store the session.
    budget : Budget
        The time limit.
    selector : ModelSelector
        Knows the best model.
    make_state : callable
        Returns the state of the session, given why it ended or None.

    Attributes
    ----------
    lost : ModelRecord or None
        The best model of the earlier fit, if it could not be stored and is not fitted again yet.
    """

    def __init__(
        self,
        past: FitState | None,
        checkpoint: Checkpoint | None,
        budget: Budget,
        selector: ModelSelector,
        make_state: Callable[[StopReason | None], FitState],
    ) -> None:
        self.lost = None if past is None else past.lost_best
        self._past = past
        self._checkpoint = checkpoint
        self._budget = budget
        self._selector = selector
        self._make_state = make_state

    def restore(self, tracker: RoundTracker, costs: CostEstimates, deck: Deck, teacher: Teacher) -> None:
        """Go on with rounds, costs and rows of the earlier fit."""
        past = self._past
        if past is None:
            return
        tracker.restore(past.marks, past.history)
        costs.cost.restore(past.cost, past.history[-1] if past.history else None)
        if past.teacher == type(teacher).__name__:
            # Another teacher may have taught the rows that this one keeps for validation.
            tracker.last_exams.update({"validation": past.validation_rows, "holdout": past.holdout_rows})
            deck.resume_point = past.resume_point
            deck.notes.update(past.notes)

    def reason_to_end_at_once(self) -> StopReason | None:
        """Return why the stored model is all that can be returned; None if there is something to do."""
        past = self._past
        if past is None or not past.is_over(self._budget):
            return None
        if self.lost is not None and self._checkpoint is not None:
            self._checkpoint.report_older_model(past)
        return self.reason_to_end or "time"

    @property
    def reason_to_end(self) -> StopReason | None:
        """Why the earlier fit ended, if more time would not change its model."""
        return self._past.stop_reason if self._past is not None and self._past.is_finished else None

    def has_validation_rows(self, rows: Rows) -> bool:
        """Whether these are the validation rows of the earlier fit."""
        return self._past is not None and np.array_equal(rows, self._past.validation_rows)

    def find_best(self) -> ModelRecord | None:
        """Return the best model of all calls; it may be one that was not stored, and is not fitted again yet."""
        best = self._selector.best
        if self.lost is not None and (best is None or is_lower(best.record.estimate, self.lost.estimate)):
            return self.lost
        return None if best is None else best.record

    def reserve_seconds(self, model: SavedModel) -> float:
        """Keep the time before the deadline that loading and storing a new best model takes; return the latter."""
        seconds = 0.0 if self._checkpoint is None else self._checkpoint.reserved_seconds(model)
        self._budget.reserved = model.load_seconds + seconds
        return seconds

    def write(self, reason: StopReason | None = None) -> None:
        """Store the session, and its best model if that is new and there is time; `reason` says why it ended."""
        if self._checkpoint is None:
            return
        best = self._selector.best
        if reason is not None and best is not None:
            # The time that was kept for this.
            self._budget.reserved = best.model.load_seconds
        model = None if best is None else best.model
        self._checkpoint.write(self._make_state(reason), model, is_last=reason is not None)
