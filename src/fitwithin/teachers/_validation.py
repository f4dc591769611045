"""Exams on validation and holdout rows that the user chose, for teachers that hold none themselves."""

from __future__ import annotations

from dataclasses import replace

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Exam, Lesson, LessonReport, Purpose, Returns, Rows, make_limit
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import Requests

# Fraction of the time left for each exam of the first model.
_EXAM_TIME = 0.015


def examine_held_out(loops: list[Requests], deck: Deck, returns: Returns) -> list[Requests]:
    """Return a teacher's requests by loop, with exams on the deck's validation and holdout rows in each lesson.

    A teacher that returns its last model gets exams on the holdout rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import TCT
    >>> deck = Deck(1000, np.random.default_rng(0))
    >>> deck.hold_out(np.arange(900, 950), np.arange(950, 1000))
    >>> (requests,) = examine_held_out([TCT().teach(deck)], deck, "best")
    >>> lesson = next(requests)
    >>> len(lesson.rows), [exam.purpose for exam in lesson.exams]
    (4, ['holdout', 'validation'])
    """
    assert deck.validation_rows is not None
    assert deck.holdout_rows is not None
    validation_rows = deck.validation_rows if returns == "best" else deck.validation_rows[:0]
    exams = _HeldOutExams(deck, validation_rows, deck.holdout_rows)
    return [_examine_each_model(requests, exams) for requests in loops]


def _examine_each_model(requests: Requests, exams: _HeldOutExams) -> Requests:
    try:
        request = next(requests)
        while True:
            if isinstance(request, Lesson) and request.batch is None:
                # A model that goes on learning in many short lessons would spend its time on exams.
                request = exams.add_to(request)
            try:
                answer = yield request
            except OutOfMemory as error:
                request = requests.throw(error)
            else:
                if isinstance(answer, LessonReport):
                    exams.note_report(answer)
                request = requests.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # the teacher's stop reason


class _HeldOutExams:
    """Exams on the same first validation and holdout rows for every model, as many as the time allows.

    Parameters
    ----------
    deck : Deck
        Knows the time, and the exams of an earlier fit.
    validation_rows, holdout_rows : array of int
        The rows, in random order.
    """

    def __init__(self, deck: Deck, validation_rows: Rows, holdout_rows: Rows) -> None:
        self._costs = deck.costs
        self._rows: dict[Purpose, Rows] = {"holdout": holdout_rows, "validation": validation_rows}
        # A resumed fit compares its models with a stored one, on the same rows.
        self._n_rows = 0 if deck.resume_point is None else len(deck.resume_point.validation_rows)

    def add_to(self, lesson: Lesson) -> Lesson:
        """Return the lesson with these exams besides its own; those of the first one end when their time is over."""
        limit = None if self._n_rows else make_limit(_EXAM_TIME * self._costs.seconds_left)
        exams = (Exam(rows[: self._n_rows or None], purpose, seconds=limit) for purpose, rows in self._rows.items())
        own = (exam for exam in lesson.exams if exam.purpose not in self._rows)
        return replace(lesson, exams=(*own, *(exam for exam in exams if len(exam.rows))))

    def note_report(self, report: LessonReport) -> None:
        """Examine later models on as many rows as the first one."""
        if not self._n_rows:
            answers = (report.answers[purpose] for purpose in self._rows if purpose in report.answers)
            self._n_rows = max((len(answer.rows) for answer in answers), default=0)
