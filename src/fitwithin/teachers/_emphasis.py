"""Emphasis: among the rows of the next lesson, a share that the last model gets wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._messages import Rows
from ._base import examine
from ._course import Course, Steps

# So many rows are looked at for each new one at most, and for so much of the time: where mistakes are rare there are
# fewer of them.
_LOOKS, _LOOKING = 4, 0.35
# A few more than should do, since mistakes come by chance.
_SPARE = 1.05


@dataclass(frozen=True)
class Emphasis:
    """How many mistakes to teach, and where to find them.

    Parameters
    ----------
    alpha : float
        Share of the new rows that are mistakes of the last model; the others are random rows.
    """

    alpha: float

    def rows_to_examine(self, course: Course, new: int) -> int:
        """Rows that are likely to hold the mistakes for so many new rows."""
        # An error of none among a few judges is some error.
        error = max(course.error, 0.2 / len(course.panel))
        wanted = min(_SPARE * self.alpha * new / error, _LOOKS * new, course.deck.left)
        return course.outlook.examinable(_LOOKING, int(wanted))

    def find_mistakes(self, course: Course, new: int) -> Steps[Rows]:
        """The last model's mistakes for so many new rows, or as many as were found."""
        answers = yield from examine(course.deck.deal(self.rows_to_examine(course, new)))
        found = np.flatnonzero(answers.wrong)[: round(self.alpha * new)]
        others = np.ones(len(answers.rows), dtype=np.bool_)
        others[found] = False
        course.deck.discard(answers.rows[others])
        return answers.rows[found]
