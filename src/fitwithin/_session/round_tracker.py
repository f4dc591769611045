"""The rounds of a session, the one under way, and the use that every row of the pool was put to."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import get_args

import numpy as np
import numpy.typing as npt

from fitwithin._core.budget import Clock
from fitwithin._core.records import Answers, ClassCounts, Estimate, Exam, Lesson, LessonReport, Mask, Purpose, Rows
from fitwithin._core.rounds import Round
from fitwithin._core.target import Labels, count_codes
from fitwithin._pools.decks.table_pile import RowSet, sort_distinct
from fitwithin.backends import ExamReport, FitReport, SavedModel
from fitwithin.teachers import Deck

_TRAINED, _SEEN = np.uint8(1), np.uint8(2)  # bits of the mark that each row has


@dataclass(eq=False)
class OpenRound:
    """The round under way."""

    number: int
    lesson: Lesson
    new_rows: int  # which no earlier lesson had
    new_mistakes: int  # those of them that the model before got wrong
    n_rows_trained: int  # in this lesson and in those that it continues
    class_counts: ClassCounts | None
    has_every_row: bool  # that may be trained on
    predicted_fit: float | None
    predicted_setup: float | None
    began_at: float
    fit: FitReport = field(default_factory=lambda: FitReport(0.0, 0.0))  # this one until it is over
    validation: Answers | None = None  # to the last exam on validation rows
    estimate: Estimate | None = None  # over the validation rows, or without them over all examined rows
    fresh_estimate: Estimate | None = None
    is_scored: bool = False  # whether these two are the scores over all exams so far
    saved: SavedModel | None = None  # once it was accepted as the best one
    saved_at: float | None = None
    is_wanted: bool = False  # whether the model is to be saved, as the best one
    is_comparable: bool = False  # whether it was examined on rows that may choose a model, which holdout rows may not
    handover_seconds: float = 0.0
    exam_seconds: float = 0.0
    validation_rows: int = 0
    peak_memory: int | None = None
    holdout: list[Answers] = field(default_factory=list)
    fresh_masks: list[Mask] = field(default_factory=list)  # for each exam: rows that were never trained on or examined

    def add_report(self, report: FitReport | ExamReport) -> None:
        """Note what every report tells: the seconds of handing rows over, and the memory."""
        self.handover_seconds += report.handover_seconds
        if report.peak_memory is not None:
            self.peak_memory = max(report.peak_memory, self.peak_memory or 0)

    def withdraw(self) -> None:
        """Note that the model is not the best one after all, if it was saved as such."""
        self.saved = self.saved_at = None
        self.is_wanted = False

    @property
    def trained_rows(self) -> Rows | None:
        """The rows of its model; None if it continued with the one before."""
        return self.lesson.rows if self.lesson.batch is None else None

    @property
    def fresh(self) -> Mask:
        """The masks of all exams."""
        return np.concatenate([*self.fresh_masks, np.zeros(0, dtype=np.bool_)])

    @property
    def was_compared(self) -> bool:
        """Whether its model was compared with the best one and stood back, or was saved."""
        return self.saved is not None or self.fit.gave_up or (self.validation is not None and not self.is_wanted)

    @property
    def row_seconds(self) -> float:
        """Seconds that the prediction of a row took; 0 before the first exam."""
        return self.exam_seconds / len(self.fresh) if len(self.fresh) else 0.0

    @property
    def holdout_estimate(self) -> Estimate | None:
        """The score over the fresh rows, if these are all of one exam on holdout rows, beside validation rows."""
        if self.validation is None or len(self.holdout) != 1:
            return None
        return self.holdout[0].score if np.count_nonzero(self.fresh) == len(self.holdout[0].rows) else None

    def make_report(self, answers: Mapping[Purpose, Answers] | None = None) -> LessonReport:
        """Return the answer to its lesson."""
        fit = self.fit
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

    def finish(self, choose_seconds: float, elapsed: float) -> Round:
        """Return the round as a record."""
        candidate, estimate, value, low, high = self.lesson.candidate, self.estimate, None, None, None
        # The score of a last fit, on rows that it was trained on, would mislead.
        if estimate is not None and not math.isnan(estimate.value) and not self.lesson.refit:
            value, low, high = estimate.value, estimate.low, estimate.high
        return Round(
            number=self.number,
            rows=len(self.lesson.rows),
            new_rows=self.new_rows,
            new_mistakes=self.new_mistakes,
            examined=len(self.fresh),
            fresh=int(np.count_nonzero(self.fresh)),
            seconds_handover=self.handover_seconds,
            seconds_fit=self.fit.fit_seconds,
            seconds_exam=self.exam_seconds,
            seconds_model=0.0 if self.saved is None else self.saved.save_seconds,
            seconds_choose=choose_seconds,
            predicted_fit=self.predicted_fit,
            estimate=value,
            low=low,
            high=high,
            best=self.saved is not None,
            elapsed=elapsed if self.saved_at is None else self.saved_at,
            validation_rows=self.validation_rows,
            peak_memory=self.peak_memory,
            seconds_setup=self.fit.setup_seconds,
            predicted_setup=self.predicted_setup,
            predicted_estimate=self.lesson.expected_score,
            candidate=None if candidate is None else candidate.number,
        )


@dataclass(eq=False)
class RoundTracker:
    """Follow a session row by row and round by round."""

    deck: Deck
    clock: Clock
    labels: Labels | None = None

    def __post_init__(self) -> None:
        self._numbers: list[int] = []  # of all rounds; several may be under way at the same time
        self._n_usable = self.deck.size
        # Rows of lessons, and rows of lessons and exams; a fit that resumes knows those of its own lessons too.
        self._trained = self._trained_now = RowSet(self.deck.pool_size)
        self._seen = RowSet(self.deck.pool_size)
        self.history: list[Round] = []
        # The rows of the last exam for each purpose; of all exams of the last model on holdout rows.
        self.last_exams: dict[Purpose, Rows] = {}
        self._start_loop()

    def _start_loop(self) -> None:
        self._choose_seconds = self.slowest_choice = 0.0
        self.lost_seconds = 0.0  # of rounds that left no model to compare with the best one
        self._mistakes: list[Rows] = []
        self.last: OpenRound | None = None  # whose fit is over
        self.current: OpenRound | None = None

    def open_loop(self) -> RoundTracker:
        """Return a tracker with a round under way of its own; rows, history and last exams are the same."""
        loop = copy.copy(self)
        loop._start_loop()
        return loop

    @property
    def marks(self) -> npt.NDArray[np.uint8]:
        """The use that each row was put to: 1 for training, 2 for training or an exam."""
        return self._trained.make_mask() * _TRAINED | self._seen.make_mask() * _SEEN

    def restore(self, marks: npt.NDArray[np.uint8], history: Sequence[Round]) -> None:
        """Go on from the rounds of an earlier fit on the same rows."""
        self._trained = RowSet(self.deck.pool_size, np.flatnonzero(marks & _TRAINED))
        self._seen = RowSet(self.deck.pool_size, np.flatnonzero(marks & _SEEN))
        self.history += history
        self._numbers += [finished.number for finished in history]

    @contextmanager
    def timing_choice(self) -> Iterator[None]:
        """Time the teacher while it chooses rows."""
        start, waited = self.clock(), self.deck.pile.waited_seconds
        try:
            yield
        finally:
            seconds = max(0.0, self.clock() - start - (self.deck.pile.waited_seconds - waited))
            self._choose_seconds += seconds
            self.slowest_choice = max(self.slowest_choice, seconds)

    def check_request(self, request: object) -> Lesson | Exam:
        """Return a teacher's request, with rows that are arrays; refuse one that makes no sense."""
        if not isinstance(request, Lesson | Exam):
            raise TypeError(f"The teacher yielded {request!r}; expected Lesson(rows) or Exam(rows).")
        rows = self._check_rows(request)
        if isinstance(request, Exam):
            if self.current is None:
                raise ValueError("The teacher yielded an Exam before its first Lesson; a Lesson must come first.")
            return replace(request, rows=rows)
        if request.batch is not None and not (isinstance(request.batch, Integral) and int(request.batch) >= 1):
            raise ValueError(f"Lesson has batch={request.batch!r}; expected None or a positive number of rows.")
        exams = tuple(replace(exam, rows=self._check_rows(exam)) for exam in request.exams)
        return replace(request, rows=rows, exams=exams)

    def _check_rows(self, request: Lesson | Exam) -> Rows:
        kind = type(request).__name__
        rows = np.asarray(request.rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise ValueError(
                f"{kind} has rows of shape {rows.shape} and type {rows.dtype}; expected a non-empty, one-dimensional "
                "array of row numbers."
            )
        if rows.min() < 0 or rows.max() >= self.deck.pool_size:
            raise IndexError(f"{kind} asks for rows outside the pool, which has {self.deck.pool_size} rows.")
        if isinstance(request, Exam) and request.purpose not in get_args(Purpose):
            purposes = ", ".join(map(repr, get_args(Purpose)))
            raise ValueError(f"Exam has purpose={request.purpose!r}; expected one of {purposes}.")
        return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.intp)

    def begin(
        self, lesson: Lesson, predicted_fit: float | None = None, predicted_setup: float | None = None
    ) -> OpenRound:
        """Begin a round with a lesson for a new model, or for the last one, which continues."""
        rows, continues = lesson.rows, lesson.batch is not None
        new, added, before = rows[~self._trained.holds(rows)], rows, None
        if continues:
            # An earlier fit that this one resumes trained other models.
            added = sort_distinct(rows[~self._trained_now.holds(rows)])
            new, before = sort_distinct(new), self.last
        n_rows_trained = len(added) + (0 if before is None else before.n_rows_trained)
        # Before each lesson, not after the last one: with millions of rows it takes a while, and the deadline is near.
        counts = None if self.labels is None else count_codes(self.labels.codes[added], len(self.labels.classes))
        if counts is not None and before is not None and before.class_counts is not None:
            counts = before.class_counts + counts
        may_be_all = n_rows_trained >= self._n_usable
        self._numbers.append(max(self._numbers, default=0) + 1)
        self.current = OpenRound(
            number=self._numbers[-1],
            lesson=lesson,
            new_rows=len(new),
            new_mistakes=int(np.count_nonzero(RowSet(self.deck.pool_size, *self._mistakes).holds(new))),
            n_rows_trained=n_rows_trained,
            class_counts=counts,
            has_every_row=may_be_all
            and (continues or RowSet(self.deck.pool_size, rows).make_mask().sum() >= self._n_usable),
            predicted_fit=predicted_fit,
            predicted_setup=predicted_setup,
            began_at=self.clock(),
        )
        if lesson.give_up_over is None:
            # As early as possible: with millions of rows it takes a while.
            self._mark_trained(rows)
        return self.current

    def add_fit(self, report: FitReport) -> None:
        """Note the fit of the round under way; one that gave up leaves no trace on the rows."""
        current = self.open_round
        current.fit = report
        current.add_report(report)
        if report.gave_up:
            current.new_rows = current.new_mistakes = 0
            return
        self.last, self._mistakes = current, []
        if current.lesson.give_up_over is not None:
            self._mark_trained(current.lesson.rows)

    def _mark_trained(self, rows: Rows) -> None:
        for used in {self._trained, self._trained_now, self._seen}:
            used.add(rows)

    @property
    def open_round(self) -> OpenRound:
        """The round under way; `check_request` has seen to it that there is one."""
        assert self.current is not None
        return self.current

    def add_exam(self, rows: Rows, report: ExamReport, purpose: Purpose = "mistakes") -> None:
        """Note an exam; validation rows never count as fresh, holdout rows always do."""
        # If the user chose the held-out rows, other rows may be much like training rows.
        may_be_fresh = purpose == "holdout" or (purpose != "validation" and self._n_usable == self.deck.pool_size)
        current = self.open_round
        current.add_report(report)
        current.exam_seconds += report.exam_seconds
        current.fresh_masks.append(~self._seen.holds(rows) & may_be_fresh)
        current.is_scored = False
        self.last_exams[purpose] = rows
        if purpose == "holdout":
            # A model may be examined on some of them first, and on others later.
            current.holdout.append(Answers(rows, report.wrong, score=report.score))
            self.last_exams[purpose] = np.concatenate([answers.rows for answers in current.holdout])
        else:
            current.validation_rows += len(rows) if purpose == "validation" else 0
            current.is_comparable = True
            self._mistakes.append(rows[report.wrong])
            self._seen.add(rows)

    def close(self, elapsed: float) -> Round:
        """End the round under way, and add it to the history."""
        self.history.append(self.open_round.finish(self._choose_seconds, elapsed))
        self._choose_seconds, self.current = 0.0, None
        return self.history[-1]

    def abandon(self) -> None:
        """Forget the round under way, if there is one, because it cannot be finished."""
        if self.current is not None:
            self._numbers.remove(self.current.number)
            if not self.current.was_compared:
                self.lost_seconds += self.clock() - self.current.began_at
        self.current = None

    def withdraw_best(self) -> None:
        """Note that the model of the last best round is not the best one after all."""
        place = max(place for place, finished in enumerate(self.history) if finished.best)
        self.history[place] = replace(self.history[place], best=False)
