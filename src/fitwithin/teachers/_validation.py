"""Exams on validation and holdout rows that the user chose, for teachers that hold none themselves."""

from __future__ import annotations

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Answers, Lesson, Rows, examine
from fitwithin._pools.decks.deck import Deck
from fitwithin.teachers._base import ParallelTeacher, Requests, Subgenerator, Teacher

# Rows of each of the first two exams, when the cost of exams is unknown.
_FIRST_EXAM_ROWS = 200

# Fraction of the time left, after the first model, for an exam on the validation rows.
_EXAM_TIME = 0.015


def list_requests(teacher: Teacher, deck: Deck, n_jobs: int = 1) -> list[Requests]:
    """Return the teacher's requests by loop, with exams on the deck's validation and holdout rows after each lesson.

    A teacher that returns its last model gets exams on the holdout rows only. A deck without such rows, and a teacher
    that examines them itself, get none.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import TCT
    >>> deck = Deck(1000, np.random.default_rng(0))
    >>> deck.hold_out(np.arange(900, 950), np.arange(950, 1000))
    >>> (requests,) = list_requests(TCT(), deck)
    >>> len(next(requests).rows)
    4
    >>> requests.send(None).purpose
    'holdout'
    """
    if n_jobs > 1 and isinstance(teacher, ParallelTeacher):
        loops = teacher.teach_parallel(deck, n_jobs)
    else:
        loops = [teacher.teach(deck)]
    if deck.validation_rows is None or deck.holdout_rows is None or getattr(teacher, "validates", False):
        return loops
    validation_rows = deck.validation_rows if teacher.returns == "best" else deck.validation_rows[:0]
    exams = _HeldOutExams(deck, validation_rows, deck.holdout_rows)
    return [_examine_each_model(requests, exams) for requests in loops]


def _examine_each_model(requests: Requests, exams: _HeldOutExams) -> Requests:
    try:
        request = next(requests)
        while True:
            try:
                answers: Answers | None = yield request
                # A model that goes on learning in many short lessons would spend its time on exams.
                if isinstance(request, Lesson) and request.batch is None:
                    yield from exams.examine_model()
            except OutOfMemory as error:
                request = requests.throw(error)
            else:
                request = requests.send(answers)
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
        self._validation_rows = validation_rows
        self._holdout_rows = holdout_rows
        # A fit that goes on compares its models with a stored one, on the same rows.
        self._n_rows = 0 if deck.resume_point is None else len(deck.resume_point.validation_rows)

    def examine_model(self) -> Subgenerator[None]:
        """Examine the newest model; holdout rows first, because validation rows may have it saved as the best."""
        if self._n_rows:
            yield from self._examine(0, self._n_rows)
            return
        yield from self._examine(0, _FIRST_EXAM_ROWS)
        n_most = max(len(self._validation_rows), len(self._holdout_rows))
        self._n_rows = max(_FIRST_EXAM_ROWS, self._costs.affordable_exam_rows(_EXAM_TIME, n_most))
        if self._n_rows > _FIRST_EXAM_ROWS:
            yield from self._examine(_FIRST_EXAM_ROWS, self._n_rows)

    def _examine(self, start: int, stop: int) -> Subgenerator[None]:
        yield from examine(self._holdout_rows[start:stop], purpose="holdout")
        yield from examine(self._validation_rows[:stop], purpose="validation")
