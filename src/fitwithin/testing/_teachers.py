"""What every teacher must do, written once and run over each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from sklearn.base import clone

from fitwithin._core.records import Answers, Exam, Lesson, Margins, Mask, Returns, Rows, StopReason
from fitwithin._core.scoring import accuracy_interval
from fitwithin.teachers import Deck, Teacher

Answer = Callable[[Rows], Mask]
"""Which rows of an exam a made-up model gets wrong; the same rows must get the same answer."""


def check_teacher(
    teacher: Teacher,
    *,
    size: int,
    answer: Answer,
    strata: Any = None,
    seed: int = 0,
    most_requests: int = 1000,
    endless: bool = False,
    examines_taught: bool = False,
) -> None:
    """Drive a teacher to its end, and check that it keeps the contract of `Teacher`.

    Parameters
    ----------
    teacher : Teacher
        A built-in one or one of your own.
    size : int
        Rows in the pool.
    answer : callable
        Takes the rows of an exam and tells, as an array of bool, which of them the model gets
        wrong. It stands for a learner, and must give the same answer when it is asked again.
    strata : array of unsigned int, optional
        The class of each row.
    seed : int, default=0
        Of the deck.
    most_requests : int, default=1000
        Lessons and exams after which a teacher counts as one that never ends.
    endless : bool, default=False
        Whether it is meant never to end, as `SGD` is.
    examines_taught : bool, default=False
        Whether it may examine rows of the current lesson, as `OSCT` does; its estimates flatter the model then.

    Raises
    ------
    AssertionError
        If the teacher breaks the contract; the message says how.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import TCT
    >>> from fitwithin.testing import check_teacher
    >>> check_teacher(TCT(first=10), size=1000, answer=lambda rows: rows % 7 == 0)
    """
    assert teacher.returns in get_args(Returns), f'returns must be "best" or "last"; it is {teacher.returns!r}.'

    def requests_of(someone: Teacher) -> list[tuple[str, list[int]]]:
        deck = Deck(size, np.random.default_rng(seed), strata)
        return _drive(someone, deck, answer, most_requests, endless, examines_taught)

    requests = requests_of(teacher)
    assert requests == requests_of(teacher), "The same seed must give the same requests, also the second time."
    if hasattr(teacher, "get_params"):
        twin = clone(teacher)
        assert twin.get_params() == teacher.get_params(), "A clone must have the same parameters."
        assert requests == requests_of(twin), "A clone must make the same requests."


def _drive(
    teacher: Teacher, deck: Deck, answer: Answer, most_requests: int, endless: bool, examines_taught: bool
) -> list[tuple[str, list[int]]]:
    """Every request, checked, and at last the reason."""
    requests = teacher.teach(deck)
    seen: list[tuple[str, list[int]]] = []
    lesson: Rows | None = None
    answers: Answers | None = None
    while len(seen) < most_requests:
        try:
            request = requests.send(answers)
        except StopIteration as end:
            return [*seen, _ending(end.value, seen)]
        _check_request(request, deck.size, None if examines_taught else lesson)
        assert lesson is not None or isinstance(request, Lesson), "A teacher must yield a Lesson before its first Exam."
        seen.append((type(request).__name__, request.rows.tolist()))
        if isinstance(request, Lesson):
            lesson, answers = request.rows, None
        else:
            answers = _answers(request, np.asarray(answer(request.rows), dtype=np.bool_))
    assert endless, f"The teacher did not end within {most_requests} requests."
    return seen


def _answers(exam: Exam, wrong: Mask) -> Answers:
    margins = _made_up_margins(exam.rows) if exam.margins else None
    right = len(wrong) - int(np.count_nonzero(wrong))
    score = accuracy_interval(right, len(wrong)) if exam.purpose in ("score", "validation") else None
    return Answers(exam.rows, np.zeros_like(wrong) if exam.purpose == "holdout" else wrong, margins, score)


def _made_up_margins(rows: Rows) -> Margins:
    """Some number between 0 and 1 for each row, always the same."""
    return (rows.astype(np.int64) * 7919 % 1000 / 1000).astype(np.float32)


def _ending(reason: StopReason, seen: list[tuple[str, list[int]]]) -> tuple[str, list[int]]:
    assert seen, "A teacher must teach at least once."
    assert reason in get_args(StopReason), f"A teacher must return a stop reason; got {reason!r}."
    return reason, []


def _check_request(request: Lesson | Exam, size: int, lesson: Rows | None) -> None:
    assert isinstance(request, Lesson | Exam), f"A teacher yields Lesson(rows) or Exam(rows); got {request!r}."
    kind, rows = type(request).__name__, request.rows
    assert isinstance(rows, np.ndarray), f"{kind} takes an array of row numbers; got {rows!r}."
    assert rows.ndim == 1, f"{kind} takes a one-dimensional array; got shape {rows.shape}."
    assert rows.dtype.kind in "iu", f"{kind} takes row numbers; got {rows.dtype}."
    assert len(rows), f"{kind} takes at least one row."
    assert 0 <= rows.min() <= rows.max() < size, f"{kind} asks for rows outside the pool of {size} rows."
    if isinstance(request, Exam) and lesson is not None:
        assert not np.isin(rows, lesson).any(), "An Exam must not hold rows of the current lesson."
