"""The state of a fit that a later call resumes, in memory or in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fitwithin._core.budget import Budget
from fitwithin._core.records import ClassCounts, Estimate, Rows, StopReason
from fitwithin._core.rounds import ResumePoint, Round

FINISHED: tuple[StopReason, ...] = ("all rows", "no gain", "no mistakes")
"""Stop reasons of a fit that more time would not change."""


@dataclass(frozen=True, eq=False)
class ModelRecord:
    """What is known about a best model, besides the model."""

    number: int  # of its round
    n_rows: int
    rows: Rows | None = None  # None for a model that continued with the one before
    class_counts: ClassCounts | None = None
    estimate: Estimate | None = None  # that it is compared by
    fresh_estimate: Estimate | None = None  # over rows that had no part in training or choosing
    fit_seconds: float = 0.0
    was_cut_short: bool = False
    file: str = ""  # in a checkpoint, of skops
    trust: tuple[str, ...] = ()  # types that must be trusted by name to open that file


@dataclass(frozen=True, eq=False)
class FitState:
    """A fit so far."""

    seconds: float  # spent, in all calls together
    stop_reason: StopReason | None  # None while it is under way
    history: tuple[Round, ...]
    cost: Mapping[str, Any]  # the observations of the cost model
    marks: npt.NDArray[np.uint8]  # see `RoundTracker`
    was_cut_short: bool  # whether the last fit was stopped early
    best: ModelRecord | None
    validation_rows: Rows  # of the last exam
    holdout_rows: Rows  # the same
    teacher: str = ""  # the name of its class
    notes: Mapping[str, Any] = field(default_factory=dict)  # of the teacher, on its deck
    model: Any = None  # None if none could be stored
    model_record: ModelRecord | None = None  # of `model`, which may be an older one than `best`

    @property
    def lost_best(self) -> ModelRecord | None:
        """The best model, if it is not stored but can be fitted again."""
        best, stored = self.best, self.model_record
        if best is None or best.rows is None or (stored is not None and stored.number == best.number):
            return None
        return best

    @property
    def is_finished(self) -> bool:
        """Whether more time would not give a better model."""
        return self.stop_reason in FINISHED and not self.was_cut_short

    def is_over(self, budget: Budget) -> bool:
        """Whether the stored model is all that a call with this budget can return."""
        return self.model is not None and (budget.is_spent or (self.is_finished and self.lost_best is None))

    @property
    def resume_point(self) -> ResumePoint | None:
        """What a teacher may begin with."""
        best = self.best
        if best is None or best.rows is None:
            return None
        return ResumePoint(
            lesson=best.rows,
            validation_rows=self.validation_rows,
            holdout_rows=self.holdout_rows,
            score=best.estimate,
            was_cut_short=best.was_cut_short,
            notes=self.notes,
            has_model=self.lost_best is None,
        )
