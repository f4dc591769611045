"""Which model is best: by the lower end of the 95 % interval of its score."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Z = 1.96
"""How many standard errors a 95 % interval reaches to each side."""


Returns = Literal["best", "last"]
"""Whether a teacher hands back its best model by the bound, or its last one."""


@dataclass(frozen=True)
class Estimate:
    """A score, such as the accuracy, and its 95 % interval.

    Parameters
    ----------
    value, low, high : float
        The score and the ends of its interval.
    """

    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """The standard error."""
        return (self.high - self.low) / (2 * Z)


Rows = npt.NDArray[np.integer[Any]]
"""Row numbers of a pool, in a type that is just wide enough."""


Mask = npt.NDArray[np.bool_]
"""One truth value a row."""


Margins = npt.NDArray[np.float32]
"""How sure a model is of each row: the gap between the probabilities of its two likeliest classes."""


StopReason = Literal["time", "all rows", "no mistakes", "on_round", "interrupted", "learner failed"]
"""Why a session ended."""


Purpose = Literal["mistakes", "score", "validation", "holdout"]
"""What an exam is for; see `Exam`."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """A teacher's request: train a new model on exactly these rows, or go on with the last one.

    Parameters
    ----------
    rows : array of int
        Row numbers of the pool.
    batch : int or None, default=None
        With a number, no new model is made: the model of the last lesson goes on learning, by
        `partial_fit`, from so many of these rows at a time.
    within : float or None, default=None
        Seconds of training after which a learner that knows how to is asked to stop with what it has; one that does not
        is left alone.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Lesson
    >>> Lesson(np.arange(3)).rows
    array([0, 1, 2])
    """

    rows: Rows
    batch: int | None = None
    within: float | None = None


@dataclass(frozen=True, eq=False)
class Exam:
    """A teacher's request: let the model of the last lesson classify these rows.

    Parameters
    ----------
    rows : array of int
        Row numbers of the pool.
    purpose : {"mistakes", "score", "validation", "holdout"}, default="mistakes"
        What the exam is for:

        - "mistakes": find rows that the model gets wrong.
        - "score": the same, and `Answers.score` is the user's score over these rows.
        - "validation": these rows decide which model is best. The round's estimate comes from them
          alone, and they have no part in `score_estimate_`.
        - "holdout": these rows only serve `score_estimate_`. `Answers.wrong` is all False, so that
          the teacher learns nothing from them and later models can be examined on them as well.
    margins : bool, default=False
        Whether to return `Answers.margins` too; the learner needs `predict_proba`.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Exam
    >>> Exam(np.arange(3)).rows
    array([0, 1, 2])
    """

    rows: Rows
    purpose: Purpose = "mistakes"
    margins: bool = False


@dataclass(frozen=True, eq=False)
class Answers:
    """What a teacher is sent for an `Exam`: which of its rows the model got wrong.

    Parameters
    ----------
    rows : array of int
        The rows of the exam, in its order.
    wrong : array of bool
        Whether the model is wrong on each of them.
    margins : array of float or None
        How sure it is of each of them, between 0 and 1, if the exam asked for that.
    score : Estimate or None
        The user's score over these rows, if the exam asked for that.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Answers
    >>> answers = Answers(np.array([7, 3, 5]), np.array([True, False, False]))
    >>> answers.mistakes
    1
    """

    rows: Rows
    wrong: Mask
    margins: Margins | None = None
    score: Estimate | None = None

    @property
    def mistakes(self) -> int:
        """How many rows the model got wrong."""
        return int(np.count_nonzero(self.wrong))


def examine(
    rows: Rows, purpose: Purpose = "mistakes", *, margins: bool = False
) -> Generator[Exam, Answers | None, Answers]:
    """Request an exam on these rows and return its answers; without rows, return empty answers at once.

    For use in a teacher: ``answers = yield from examine(rows)``.

    Parameters
    ----------
    rows : array of int
        Rows for the newest model to predict.
    purpose : {"mistakes", "score", "validation", "holdout"}, default="mistakes"
        What the exam is for; see `Exam`.
    margins : bool, default=False
        Whether to ask for margins too.

    Returns
    -------
    Answers
        The answers to the exam.

    Raises
    ------
    TypeError
        If the exam is not answered with `Answers`.
    """
    if not len(rows):
        return Answers(rows, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.float32) if margins else None)
    answers = yield Exam(rows, purpose, margins)
    if answers is None:
        raise TypeError("An Exam was answered with None; expected Answers. Send them with generator.send(answers).")
    return answers


@dataclass(frozen=True)
class Round:
    """One lesson with its exams: what was taught, what it cost, how good the model is.

    Parameters
    ----------
    number : int
        1 for the first round.
    rows : int
        Rows of the lesson: all that the model was taught, unless it went on with the model before it.
    new_rows : int
        How many of them no earlier lesson held.
    new_mistakes : int
        How many of the new rows the model before this one got wrong.
    examined : int
        Rows that this model classified.
    fresh : int
        How many of those were never taught and never examined before.
    seconds_handover, seconds_fit, seconds_exam, seconds_model, seconds_choose : float
        Bringing rows to the learner; training; classifying; storing the model; the teacher's own choosing.
    predicted_fit : float or None
        What the cost model expected `seconds_fit` to be; None in the first round.
    estimate, low, high : float or None
        The score over the examined rows, accuracy unless the user chose another, and its 95 % interval; None
        without an exam.
    best : bool
        Whether this model became the one to be returned.
    elapsed : float
        Seconds since the start of `fit` when the model became the best one; or when the round was over, if it did not.
    validation_rows : int, default=0
        Validation rows among the examined ones; if there are any, `estimate` comes from them alone.
    """

    number: int
    rows: int
    new_rows: int
    new_mistakes: int
    examined: int
    fresh: int
    seconds_handover: float
    seconds_fit: float
    seconds_exam: float
    seconds_model: float
    seconds_choose: float
    predicted_fit: float | None
    estimate: float | None
    low: float | None
    high: float | None
    best: bool
    elapsed: float
    validation_rows: int = 0

    @property
    def is_flattered(self) -> bool:
        """Whether `estimate` is too high: earlier models were examined on some of the rows, and easy ones are left."""
        return self.validation_rows == 0 and self.fresh < self.examined


OnRound = Callable[[Round], Any]
"""A user's callback; returning True stops the session and keeps the best model."""
