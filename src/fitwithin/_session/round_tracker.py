"""What a session writes down: which rows were used for what, and the round that is under way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

import numpy as np

from fitwithin._core.budget import Clock
from fitwithin._core.records import Estimate, Exam, Lesson, Mask, Purpose, Round, Rows
from fitwithin._core.scoring import accuracy_interval
from fitwithin._core.target import Labels
from fitwithin.backends import ExamReport, FitReport, ScoreReport

_TAUGHT, _SEEN, _MISTAKEN = 1, 2, 4


class RoundTracker:
    """The bookkeeping of a session, row by row and round by round.

    Parameters
    ----------
    size : int
        Rows in the pool.
    clock : callable
        For the time that the teacher takes to choose.
    labels : Labels or None
        The class of each row, if the rows have classes.
    """

    def __init__(self, size: int, clock: Clock, labels: Labels | None = None) -> None:
        self._clock = clock
        self._labels = labels
        self._marks = np.zeros(size, dtype=np.uint8)
        self._number = 0
        self._choose = 0.0
        self._mistakes: list[Rows] = []
        self.slowest_choice = 0.0
        self.behind = 0
        self.behind_by_class: Rows | None = None
        self.open = False

    @contextmanager
    def choosing(self) -> Iterator[None]:
        """Time what the teacher does on its own."""
        start = self._clock()
        try:
            yield
        finally:
            seconds = self._clock() - start
            self._choose += seconds
            self.slowest_choice = max(self.slowest_choice, seconds)

    def checked(self, request: object) -> Rows:
        """The rows of a teacher's request, if they are rows of the pool.

        Raises
        ------
        TypeError, ValueError, IndexError
            If a teacher of the user's own asks for something that makes no sense.
        """
        if not isinstance(request, Lesson | Exam):
            raise TypeError(f"A teacher yields Lesson(rows) or Exam(rows); got {request!r}.")
        kind = type(request).__name__
        rows = np.asarray(request.rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise ValueError(
                f"{kind} takes a non-empty, one-dimensional array of row numbers; got shape {rows.shape}, {rows.dtype}."
            )
        if rows.min() < 0 or rows.max() >= len(self._marks):
            raise IndexError(f"{kind} asks for rows outside the pool of {len(self._marks)} rows.")
        if isinstance(request, Exam) and not self.open:
            raise ValueError("A teacher must yield a Lesson before its first Exam.")
        if isinstance(request, Lesson) and not _is_batch(request.batch):
            raise ValueError(f"The batch of a Lesson must be None or a positive number of rows; got {request.batch!r}.")
        return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.intp)

    def begin(self, rows: Rows, predicted_fit: float | None, *, goes_on: bool = False) -> None:
        """A lesson begins, for a new model or for the one that goes on learning."""
        new = rows[self._marks[rows] & _TAUGHT == 0]
        if goes_on:
            new = np.unique(new)
        self._new_rows = len(new)
        self.rows = len(rows)
        self.behind = self.behind + self._new_rows if goes_on else len(rows)
        self._count_classes(new if goes_on else rows, goes_on)
        self._whole = self.behind >= len(self._marks) and (goes_on or self._covers(rows))
        self._new_mistakes = self._count_mistakes(new)
        self._marks[rows] |= _TAUGHT | _SEEN
        self._predicted_fit = predicted_fit
        self._examined = self._right = self._validation_rows = 0
        self._fresh: list[Mask] = []
        self._fresh_right = 0
        self._handover = self._exam = 0.0
        self._number += 1
        self.open = True

    def _count_classes(self, rows: Rows, goes_on: bool) -> None:
        # Before each lesson, not after the last: it takes a while with millions of rows, and then the deadline is near.
        if self._labels is not None:
            counts = np.bincount(self._labels.codes[rows], minlength=len(self._labels.classes))
            before = self.behind_by_class if goes_on else None
            self.behind_by_class = counts if before is None else before + counts

    def _count_mistakes(self, rows: Rows) -> int:
        """How many of these rows the model of the last round got wrong; forgets its mistakes."""
        for mistakes in self._mistakes:
            self._marks[mistakes] |= _MISTAKEN
        count = int(np.count_nonzero(self._marks[rows] & _MISTAKEN))
        for mistakes in self._mistakes:
            self._marks[mistakes] &= ~np.uint8(_MISTAKEN)
        self._mistakes = []
        return count

    def _covers(self, rows: Rows) -> bool:
        there = np.zeros(len(self._marks), dtype=np.bool_)
        there[rows] = True
        return bool(there.all())

    def taught(self, report: FitReport) -> None:
        """The lesson is over."""
        self._handover += report.handover_seconds
        self._fit = report.fit_seconds

    def examined(self, rows: Rows, report: ExamReport, purpose: Purpose = "mistakes") -> None:
        """An exam is over; rows that judge are fresh to nobody, rows that audit stay fresh for everyone."""
        fresh = (self._marks[rows] & _SEEN == 0) & (purpose != "validation")
        self._examined += len(rows)
        self._right += len(rows) - int(np.count_nonzero(report.wrong))
        self._fresh.append(fresh)
        self._fresh_right += int(np.count_nonzero(fresh & ~report.wrong))
        self._handover += report.handover_seconds
        self._exam += report.exam_seconds
        self._validation_rows += len(rows) if purpose == "validation" else 0
        if purpose != "holdout":
            self._mistakes.append(rows[report.wrong])
            self._marks[rows] |= _SEEN

    @property
    def was_examined(self) -> bool:
        """Whether the model of the round that is under way sat an exam."""
        return self.open and self._examined > 0

    @property
    def whole(self) -> bool:
        """Whether the lesson holds every row of the pool."""
        return self._whole

    def estimate(self) -> Estimate | None:
        """The accuracy over all rows that this round examined."""
        return accuracy_interval(self._right, self._examined)

    def fresh_estimate(self) -> Estimate | None:
        """The accuracy over those that were never taught and never examined before."""
        return accuracy_interval(self._fresh_right, int(np.count_nonzero(self.fresh)))

    @property
    def fresh(self) -> Mask:
        """For each row that this round examined, whether it was never taught and never examined before."""
        return np.concatenate([*self._fresh, np.zeros(0, dtype=np.bool_)])

    def scored(self, report: ScoreReport) -> None:
        """The exams are scored."""
        self._exam += report.seconds

    def close(self, *, estimate: Estimate | None, best: bool, store: float, elapsed: float) -> Round:
        """The round is over."""
        choose, self._choose = self._choose, 0.0
        self.open = False
        return Round(
            number=self._number,
            rows=self.rows,
            new_rows=self._new_rows,
            new_mistakes=self._new_mistakes,
            examined=self._examined,
            fresh=int(np.count_nonzero(self.fresh)),
            seconds_handover=self._handover,
            seconds_fit=self._fit,
            seconds_exam=self._exam,
            seconds_model=store,
            seconds_choose=choose,
            predicted_fit=self._predicted_fit,
            estimate=None if estimate is None else estimate.value,
            low=None if estimate is None else estimate.low,
            high=None if estimate is None else estimate.high,
            best=best,
            elapsed=elapsed,
            validation_rows=self._validation_rows,
        )


def _is_batch(batch: object) -> bool:
    return batch is None or (isinstance(batch, Integral) and int(batch) >= 1)
