"""A course: the lesson so far, the panel that judges it, and the time there is."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import numpy as np

from .._messages import Answers, Exam, Lesson, Rows
from .._selection import Estimate
from ._base import examine
from ._deck import Deck, First

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
        self.limit = deck.outlook.left
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
        few, size = len(self.panel), self.outlook.examinable(_JUDGING, len(self._judges))
        self.panel = self._judges[: max(size, few)]
        if size > few:
            # By a few judges it may look better than it is, and no other model would be as lucky.
            yield from self._be_judged()
            yield from examine(self._auditors[few:size], audits=True)

    def reserve(self, rows: int) -> float:
        """Seconds that a lesson of so many rows needs beside its training, for its model to count."""
        exams = 1.3 * self.outlook.exam(2 * len(self.panel))
        return exams + 1.2 * self.outlook.aside(rows) + _PAUSE + min(_UNFORESEEN * self.limit, _LONG_PAUSE)

    def teach(self, lesson: Rows, share: float = 1.0) -> Steps[None]:
        """Teach these rows in at most a share of the time that is left; let the panel judge, and auditors after it."""
        left = self.outlook.left
        within = max(0.0, min(share * left, left - self.reserve(len(lesson))))
        yield Lesson(lesson, within=within if np.isfinite(within) else None)
        self.lesson = lesson
        self.was_cut = self.outlook.lesson(len(lesson)) > within
        yield from self._be_judged()
        yield from examine(self._auditors[: len(self.panel)], audits=True)

    def _be_judged(self) -> Steps[None]:
        answers = yield from examine(self.panel, judges=True)
        self.score = answers.score
        # Without a panel, where the first lesson takes every row, nothing is known.
        self.error = answers.mistakes / len(answers.rows) if len(answers.rows) else self.error
