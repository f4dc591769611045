"""What every teacher is: a few settings and one generator."""

from __future__ import annotations

from collections.abc import Generator
from numbers import Real
from typing import Protocol

import numpy as np

from fitwithin._core.records import Answers, Exam, Lesson, Purpose, Returns, Rows, StopReason
from fitwithin.teachers._deck import Deck

Requests = Generator[Lesson | Exam, Answers | None, StopReason]
"""What `Teacher.teach` returns: requests out, answers in, and at the end why it stopped."""


class Teacher(Protocol):
    """A policy: which rows to teach next, which to examine.

    A teacher yields a `Lesson` to have a new model trained and is sent None; it yields an `Exam`
    to have the newest model classify rows and is sent the `Answers`. It sees row numbers and
    answers, never data, models or a clock; it may ask ``deck.outlook`` what it can afford, or simply
    go on: the session stops it when the time is up. It returns, with a reason, when there is nothing
    left to teach.

    Attributes
    ----------
    returns : {"best", "last"}
        Whether the session hands back the best model, or the last one. Best is decided by the lower
        bound of a model's exams, or by its judges if it has any. Under "best" a model that sat no exam
        never wins, unless it was taught every row.

    Notes
    -----
    Two more attributes are looked at where they are there: `needs`, the names of methods that the
    learner must have, such as ``("partial_fit",)``; and `classes_only`, true for a teacher that makes
    no sense for a regressor.
    """

    returns: Returns

    def teach(self, deck: Deck) -> Requests:
        """Yield lessons and exams until there is nothing left to teach."""
        ...


def examine(
    rows: Rows, purpose: Purpose = "mistakes", *, margins: bool = False
) -> Generator[Exam, Answers | None, Answers]:
    """Ask for an exam on these rows; an exam without rows is answered without asking.

    For use in a teacher: ``answers = yield from examine(rows)``.

    Parameters
    ----------
    rows : array of int
        Rows for the newest model to classify.
    purpose : {"mistakes", "score", "validation", "holdout"}, default="mistakes"
        What the exam is for; see `Exam`.
    margins : bool, default=False
        Whether to ask for margins too.

    Returns
    -------
    Answers
        Which of the rows it got wrong.
    """
    exam = Exam(rows, purpose, margins)
    if not len(rows):
        return Answers(rows, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.float32) if exam.margins else None)
    answers = yield exam
    if answers is None:
        raise TypeError("A teacher must be sent the Answers of its Exam; got None.")
    return answers


def check_share(alpha: float) -> None:
    """Refuse an alpha that is no share."""
    if not (isinstance(alpha, Real) and 0 <= alpha <= 1):
        raise ValueError(f"alpha must be a number in [0, 1], the share of chosen rows in a lesson; got {alpha!r}.")
