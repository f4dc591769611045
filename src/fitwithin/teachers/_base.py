"""The protocol of teachers, and the types of the generators that they are made of."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, TypeVar, runtime_checkable

from fitwithin._core.records import Answer, Exam, Lesson, Returns, StopReason, Wait
from fitwithin._pools.decks.deck import Deck

T = TypeVar("T")

Requests = Generator[Lesson | Exam | Wait, Answer, StopReason]
"""Generator that `Teacher.teach` returns: it yields requests, is sent answers, and returns a stop reason."""

Subgenerator = Generator[Lesson | Exam | Wait, Answer, T]
"""Part of a teacher, for ``yield from``: it yields requests, is sent answers, and returns a result."""


class Teacher(Protocol):
    """Protocol of teachers: they decide which rows to train on next, and which rows to check the model on.

    A teacher yields a `Lesson` to have a new model trained, and is sent a `LessonReport`. A lesson may name exams of
    its model; a lone `Exam` has the newest model predict rows, and is sent the `Answers`. A teacher sees row numbers
    and answers, never data, models or a clock. ``deck.costs`` tells what it can afford. It may also ignore the time,
    since the session stops it at the deadline. It returns a `StopReason` when no rows are left to teach.
    A request that takes more than the memory limit raises `fitwithin.backends.OutOfMemory` at its yield.

    Attributes
    ----------
    returns : {"best", "last"}
        Which model the session returns. "best" compares the scores on validation rows if the teacher
        asks for them, and otherwise the lower bounds over all exams. With "best", a model without an exam
        is returned only if it was trained on every row.

    Notes
    -----
    Four more attributes are optional:

    - `needs`: names of methods that the learner must have, such as ``("partial_fit",)``.
    - `classes_only`: True for a teacher that cannot be used with a regressor.
    - `validates`: True for a teacher that examines every model on ``deck.validation_rows`` and
      ``deck.holdout_rows`` itself, where the deck has them. For other teachers the session does so.
    - `fits_lost_model`: True for a teacher that fits the best model of an earlier call again if that is lost, such as
      a search, whose learner has several sets of hyperparameters. For other teachers the session does so.
    """

    returns: Returns

    def teach(self, deck: Deck) -> Requests:
        """Yield lessons and exams until no rows are left to teach."""
        ...


@runtime_checkable
class ParallelTeacher(Teacher, Protocol):
    """A teacher that can have several learners at work at the same time, for `n_jobs`.

    Attributes
    ----------
    max_learners : int or None
        Most learners that it has work for; None for any number.
    """

    max_learners: int | None

    def teach_parallel(self, deck: Deck, n_learners: int) -> list[Requests]:
        """Return generators, at most `n_learners`, that the session drives side by side.

        Each has a learner of its own: an `Exam` is answered by the model of the generator's own last `Lesson`. Only one
        generator runs at a time, so they can share objects, and the deck. A generator that needs a result of another
        one yields `Wait`.

        When the first generator returns, the session ends, and the other learners are stopped. If it returns "time",
        the others may go on until the deadline. The order in which learners finish depends on the clock. So that the
        same seed gives the same rows, take random numbers from ``deck.rng.spawn``, and decide nothing by that order.
        """
        ...
