"""Pacing: how many rows the next lesson has."""

from __future__ import annotations

from ._course import Course
from ._emphasis import Emphasis

# A step is so many times the last lesson, and is worth a part of the time that is left: it tells what a larger one
# costs, and there is a model to fall back on. Nobody can tell a black box to stop, so it takes more of them.
_GROWTH, _STEP, _STEP_OF_A_BLACK_BOX = 4, 0.25, 0.35
# A lesson that is not this much larger than the last one is not worth its time.
_WORTH = 1.25
# The share of the time that is left which a lesson may be expected to take, where it can be cut short. One with many
# mistakes should come to its end: a booster that was told the hard part of a story only tells it badly.
_FILL, _FILL_WITH_EMPHASIS = 1.1, 0.95
# The same where it cannot be cut short, but the time would be lost anyway.
_GAMBLE = 0.95
# With so much of the time left something is to be done with it.
_MUCH = 0.3


def next_size(course: Course, emphasis: Emphasis | None) -> int:
    """Rows of the next lesson: a step on the way, or as many as fill the time; 0 if none is worth it."""
    outlook, last = course.outlook, len(course.lesson)
    largest = largest_size(course, emphasis)
    if largest < _WORTH * last and outlook.killable and not outlook.graceful:
        largest = largest_size(course, emphasis, _GAMBLE)
    if largest < min(_WORTH * last, course.most):
        is_to_be_cut = outlook.graceful and outlook.left > _MUCH * course.limit
        # What cannot come to its end anyway may as well hold more rows.
        return min(_GROWTH * last, course.most) if is_to_be_cut else 0
    if emphasis is None and outlook.graceful:
        return largest
    step = min(_GROWTH * last, largest // 2)
    share = _STEP if outlook.graceful else _STEP_OF_A_BLACK_BOX
    is_step = step > 1.5 * last and outlook.lesson(step) + _beside(course, emphasis, step) < share * outlook.left
    return step if is_step else largest


def largest_size(course: Course, emphasis: Emphasis | None, share: float | None = None) -> int:
    """As many rows as can be found, taught and judged in the time that is left.

    By default a lesson that cannot be cut short has room to take as much longer than expected as others did.
    """
    outlook, rows = course.outlook, course.most
    if share is None:
        fill = _FILL if emphasis is None else _FILL_WITH_EMPHASIS
        share = fill if outlook.graceful else 1 / outlook.doubt
    while rows > len(course.lesson):
        if outlook.lesson(rows) <= share * (outlook.left - _beside(course, emphasis, rows)):
            break
        rows = int(0.97 * rows)
    return rows


def _beside(course: Course, emphasis: Emphasis | None, rows: int) -> float:
    looking = 0 if emphasis is None else emphasis.rows_to_examine(course, rows - len(course.lesson))
    return course.outlook.exam(looking) + course.reserve(rows)
