"""The trial: of two lessons of the same size, one with mistakes in it, which makes the better model."""

from __future__ import annotations

import numpy as np

from ._base import examine
from ._course import Course, Steps
from ._emphasis import Emphasis

# Rows of a lesson that is on trial: a share of the pool, but not so few that chance decides.
_SHARE, _ENOUGH, _LEAST = 20, 2_000, 1_000
# Of the time that is left: a lesson on trial, the search for its mistakes, its exam.
_TEACHING, _SEARCHING, _JUDGING = 0.1, 0.05, 0.02
# A learner that takes this much for the smallest lesson has no time for a trial.
_SLOW = 0.05
_JUDGES = 20_000
# What emphasis is worth grows with the lesson, so it may be this many standard errors behind in a small one.
_BEHIND = 0.5


def trial(course: Course, emphasis: Emphasis) -> Steps[bool]:
    """Teach random rows, then the same with mistakes among them; whether those did the better model.

    Both are judged, by the user's score, on rows that are taught later at the earliest. The course goes on from what
    the winner was taught. Without the time for a trial that says something there is none, and no emphasis.
    """
    new = _size(course, emphasis)
    if new < min(_LEAST, course.deck.size // 10):
        return False
    base, deck = course.lesson, course.deck
    mistakes = yield from emphasis.find_mistakes(course, new)
    random = deck.deal(new)
    judges = deck.deal(course.outlook.examinable(_JUDGING, min(_JUDGES, deck.left // 2)))
    yield from course.teach(np.concatenate([base, random]), _TEACHING)
    plain = yield from examine(judges, scored=True)
    # One that was cut short is compared with one that gets the same time.
    again = _TEACHING if course.was_cut else 2 * _TEACHING
    yield from course.teach(np.concatenate([base, mistakes, random[len(mistakes) :]]), again)
    hard = yield from examine(judges, scored=True)
    deck.discard(judges)
    if plain.score is None or hard.score is None or hard.score.value < plain.score.value - _BEHIND * hard.score.error:
        deck.discard(mistakes)
        course.lesson = np.concatenate([base, random])
        return False
    course.lesson = np.concatenate([base, random, mistakes])
    return True


def _size(course: Course, emphasis: Emphasis) -> int:
    """New rows of a trial, as many as are worth their price."""
    deck, outlook = course.deck, course.outlook
    if outlook.lesson(len(course.lesson)) > _SLOW * outlook.left:
        return 0
    rows = min(max(deck.size // _SHARE, min(_ENOUGH, deck.size // 6)), deck.left // 3)
    while rows > _LEAST and not outlook.graceful and outlook.lesson(rows) > _TEACHING / 2 * outlook.left:
        rows = int(0.8 * rows)
    new = rows - len(course.lesson)
    while new > _LEAST and outlook.exam(emphasis.rows_to_examine(course, new)) > _SEARCHING * outlook.left:
        new = max(_LEAST, int(0.8 * new))
    return new
