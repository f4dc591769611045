"""The rounds of a session, and the use that every row of the pool was put to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import get_args

import numpy as np
import numpy.typing as npt

from fitwithin._core.budget import Clock
from fitwithin._core.records import ClassCounts, Estimate, Exam, Lesson, Purpose, Rows
from fitwithin._core.rounds import Round
from fitwithin._core.target import Labels
from fitwithin._session.open_round import OpenRound
from fitwithin.backends import ExamReport, FitReport

# Bits of the mark that each row has.
_TRAINED = np.uint8(1)
_SEEN = np.uint8(2)
_TRAINED_NOW = np.uint8(4)


@dataclass(eq=False)
class RoundTracker:
    """Follow a session row by row and round by round.

    Parameters
    ----------
    n_rows : int
        Rows in the pool.
    clock : callable
        Times the teacher's choice of rows.
    labels : Labels or None
        The class of each row, if the rows have classes.
    n_train_rows : int, optional
        Rows that may be trained on, if validation and holdout rows were chosen beforehand. Then only the holdout rows
        are fresh: others may be much like training rows. By default every row may be trained on.
    waited_seconds : callable, optional
        Returns the seconds that the deck has waited for rows, which are no part of a choice.

    Attributes
    ----------
    marks : array of uint8
        The use that each row was put to: 1 for training, 2 for training or an exam.
    current : OpenRound or None
        The round under way.
    history : list of Round
        The finished rounds.
    slowest_choice : float
        Seconds of the teacher's slowest choice so far.
    last_exams : dict of array of int
        The rows of the last exam for each purpose; of all exams of the last model on holdout rows.
    lost_seconds : float
        Seconds of the rounds that left no model to compare with the best one.
    """

    n_rows: int
    clock: Clock
    labels: Labels | None = None
    n_train_rows: int | None = None
    waited_seconds: Callable[[], float] = lambda: 0.0

    def __post_init__(self) -> None:
        # Of all rounds, several of which may be under way at the same time.
        self._numbers: list[int] = []
        self._n_usable = self.n_rows if self.n_train_rows is None else self.n_train_rows
        self.marks: npt.NDArray[np.uint8] = np.zeros(self.n_rows, dtype=np.uint8)
        self._choose_seconds = 0.0
        self._mistakes: list[Rows] = []
        # Those before the round under way, in case that its fit gives up.
        self._mistakes_before: list[Rows] = []
        self._last: OpenRound | None = None
        self.slowest_choice = 0.0
        self.current: OpenRound | None = None
        self.history: list[Round] = []
        self.last_exams: dict[Purpose, Rows] = {}
        self.lost_seconds = 0.0

    def open_loop(self) -> RoundTracker:
        """Return a tracker with a round under way of its own; rows, history and last exams are the same."""
        loop = copy.copy(self)
        loop._choose_seconds, loop._mistakes, loop._last = 0.0, [], None
        loop.slowest_choice, loop.current, loop.lost_seconds = 0.0, None, 0.0
        return loop

    @property
    def was_cut_short(self) -> bool:
        """Whether the last fit was stopped early."""
        return self._last is not None and self._last.was_cut_short

    def restore(self, marks: npt.NDArray[np.uint8], history: Sequence[Round]) -> None:
        """Go on from the rounds of an earlier fit on the same rows."""
        self.marks |= marks & (_TRAINED | _SEEN)
        self.history += history
        self._numbers += [finished.number for finished in history]

    @contextmanager
    def timing_choice(self) -> Iterator[None]:
        """Time the teacher while it chooses rows."""
        start, waited = self.clock(), self.waited_seconds()
        try:
            yield
        finally:
            seconds = max(0.0, self.clock() - start - (self.waited_seconds() - waited))
            self._choose_seconds += seconds
            self.slowest_choice = max(self.slowest_choice, seconds)

    def check_request(self, request: object) -> Lesson | Exam:
        """Return a teacher's request, with rows that are arrays.

        Raises
        ------
        TypeError, ValueError, IndexError
            If a teacher of the user's own asks for something that makes no sense.
        """
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
        if rows.min() < 0 or rows.max() >= len(self.marks):
            raise IndexError(f"{kind} asks for rows outside the pool, which has {len(self.marks)} rows.")
        if isinstance(request, Exam) and request.purpose not in get_args(Purpose):
            purposes = ", ".join(map(repr, get_args(Purpose)))
            raise ValueError(f"Exam has purpose={request.purpose!r}; expected one of {purposes}.")
        return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.intp)

    def begin(
        self, lesson: Lesson, predicted_fit: float | None = None, predicted_setup: float | None = None
    ) -> OpenRound:
        """Begin a round with a lesson for a new model, or for the last one, which continues."""
        rows, continues = lesson.rows, lesson.batch is not None
        new = rows[self.marks[rows] & _TRAINED == 0]
        if continues:
            new = np.unique(new)
        before = self._last if continues else None
        # An earlier fit that this one resumes trained other models.
        added = np.unique(rows[self.marks[rows] & _TRAINED_NOW == 0]) if continues else rows
        n_rows_trained = len(added) + (0 if before is None else before.n_rows_trained)
        self._numbers.append(max(self._numbers, default=0) + 1)
        self.current = OpenRound(
            number=self._numbers[-1],
            lesson=lesson,
            new_rows=len(new),
            new_mistakes=self._count_mistakes(new),
            n_rows_trained=n_rows_trained,
            class_counts=self._count_classes(added, before),
            has_every_row=n_rows_trained >= self._n_usable and (continues or self._covers_pool(rows)),
            predicted_fit=predicted_fit,
            predicted_setup=predicted_setup,
            began_at=self.clock(),
        )
        self._mistakes_before, self._mistakes = self._mistakes, []
        if lesson.give_up_over is None:
            # As early as possible: with millions of rows it takes a while.
            self._mark_trained(rows)
        return self.current

    def add_fit(self, report: FitReport) -> None:
        """Note the fit of the round under way; one that gave up leaves no trace on the rows."""
        current = self.open_round
        current.add_fit(report)
        if report.gave_up:
            current.new_rows = current.new_mistakes = 0
            self._mistakes = self._mistakes_before
            return
        self._last = current
        if current.lesson.give_up_over is not None:
            self._mark_trained(current.lesson.rows)

    def _mark_trained(self, rows: Rows) -> None:
        self.marks[rows] |= _TRAINED | _SEEN | _TRAINED_NOW

    @property
    def open_round(self) -> OpenRound:
        """The round under way; raise RuntimeError if there is none."""
        if self.current is None:
            raise RuntimeError("No round is under way; a teacher must yield a Lesson before its first Exam.")
        return self.current

    def _count_classes(self, rows: Rows, before: OpenRound | None) -> ClassCounts | None:
        # Before each lesson, not after the last one: with millions of rows it takes a while, and the deadline is near.
        if self.labels is None:
            return None
        counts = np.bincount(self.labels.codes[rows], minlength=len(self.labels.classes))
        return counts if before is None or before.class_counts is None else before.class_counts + counts

    def _count_mistakes(self, rows: Rows) -> int:
        """Count the rows that the last model got wrong."""
        return int(np.count_nonzero(np.isin(rows, np.concatenate(self._mistakes)))) if self._mistakes else 0

    def _covers_pool(self, rows: Rows) -> bool:
        is_covered = np.zeros(len(self.marks), dtype=np.bool_)
        is_covered[rows] = True
        return int(np.count_nonzero(is_covered)) >= self._n_usable

    def add_exam(self, rows: Rows, report: ExamReport, purpose: Purpose = "mistakes") -> None:
        """Note an exam; validation rows never count as fresh, holdout rows always do."""
        may_be_fresh = purpose == "holdout" or (purpose != "validation" and self._n_usable == len(self.marks))
        fresh = (self.marks[rows] & _SEEN == 0) & may_be_fresh
        self.last_exams[purpose] = rows
        self.open_round.add_exam(report, fresh, purpose)
        if purpose == "holdout":
            # A model may be examined on some of them first, and on others later.
            self.open_round.holdout_rows.append(rows)
            self.open_round.holdout_wrong.append(report.wrong)
            self.last_exams[purpose] = np.concatenate(self.open_round.holdout_rows)
        else:
            self._mistakes.append(rows[report.wrong])
            self.marks[rows] |= _SEEN

    def close(self, finished: OpenRound, estimate: Estimate | None, elapsed: float) -> Round:
        """End a round, and add it to the history."""
        seconds, self._choose_seconds = self._choose_seconds, 0.0
        self.current = None
        self.history.append(finished.finish(estimate, seconds, elapsed))
        return self.history[-1]

    def abandon(self) -> None:
        """Forget the round under way, if there is one, because it cannot be finished."""
        if self.current is not None:
            self._numbers.remove(self.current.number)
            if not self.current.was_compared:
                self.add_lost_round(self.current)
        self.current = None

    def add_lost_round(self, lost: OpenRound) -> None:
        """Note that this round, which ends now, leaves no model."""
        self.lost_seconds += self.clock() - lost.began_at

    def withdraw_best(self) -> None:
        """Note that the model of the last best round is not the best one after all."""
        place = max(place for place, finished in enumerate(self.history) if finished.best)
        self.history[place] = replace(self.history[place], best=False)
