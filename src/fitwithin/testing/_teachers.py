"""The contract of teachers as a check that runs on any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from sklearn.base import clone

from fitwithin._core.records import Answer, Answers, Exam, Lesson, LessonReport, Mask, Returns, Rows, StopReason, Wait
from fitwithin.backends._metrics import accuracy_interval
from fitwithin.teachers import Deck, Teacher

AnswerFunction = Callable[[Rows], Mask]
"""Takes the rows of an exam and returns which of them a fake model gets wrong, the same each time."""

RecordedRequest = tuple[str, list[int]]
"""The kind of a request, "Lesson" or "Exam", and its rows; at the end the stop reason without rows."""

# Rows of the smallest pool that rows are held out of.
_MIN_HELD_OUT_POOL = 10


def check_teacher(
    teacher: Teacher,
    *,
    size: int,
    answer: AnswerFunction,
    strata: Any = None,
    seed: int = 0,
    max_requests: int = 1000,
    endless: bool = False,
    examines_taught: bool = False,
) -> None:
    """Run a teacher to its end, and check that it keeps the contract of `Teacher`.

    It is run again with a deck that holds rows out, which it must neither teach nor search for mistakes.

    Parameters
    ----------
    teacher : Teacher
        A built-in teacher or one of your own.
    size : int
        Number of rows in the pool.
    answer : callable
        Takes the rows of an exam and returns an array of bool: which of them the model gets wrong. It
        stands for a learner, and must return the same for the same rows.
    strata : array of unsigned int, optional
        The class of each row.
    seed : int, default=0
        Seed of the deck.
    max_requests : int, default=1000
        Lessons and exams after which a teacher counts as endless.
    endless : bool, default=False
        Whether the teacher may go on forever, as `SGD` does.
    examines_taught : bool, default=False
        Whether the teacher may examine rows of the current lesson, as `OSCT` does. Its estimates are then too high.

    Raises
    ------
    AssertionError
        If the teacher breaks the contract. The message says how.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import TCT
    >>> from fitwithin.testing import check_teacher
    >>> check_teacher(TCT(first=10), size=1000, answer=lambda rows: rows % 7 == 0)
    """
    assert teacher.returns in get_args(Returns), f'returns must be "best" or "last"; got {teacher.returns!r}.'

    def record(teacher: Teacher, *, hold_out: bool = False) -> list[RecordedRequest]:
        deck = Deck(size, np.random.default_rng(seed), strata)
        if hold_out:
            rows = np.arange(size)
            deck.hold_out(rows[rows % 5 == 1], rows[rows % 5 == 3])
        requests = _record_requests(teacher, deck, answer, max_requests, examines_taught)
        has_ended = requests[-1][0] in get_args(StopReason)
        assert endless or has_ended, f"The teacher did not end within {max_requests} requests."
        return requests

    requests = record(teacher)
    assert requests == record(teacher), "The same seed must give the same requests again; they differ."
    if hasattr(teacher, "get_params"):
        copy = clone(teacher)
        assert copy.get_params() == teacher.get_params(), "A clone must have the same parameters; they differ."
        assert requests == record(copy), "A clone must make the same requests; they differ."
    if size >= _MIN_HELD_OUT_POOL:
        record(teacher, hold_out=True)


def _record_requests(
    teacher: Teacher, deck: Deck, answer: AnswerFunction, max_requests: int, examines_taught: bool
) -> list[RecordedRequest]:
    """Check and record every request, and at last the stop reason."""
    requests = teacher.teach(deck)
    recorded: list[RecordedRequest] = []
    lesson: Rows | None = None
    answer_sent: Answer = None
    while len(recorded) < max_requests:
        try:
            request = requests.send(answer_sent)
        except StopIteration as end:
            assert recorded, "A teacher must teach at least once; it yielded nothing."
            reason = end.value
            assert reason in get_args(StopReason), f"A teacher must return a stop reason; got {reason!r}."
            return [*recorded, (reason, [])]
        if isinstance(request, Wait):
            recorded.append(("Wait", []))
            answer_sent = None
            continue
        _check_request(request, deck, None if examines_taught else lesson)
        assert lesson is not None or isinstance(request, Lesson), "A teacher must yield a Lesson before its first Exam."
        recorded.append((type(request).__name__, request.rows.tolist()))
        if isinstance(request, Exam):
            answer_sent = _make_answers(request, answer)
            continue
        # A refit is examined on validation rows that it was taught, to see that nothing went wrong.
        lesson = request.rows[:0] if request.refit else request.rows
        purposes = {exam.purpose for exam in request.exams}
        assert len(purposes) == len(request.exams), "A Lesson takes at most one Exam for each purpose; it has more."
        for exam in request.exams:
            _check_request(exam, deck, None if examines_taught else lesson)
            recorded.append(("Exam", exam.rows.tolist()))
        answers = {exam.purpose: _make_answers(exam, answer) for exam in request.exams}
        answer_sent = LessonReport(0.0, answers=answers, is_best=True if "validation" in answers else None)
    return recorded


def _make_answers(exam: Exam, answer: AnswerFunction) -> Answers:
    wrong = np.asarray(answer(exam.rows), dtype=np.bool_)
    # A number in [0, 1) for each row, the same each time.
    margins = (exam.rows.astype(np.int64) * 7919 % 1000 / 1000).astype(np.float32) if exam.margins else None
    right = len(wrong) - int(np.count_nonzero(wrong))
    score = accuracy_interval(right, len(wrong)) if exam.purpose in ("score", "validation") else None
    return Answers(exam.rows, np.zeros_like(wrong) if exam.purpose == "holdout" else wrong, margins, score)


def _check_request(request: Lesson | Exam, deck: Deck, lesson: Rows | None) -> None:
    """Check a request; `lesson` holds the rows that it must not examine."""
    assert isinstance(request, Lesson | Exam), f"A teacher yields Lesson(rows) or Exam(rows); got {request!r}."
    kind, rows, size = type(request).__name__, request.rows, deck.pool_size
    assert isinstance(rows, np.ndarray), f"{kind} takes an array of row numbers; got {rows!r}."
    assert rows.ndim == 1, f"{kind} takes a one-dimensional array; got shape {rows.shape}."
    assert rows.dtype.kind in "iu", f"{kind} takes row numbers; got {rows.dtype}."
    assert len(rows), f"{kind} takes at least one row; got none. `examine` allows none."
    assert 0 <= rows.min() <= rows.max() < size, f"{kind} got rows outside the pool; expected 0 to {size - 1}."
    if isinstance(request, Exam) and lesson is not None:
        assert not np.isin(rows, lesson).any(), "An Exam must not hold rows of the current lesson."
    may_hold_out = request.refit if isinstance(request, Lesson) else request.purpose in ("validation", "holdout")
    if not may_hold_out and deck.validation_rows is not None and deck.holdout_rows is not None:
        held_out = np.concatenate([deck.validation_rows, deck.holdout_rows])
        assert not np.isin(rows, held_out).any(), (
            f"{kind} got rows that the deck holds out; take rows that it deals, or deck.rows."
        )
