"""Auto: the teacher that is used when none is named."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from .._messages import StopReason
from .._selection import Returns
from ._base import Requests, check_share
from ._course import Course, Steps
from ._deck import Deck
from ._emphasis import Emphasis
from ._pacing import largest_size, next_size
from ._trial import trial

# A pool of so few rows is taught whole.
_SMALL = 500
# The first lesson: a share of the pool, but some rows at least; and the share of the time that it may take.
_FIRST, _SOME, _SCOUTING = 0.005, 250, 0.25


class Auto(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The default: finds out what lessons cost and whether mistakes are worth teaching, then fills the time.

    A small first lesson tells what training and exams take. A trial, two lessons of the same size of which one holds
    mistakes of the first model, tells whether emphasis on hard rows pays off with this learner and this data. Then
    lessons grow, as fast as the deadline allows, the last one up to it. A learner that can be asked to stop is; a
    black box gets lessons that leave room for surprise.

    Which model is best is decided by a panel of rows that are never taught, the same ones for every model, on which a
    larger lesson wins unless it did clearly worse. The estimate that the user gets comes from other rows.

    Parameters
    ----------
    alpha : float, default=0.2
        With emphasis, the share of new rows that are mistakes of the last model.
    emphasis : {"trial"} or bool, default="trial"
        Whether there is emphasis; by default a trial decides.

    Examples
    --------
    >>> import numpy as np
    >>> from fitwithin.teachers import Auto, Deck
    >>> requests = Auto().teach(Deck(100_000, np.random.default_rng(0)))
    >>> len(next(requests).rows)
    500
    >>> requests.send(None).judges
    True
    """

    returns: Returns = "best"

    def __init__(self, *, alpha: float = 0.2, emphasis: Literal["trial"] | bool = "trial") -> None:
        self.alpha = alpha
        self.emphasis = emphasis

    def teach(self, deck: Deck) -> Requests:
        """Yield a first lesson, the trial, and lessons that fill the time."""
        check_share(self.alpha)
        if self.emphasis not in ("trial", True, False):
            raise ValueError(f"emphasis must be 'trial', True or False; got {self.emphasis!r}.")
        if deck.size <= _SMALL:
            course = Course(deck, deck.size)
            yield from course.teach(course.lesson)
            return "all rows"
        course = Course(deck, max(_FIRST, min(_SOME / deck.size, 0.1)))
        yield from course.teach(course.lesson, _SCOUTING)
        yield from course.summon_panel()
        emphasis = Emphasis(self.alpha)
        pays = (yield from trial(course, emphasis)) if self.emphasis == "trial" else self.emphasis
        return (yield from _climb(course, emphasis if pays else None))


def _climb(course: Course, emphasis: Emphasis | None) -> Steps[StopReason]:
    """Larger and larger lessons, until no larger one is worth its time; no more emphasis once it did harm."""
    while course.deck.left:
        rows = next_size(course, emphasis)
        if not rows:
            if emphasis is None:
                return "time"
            emphasis = None
            continue
        before, size = course.score, len(course.lesson)
        yield from _teach_more(course, emphasis, rows)
        is_lower = before is not None and course.score is not None and course.score.value < before.value
        if is_lower or len(course.lesson) == size:
            emphasis = None
    return "all rows"


def _teach_more(course: Course, emphasis: Emphasis | None, rows: int) -> Steps[None]:
    new = rows - len(course.lesson)
    if emphasis is None:
        yield from course.teach(np.concatenate([course.lesson, course.deck.deal(new)]))
        return
    mistakes = yield from emphasis.find_mistakes(course, new)
    least, largest = len(course.lesson) + len(mistakes), largest_size(course, Emphasis(0.0))
    if largest < course.most:
        # Looking for them took longer than expected.
        rows = max(least, min(rows, largest))
    others = course.deck.deal(rows - least)
    yield from course.teach(np.concatenate([course.lesson, mistakes, others]))
