"""Auto: the teacher that is used when none is named."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.records import Answers, Estimate, Exam, Lesson, Returns, Rows, StopReason, examine
from fitwithin.teachers._base import Requests
from fitwithin.teachers._deck import Deck, First, check_fraction

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
    >>> requests.send(None).purpose
    'validation'
    """

    returns: Returns = "best"

    def __init__(self, *, alpha: float = 0.2, emphasis: Literal["trial"] | bool = "trial") -> None:
        self.alpha = alpha
        self.emphasis = emphasis

    def teach(self, deck: Deck) -> Requests:
        """Yield a first lesson, the trial, and lessons that fill the time."""
        check_fraction(self.alpha)
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


# Rows of a lesson that is on trial: a share of the pool, but not so few that chance decides.
_SHARE, _ENOUGH, _LEAST = 20, 2_000, 1_000


# Of the time that is left: a lesson on trial, the search for its mistakes, its exam.
_TEACHING, _SEARCHING, _TRIAL_JUDGING = 0.1, 0.05, 0.02


# A learner that takes this much for the smallest lesson has no time for a trial.
_SLOW = 0.05


_TRIAL_JUDGES = 20_000


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
    judges = deck.deal(course.outlook.affordable_exam_rows(_TRIAL_JUDGING, min(_TRIAL_JUDGES, deck.left // 2)))
    yield from course.teach(np.concatenate([base, random]), _TEACHING)
    plain = yield from examine(judges, purpose="score")
    # One that was cut short is compared with one that gets the same time.
    again = _TEACHING if course.was_cut else 2 * _TEACHING
    yield from course.teach(np.concatenate([base, mistakes, random[len(mistakes) :]]), again)
    hard = yield from examine(judges, purpose="score")
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
    if outlook.fit_seconds(len(course.lesson)) > _SLOW * outlook.seconds_left:
        return 0
    rows = min(max(deck.size // _SHARE, min(_ENOUGH, deck.size // 6)), deck.left // 3)
    while (
        rows > _LEAST
        and not outlook.can_stop_early
        and outlook.fit_seconds(rows) > _TEACHING / 2 * outlook.seconds_left
    ):
        rows = int(0.8 * rows)
    new = rows - len(course.lesson)
    while (
        new > _LEAST and outlook.exam_seconds(emphasis.rows_to_examine(course, new)) > _SEARCHING * outlook.seconds_left
    ):
        new = max(_LEAST, int(0.8 * new))
    return new


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
    if largest < _WORTH * last and outlook.killable and not outlook.can_stop_early:
        largest = largest_size(course, emphasis, _GAMBLE)
    if largest < min(_WORTH * last, course.most):
        is_to_be_cut = outlook.can_stop_early and outlook.seconds_left > _MUCH * course.limit
        # What cannot come to its end anyway may as well hold more rows.
        return min(_GROWTH * last, course.most) if is_to_be_cut else 0
    if emphasis is None and outlook.can_stop_early:
        return largest
    step = min(_GROWTH * last, largest // 2)
    share = _STEP if outlook.can_stop_early else _STEP_OF_A_BLACK_BOX
    is_step = (
        step > 1.5 * last and outlook.fit_seconds(step) + _beside(course, emphasis, step) < share * outlook.seconds_left
    )
    return step if is_step else largest


def largest_size(course: Course, emphasis: Emphasis | None, share: float | None = None) -> int:
    """As many rows as can be found, taught and judged in the time that is left.

    By default a lesson that cannot be cut short has room to take as much longer than expected as others did.
    """
    outlook, rows = course.outlook, course.most
    if share is None:
        fill = _FILL if emphasis is None else _FILL_WITH_EMPHASIS
        share = fill if outlook.can_stop_early else 1 / outlook.safety_factor
    while rows > len(course.lesson):
        if outlook.fit_seconds(rows) <= share * (outlook.seconds_left - _beside(course, emphasis, rows)):
            break
        rows = int(0.97 * rows)
    return rows


def _beside(course: Course, emphasis: Emphasis | None, rows: int) -> float:
    looking = 0 if emphasis is None else emphasis.rows_to_examine(course, rows - len(course.lesson))
    return course.outlook.exam_seconds(looking) + course.reserve(rows)


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
        return course.outlook.affordable_exam_rows(_LOOKING, int(wanted))

    def find_mistakes(self, course: Course, new: int) -> Steps[Rows]:
        """The last model's mistakes for so many new rows, or as many as were found."""
        answers = yield from examine(course.deck.deal(self.rows_to_examine(course, new)))
        found = np.flatnonzero(answers.wrong)[: round(self.alpha * new)]
        others = np.ones(len(answers.rows), dtype=np.bool_)
        others[found] = False
        course.deck.discard(answers.rows[others])
        return answers.rows[found]


T = TypeVar("T")


Steps = Generator[Lesson | Exam, Answers | None, T]
"""A part of what a teacher yields, and what comes of it."""


# A judge is a row that is not taught: one in 25, or in ten of a small pool. There are as many auditors.
_JUDGES, _JUDGES_SHARE, _FEW_JUDGES, _FEW_JUDGES_SHARE = 5_000, 25, 200, 10


# For the panel to examine a model, of the time that is left.
_JUDGING = 0.015


# For what nobody foresees: seconds, and a share of the limit up to some more seconds.
_PAUSE, _UNFORESEEN, _LONG_PAUSE = 0.05, 0.02, 0.3


class Course:
    """What is taught so far, and how well.

    Parameters
    ----------
    deck : Deck
        Where rows come from.
    first : int or float
        Rows of the first lesson, or their share of the pool.

    Attributes
    ----------
    lesson : array of int
        The rows of the next lesson, and after it of the last one.
    score : Estimate or None
        How good the last model is, by the panel.
    error : float
        The share of the panel that the last model gets wrong.
    was_cut : bool
        Whether the last lesson was stopped before its end.
    """

    def __init__(self, deck: Deck, first: First) -> None:
        self.deck = deck
        self.outlook = deck.outlook
        self.limit = deck.outlook.seconds_left
        self.lesson = deck.opening(first)
        judges = max(deck.size // _JUDGES_SHARE, min(_FEW_JUDGES, deck.size // _FEW_JUDGES_SHARE))
        self._judges = deck.deal(min(_JUDGES, judges))
        self._auditors = deck.deal(len(self._judges))
        self.panel = self._judges[:_FEW_JUDGES]
        self.score: Estimate | None = None
        self.error = 0.5
        self.was_cut = False

    @property
    def most(self) -> int:
        """Rows of the largest lesson that there can be."""
        return len(self.lesson) + self.deck.left

    def summon_panel(self) -> Steps[None]:
        """As many judges as are worth their time, once it is known what an exam takes; of the first model as well."""
        few, size = len(self.panel), self.outlook.affordable_exam_rows(_JUDGING, len(self._judges))
        self.panel = self._judges[: max(size, few)]
        if size > few:
            # By a few judges it may look better than it is, and no other model would be as lucky.
            yield from self._be_judged()
            yield from examine(self._auditors[few:size], purpose="holdout")

    def reserve(self, rows: int) -> float:
        """Seconds that a lesson of so many rows needs beside its training, for its model to count."""
        exams = 1.3 * self.outlook.exam_seconds(2 * len(self.panel))
        return exams + 1.2 * self.outlook.overhead_seconds(rows) + _PAUSE + min(_UNFORESEEN * self.limit, _LONG_PAUSE)

    def teach(self, lesson: Rows, share: float = 1.0) -> Steps[None]:
        """Teach these rows in at most a share of the time that is left; let the panel judge, and auditors after it."""
        left = self.outlook.seconds_left
        within = max(0.0, min(share * left, left - self.reserve(len(lesson))))
        yield Lesson(lesson, within=within if np.isfinite(within) else None)
        self.lesson = lesson
        self.was_cut = self.outlook.fit_seconds(len(lesson)) > within
        yield from self._be_judged()
        yield from examine(self._auditors[: len(self.panel)], purpose="holdout")

    def _be_judged(self) -> Steps[None]:
        answers = yield from examine(self.panel, purpose="validation")
        self.score = answers.score
        # Without a panel, where the first lesson takes every row, nothing is known.
        self.error = answers.mistakes / len(answers.rows) if len(answers.rows) else self.error
