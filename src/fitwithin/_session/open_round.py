"""The round under way: its lesson, its fit and its exams so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fitwithin._core.records import Answers, ClassCounts, Estimate, Lesson, LessonReport, Mask, Purpose, Rows
from fitwithin._core.rounds import Round
from fitwithin.backends import ExamReport, FitReport, SavedModel


@dataclass(eq=False)
class OpenRound:
    """The round under way.

    Parameters
    ----------
    number : int
        1 for the first round.
    lesson : Lesson
        The request that it began with.
    new_rows, new_mistakes : int
        Rows that no earlier lesson had; those that the model before got wrong.
    n_rows_trained : int
        Rows that its model was trained on, in this lesson and in those that it continues.
    class_counts : array of int or None
        The same by class; None without classes.
    has_every_row : bool
        Whether these are all rows of the pool that may be trained on.
    predicted_fit, predicted_setup : float or None
        Seconds that its fit, and the set-up of it, are expected to take.
    began_at : float
        The clock's time when it began.
    fit : FitReport or None
        The fit, once it is over.
    validation : Answers or None
        The answers to the last exam on validation rows.
    holdout : Answers or None
        The answers to the exam on holdout rows, if there was a single one.
    estimates : tuple of Estimate or None
        The scores over all examined rows and over the fresh ones, once they were computed.
    saved : SavedModel or None
        The model, once it was accepted as the best one and saved.
    saved_at : float or None
        Seconds since the start of `fit` when it was.
    is_wanted : bool
        Whether the model is to be saved, as the best one.
    is_comparable : bool
        Whether the model was examined on rows that may choose between models, which holdout rows may not.
    holdout_rows, holdout_wrong : list of array
        The rows of its exams on holdout rows, and which of them it predicts wrongly.
    """

    number: int
    lesson: Lesson
    new_rows: int
    new_mistakes: int
    n_rows_trained: int
    class_counts: ClassCounts | None
    has_every_row: bool
    predicted_fit: float | None
    predicted_setup: float | None
    began_at: float
    fit: FitReport | None = None
    validation: Answers | None = None
    holdout: Answers | None = None
    estimates: tuple[Estimate | None, Estimate | None] | None = None
    saved: SavedModel | None = None
    saved_at: float | None = None
    is_wanted: bool = False
    is_comparable: bool = False
    handover_seconds: float = 0.0
    exam_seconds: float = 0.0
    validation_rows: int = 0
    peak_memory: int | None = None
    holdout_rows: list[Rows] = field(default_factory=list)
    holdout_wrong: list[Mask] = field(default_factory=list)
    _fresh: list[Mask] = field(default_factory=list)

    def add_fit(self, report: FitReport) -> None:
        """Note the fit."""
        self.fit = report
        self.handover_seconds += report.handover_seconds
        self._add_peak(report.peak_memory)

    def add_exam(self, report: ExamReport, fresh: Mask, purpose: Purpose) -> None:
        """Note an exam, and which of its rows were fresh."""
        self.handover_seconds += report.handover_seconds
        self.exam_seconds += report.exam_seconds
        self._add_peak(report.peak_memory)
        self.validation_rows += len(fresh) if purpose == "validation" else 0
        self.is_comparable |= purpose != "holdout"
        self._fresh.append(fresh)
        self.estimates = None

    def _add_peak(self, peak: int | None) -> None:
        if peak is not None:
            self.peak_memory = max(peak, self.peak_memory or 0)

    def withdraw(self) -> None:
        """Note that the model is not the best one after all, if it was saved as such."""
        self.saved = self.saved_at = None
        self.is_wanted = False

    @property
    def trained_rows(self) -> Rows | None:
        """The rows of its model; None if it continued with the one before."""
        return self.lesson.rows if self.lesson.batch is None else None

    @property
    def gave_up(self) -> bool:
        """Whether the fit ended after its first steps, without a model."""
        return self.fit is not None and self.fit.gave_up

    @property
    def was_cut_short(self) -> bool:
        """Whether the fit was stopped early."""
        return self.fit is not None and self.fit.was_cut_short

    @property
    def fresh(self) -> Mask:
        """For each examined row, whether it was never trained on and never examined before."""
        return np.concatenate([*self._fresh, np.zeros(0, dtype=np.bool_)])

    @property
    def is_examined(self) -> bool:
        """Whether the model was examined."""
        return bool(self._fresh)

    @property
    def was_compared(self) -> bool:
        """Whether its model was compared with the best one and stood back, or was saved."""
        return self.saved is not None or self.gave_up or (self.validation is not None and not self.is_wanted)

    @property
    def row_seconds(self) -> float:
        """Seconds that the prediction of a row took; 0 before the first exam."""
        return self.exam_seconds / len(self.fresh) if self.is_examined and len(self.fresh) else 0.0

    @property
    def validation_estimate(self) -> Estimate | None:
        """The score over the validation rows, once they were examined."""
        return None if self.validation is None else self.validation.score

    @property
    def exam_estimates(self) -> tuple[Estimate | None, Estimate] | None:
        """The scores over the validation rows and over the fresh ones, if these are all of one exam on holdout rows."""
        validation, holdout = self.validation, self.holdout
        if validation is None or holdout is None or holdout.score is None:
            return None
        # No other row is fresh, and the score over all rows is that over the validation rows.
        return (validation.score, holdout.score) if np.count_nonzero(self.fresh) == len(holdout.rows) else None

    def make_report(self, fit: FitReport, answers: Mapping[Purpose, Answers] | None = None) -> LessonReport:
        """Return the answer to its lesson."""
        return LessonReport(
            seconds=fit.fit_seconds,
            setup_seconds=fit.setup_seconds,
            steps=fit.steps,
            planned_steps=fit.planned_steps,
            was_cut_short=fit.was_cut_short,
            gave_up=fit.gave_up,
            model_bytes=fit.model_bytes if self.saved is None else self.saved.n_bytes,
            answers=answers or {},
            is_best=None if self.validation is None else self.saved is not None,
        )

    def finish(self, estimate: Estimate | None, choose_seconds: float, elapsed: float) -> Round:
        """Return the round as a record."""
        candidate = self.lesson.candidate
        if estimate is not None and math.isnan(estimate.value):
            estimate = None
        return Round(
            number=self.number,
            rows=len(self.lesson.rows),
            new_rows=self.new_rows,
            new_mistakes=self.new_mistakes,
            examined=len(self.fresh),
            fresh=int(np.count_nonzero(self.fresh)),
            seconds_handover=self.handover_seconds,
            seconds_fit=0.0 if self.fit is None else self.fit.fit_seconds,
            seconds_exam=self.exam_seconds,
            seconds_model=0.0 if self.saved is None else self.saved.save_seconds,
            seconds_choose=choose_seconds,
            predicted_fit=self.predicted_fit,
            estimate=None if estimate is None else estimate.value,
            low=None if estimate is None else estimate.low,
            high=None if estimate is None else estimate.high,
            best=self.saved is not None,
            elapsed=elapsed if self.saved_at is None else self.saved_at,
            validation_rows=self.validation_rows,
            peak_memory=self.peak_memory,
            seconds_setup=None if self.fit is None else self.fit.setup_seconds,
            predicted_setup=self.predicted_setup,
            predicted_estimate=self.lesson.expected_score,
            candidate=None if candidate is None else candidate.number,
        )
