"""The rounds of a session: the one under way, and the use that every row of the pool was put to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import get_args

import numpy as np
import numpy.typing as npt

from fitwithin._core.budget import Clock
from fitwithin._core.candidate import Candidate
from fitwithin._core.records import ClassCounts, Estimate, Exam, Lesson, Mask, Purpose, Round, Rows
from fitwithin._core.target import Labels
from fitwithin._session.selection import ValidationExam
from fitwithin.backends import ExamReport, FitReport, SavedModel, ScoreReport

# Bits of the mark that each row has.
_TRAINED = np.uint8(1)
_SEEN = np.uint8(2)
_MISTAKE = np.uint8(4)
_TRAINED_NOW = np.uint8(8)


@dataclass(frozen=True)
class RoundForecast:
    """What is expected of a round before it begins; None where nothing is.

    Parameters
    ----------
    fit_seconds, setup_seconds : float or None
        Seconds of the fit, and those of it until its first step.
    score : float or None
        The score on the validation rows.
    """

    fit_seconds: float | None = None
    setup_seconds: float | None = None
    score: float | None = None


@dataclass(eq=False)
class OpenRound:
    """The round under way.

    Parameters
    ----------
    number : int
        1 for the first round.
    rows, new_rows, new_mistakes : int
        Rows of its lesson; those that no earlier lesson had; those that the model before got wrong.
    n_rows_trained : int
        Rows that its model was trained on, in this lesson and in those that it continues.
    class_counts : array of int or None
        The same by class; None without classes.
    has_every_row : bool
        Whether these are all rows of the pool that may be trained on.
    plan : RoundForecast
        What is expected of the round.
    began_at : float
        The clock's time when it began.
    validation_estimate : Estimate or None
        The score over the validation rows, once they were examined.
    validation_exam : ValidationExam or None
        The last exam on them.
    estimates : tuple of Estimate or None
        The scores over all examined rows and over the fresh ones, once they were computed.
    saved : SavedModel or None
        The model, once it was accepted as the best one and saved.
    saved_at : float or None
        Seconds since the start of `fit` when it was.
    peak_memory : int or None
        Most bytes of the learner's process and its children so far, if they are known.
    setup_seconds : float or None
        Seconds of the fit until its first step, if they are known.
    lesson : array of int or None
        The row numbers of its lesson; None if its model continued with the one before.
    was_cut_short : bool
        Whether the fit was stopped early.
    is_refit : bool
        Whether the best model is fitted again with validation and holdout rows.
    is_measurement : bool
        Whether the learner only took a few steps, to measure its cost.
    is_comparable : bool
        Whether the model was examined on rows that may choose between models, which holdout rows may not.
    is_wanted : bool
        Whether the model is to be saved, as the best one.
    candidate : Candidate or None
        The learner, in a session with several.
    holdout_rows : list of array of int
        The rows of its exams on holdout rows.
    """

    number: int
    rows: int
    new_rows: int
    new_mistakes: int
    n_rows_trained: int
    class_counts: ClassCounts | None
    has_every_row: bool
    plan: RoundForecast
    began_at: float
    validation_estimate: Estimate | None = None
    validation_exam: ValidationExam | None = None
    estimates: tuple[Estimate | None, Estimate | None] | None = None
    saved: SavedModel | None = None
    saved_at: float | None = None
    lesson: Rows | None = None
    was_cut_short: bool = False
    is_refit: bool = False
    is_measurement: bool = False
    validation_rows: int = 0
    is_comparable: bool = False
    is_wanted: bool = False
    candidate: Candidate | None = None
    handover_seconds: float = 0.0
    fit_seconds: float = 0.0
    setup_seconds: float | None = None
    exam_seconds: float = 0.0
    peak_memory: int | None = None
    holdout_rows: list[Rows] = field(default_factory=list)
    _fresh: list[Mask] = field(default_factory=list)

    def add_fit(self, report: FitReport) -> None:
        """Note the fit."""
        self.handover_seconds += report.handover_seconds
        self.fit_seconds = report.fit_seconds
        self.setup_seconds = report.setup_seconds
        self._add_peak(report.peak_memory)
        self.was_cut_short = report.skipped_seconds > 0

    def add_exam(self, report: ExamReport, fresh: Mask, purpose: Purpose) -> None:
        """Note an exam, and which of its rows were fresh."""
        self.handover_seconds += report.handover_seconds
        self.exam_seconds += report.exam_seconds
        self._add_peak(report.peak_memory)
        self.validation_rows += len(fresh) if purpose == "validation" else 0
        self.is_comparable |= purpose != "holdout"
        self._fresh.append(fresh)
        self.estimates = None

    def add_score(self, report: ScoreReport) -> None:
        """Note the time that scoring took."""
        self.exam_seconds += report.seconds

    def _add_peak(self, peak: int | None) -> None:
        if peak is not None:
            self.peak_memory = max(peak, self.peak_memory or 0)

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
        return self.saved is not None or (self.validation_estimate is not None and not self.is_wanted)

    def finish(self, estimate: Estimate | None, choose_seconds: float, elapsed: float) -> Round:
        """Return the round as a record."""
        return Round(
            number=self.number,
            rows=self.rows,
            new_rows=self.new_rows,
            new_mistakes=self.new_mistakes,
            examined=len(self.fresh),
            fresh=int(np.count_nonzero(self.fresh)),
            seconds_handover=self.handover_seconds,
            seconds_fit=self.fit_seconds,
            seconds_exam=self.exam_seconds,
            seconds_model=0.0 if self.saved is None else self.saved.save_seconds,
            seconds_choose=choose_seconds,
            predicted_fit=self.plan.fit_seconds,
            estimate=None if estimate is None else estimate.value,
            low=None if estimate is None else estimate.low,
            high=None if estimate is None else estimate.high,
            best=self.saved is not None,
            elapsed=elapsed if self.saved_at is None else self.saved_at,
            validation_rows=self.validation_rows,
            peak_memory=self.peak_memory,
            seconds_setup=self.setup_seconds,
            predicted_setup=self.plan.setup_seconds,
            predicted_estimate=self.plan.score,
            candidate=None if self.candidate is None else self.candidate.number,
        )


class RoundNumbers:
    """Numbers for rounds; several rounds may be under way at the same time.

    Attributes
    ----------
    last : int
        The last number that was taken.
    """

    def __init__(self) -> None:
        self.last = 0

    def take(self) -> int:
        """Return the next number."""
        self.last += 1
        return self.last

    def give_back(self, number: int) -> None:
        """Take back the number of a round that was abandoned, unless a later one is taken."""
        if number == self.last:
            self.last -= 1


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

    Attributes
    ----------
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
    waited_seconds : callable
        Returns the seconds that the deck has waited for rows, which are no part of a choice.
    """

    def __init__(
        self, n_rows: int, clock: Clock, labels: Labels | None = None, n_train_rows: int | None = None
    ) -> None:
        self._clock = clock
        self._labels = labels
        self._numbers = RoundNumbers()
        self._n_train_rows = n_rows if n_train_rows is None else n_train_rows
        self._marks = np.zeros(n_rows, dtype=np.uint8)
        self._choose_seconds = 0.0
        self._mistakes: list[Rows] = []
        self._last: OpenRound | None = None
        self.slowest_choice = 0.0
        self.current: OpenRound | None = None
        self.history: list[Round] = []
        self.last_exams: dict[Purpose, Rows] = {}
        self.lost_seconds = 0.0
        self.waited_seconds: Callable[[], float] = lambda: 0.0

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

    @property
    def marks(self) -> npt.NDArray[np.uint8]:
        """The use that each row was put to: 1 for training, 2 for training or an exam."""
        return self._marks

    def restore(self, marks: npt.NDArray[np.uint8], history: Sequence[Round]) -> None:
        """Go on from the rounds of an earlier fit on the same rows."""
        self._marks |= marks & (_TRAINED | _SEEN)
        self.history += history
        self._numbers.last = max((finished.number for finished in history), default=0)

    @contextmanager
    def timing_choice(self) -> Iterator[None]:
        """Time the teacher while it chooses rows."""
        start, waited = self._clock(), self.waited_seconds()
        try:
            yield
        finally:
            seconds = max(0.0, self._clock() - start - (self.waited_seconds() - waited))
            self._choose_seconds += seconds
            self.slowest_choice = max(self.slowest_choice, seconds)

    def check_request(self, request: object) -> Rows:
        """Return the rows of a teacher's request.

        Raises
        ------
        TypeError, ValueError, IndexError
            If a teacher of the user's own asks for something that makes no sense.
        """
        if not isinstance(request, Lesson | Exam):
            raise TypeError(f"The teacher yielded {request!r}; expected Lesson(rows) or Exam(rows).")
        kind = type(request).__name__
        rows = np.asarray(request.rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise ValueError(
                f"{kind} has rows of shape {rows.shape} and type {rows.dtype}; expected a non-empty, one-dimensional "
                "array of row numbers."
            )
        if rows.min() < 0 or rows.max() >= len(self._marks):
            raise IndexError(f"{kind} asks for rows outside the pool, which has {len(self._marks)} rows.")
        if isinstance(request, Exam) and request.purpose not in get_args(Purpose):
            purposes = ", ".join(map(repr, get_args(Purpose)))
            raise ValueError(f"Exam has purpose={request.purpose!r}; expected one of {purposes}.")
        if isinstance(request, Exam) and self.current is None:
            raise ValueError("The teacher yielded an Exam before its first Lesson; a Lesson must come first.")
        if isinstance(request, Lesson) and not _is_batch_size(request.batch):
            raise ValueError(f"Lesson has batch={request.batch!r}; expected None or a positive number of rows.")
        return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.intp)

    def begin(self, rows: Rows, plan: RoundForecast, *, continues: bool = False) -> OpenRound:
        """Begin a round with a lesson for a new model, or for the last one, which continues."""
        new = rows[self._marks[rows] & _TRAINED == 0]
        if continues:
            new = np.unique(new)
        before = self._last if continues else None
        # An earlier fit that this one goes on from trained other models.
        added = np.unique(rows[self._marks[rows] & _TRAINED_NOW == 0]) if continues else rows
        n_rows_trained = len(added) + (0 if before is None else before.n_rows_trained)
        self.current = self._last = OpenRound(
            number=self._numbers.take(),
            rows=len(rows),
            new_rows=len(new),
            new_mistakes=self._count_mistakes(new),
            n_rows_trained=n_rows_trained,
            class_counts=self._count_classes(added, before),
            has_every_row=n_rows_trained >= self._n_train_rows and (continues or self._covers_pool(rows)),
            plan=plan,
            began_at=self._clock(),
            lesson=None if continues else rows,
        )
        self._marks[rows] |= _TRAINED | _SEEN | _TRAINED_NOW
        return self.current

    def begin_measurement(self, rows: Rows) -> OpenRound:
        """Begin a round in which the learner only takes a few steps; it leaves no trace on the rows."""
        self.current = OpenRound(
            number=self._numbers.take(),
            rows=len(rows),
            new_rows=0,
            new_mistakes=0,
            n_rows_trained=len(rows),
            class_counts=None,
            has_every_row=False,
            plan=RoundForecast(),
            began_at=self._clock(),
            is_measurement=True,
        )
        return self.current

    def _count_classes(self, rows: Rows, before: OpenRound | None) -> ClassCounts | None:
        # Before each lesson, not after the last one: with millions of rows it takes a while, and the deadline is near.
        if self._labels is None:
            return None
        counts = np.bincount(self._labels.codes[rows], minlength=len(self._labels.classes))
        return counts if before is None or before.class_counts is None else before.class_counts + counts

    def _count_mistakes(self, rows: Rows) -> int:
        """Count the rows that the last model got wrong, and forget its mistakes."""
        for mistakes in self._mistakes:
            self._marks[mistakes] |= _MISTAKE
        count = int(np.count_nonzero(self._marks[rows] & _MISTAKE))
        for mistakes in self._mistakes:
            self._marks[mistakes] &= ~_MISTAKE
        self._mistakes = []
        return count

    def _covers_pool(self, rows: Rows) -> bool:
        is_covered = np.zeros(len(self._marks), dtype=np.bool_)
        is_covered[rows] = True
        return int(np.count_nonzero(is_covered)) >= self._n_train_rows

    def add_exam(self, rows: Rows, report: ExamReport, purpose: Purpose = "mistakes") -> None:
        """Note an exam; validation rows never count as fresh, holdout rows always do."""
        may_be_fresh = purpose == "holdout" or (purpose != "validation" and self._n_train_rows == len(self._marks))
        fresh = (self._marks[rows] & _SEEN == 0) & may_be_fresh
        self.last_exams[purpose] = rows
        if self.current is not None:
            self.current.add_exam(report, fresh, purpose)
        if self.current is not None and purpose == "holdout":
            # A model may be examined on some of them first, and on others later.
            self.current.holdout_rows.append(rows)
            self.last_exams[purpose] = np.concatenate(self.current.holdout_rows)
        if purpose != "holdout":
            self._mistakes.append(rows[report.wrong])
            self._marks[rows] |= _SEEN

    def close(self, finished: OpenRound, estimate: Estimate | None, elapsed: float) -> Round:
        """End a round, and add it to the history."""
        seconds, self._choose_seconds = self._choose_seconds, 0.0
        self.current = None
        self.history.append(finished.finish(estimate, seconds, elapsed))
        return self.history[-1]

    def abandon(self) -> None:
        """Forget the round under way, if there is one, because it cannot be finished."""
        if self.current is not None:
            self._numbers.give_back(self.current.number)
            if not self.current.was_compared:
                self.add_lost_round(self.current)
        self.current = None

    def add_lost_round(self, lost: OpenRound) -> None:
        """Note that this round, which ends now, leaves no model."""
        self.lost_seconds += self._clock() - lost.began_at

    def withdraw_best(self) -> None:
        """Note that the model of the last best round is not the best one after all."""
        place = max(place for place, finished in enumerate(self.history) if finished.best)
        self.history[place] = replace(self.history[place], best=False)


def _is_batch_size(batch: object) -> bool:
    return batch is None or (isinstance(batch, Integral) and int(batch) >= 1)
