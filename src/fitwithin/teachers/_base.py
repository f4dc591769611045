"""The protocol of teachers, and the types of the generators that they are made of."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, TypeVar, runtime_checkable

from fitwithin._core.records import Answers, Exam, Lesson, Returns, StopReason, Wait
from fitwithin.teachers._deck import Deck

T = TypeVar("T")

Requests = Generator[Lesson | Exam | Wait, Answers | None, StopReason]
"""Generator that `Teacher.teach` returns: it yields requests, is sent answers, and returns a stop reason."""

Subgenerator = Generator[Lesson | Exam | Wait, Answers | None, T]
"""Part of a teacher, for ``yield from``: it yields requests, is sent answers, and returns a result."""


class Teacher(Protocol):
    """Policy that decides on which rows to train next, and on which rows to test the model.

    A teacher yields a `Lesson` to have a new model trained, and is sent None. It yields an `Exam`
    to have the newest model predict rows, and is sent the `Answers`. It sees row numbers and answers,
    never data, models or a clock. ``deck.outlook`` tells what it can afford; it may also ignore the time,
    since the session stops it at the deadline. It returns a `StopReason` when no rows are left to teach.
    A request that takes more than the memory limit raises `fitwithin.backends.OutOfMemory` at its yield.

    Attributes
    ----------
    returns : {"best", "last"}
        Which model the session returns. "best" compares the scores on validation rows if the teacher
        asks for them, and the lower bounds of all exams otherwise. Under "best" a model without an exam
        never wins, unless it was trained on every row.

    Notes
    -----
    Three more attributes are optional. `needs` holds the names of methods that the learner must have,
    such as ``("partial_fit",)``. `classes_only` is True for a teacher that cannot be used with a regressor.
    `validates` is True for a teacher that examines every model on ``deck.validation_rows`` and
    ``deck.holdout_rows`` itself, where the deck has them. For other teachers the session does so.
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
    max_lanes : int or None
        Most learners that it has work for; None for any number.
    """

    max_lanes: int | None

    def teach_lanes(self, deck: Deck, n_lanes: int) -> list[Requests]:
        """Return generators, at most `n_lanes`, that the session drives side by side.

        Each has a learner of its own: an `Exam` is answered by the model of the generator's own last `Lesson`. Only one
        generator runs at a time, so that they can share objects, and the deck. A generator that needs what another one
        finds out yields `Wait`.

        The first generator decides: when it returns, the session ends, and other learners are stopped; unless it
        returns "time", which leaves the others the time until the deadline. The order in which learners finish is up
        to the clock. Take random numbers from ``deck.rng.spawn``, and no decision from that order alone, so that the
        same seed gives the same rows.
        """
        ...
