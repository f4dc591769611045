"""Drive a teacher, or a part of one, by hand: no learner, no data, answers by a rule."""

from types import SimpleNamespace

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostModel, Outlook
from fitwithin._core.scoring import accuracy_interval
from fitwithin.teachers import Answers, Deck, Exam
from fitwithin.teachers._auto import Course
from fitwithin.testing import FakeClock


def every_fifth(rows):
    """Mistakes of a model that gets one row in five wrong, always the same ones."""
    return rows % 5 == 0


def make_answers(exam, wrong):
    """Return what a session would answer when the score is the accuracy."""
    right = len(wrong) - int(np.count_nonzero(wrong))
    score = accuracy_interval(right, len(wrong)) if exam.purpose in ("score", "validation") else None
    return Answers(exam.rows, np.zeros_like(wrong) if exam.purpose == "holdout" else wrong, None, score)


def driven(steps, answer=every_fifth, *, cost=None, lesson=None, exam=0.0, clock=None):
    """Run a generator to its end; return its requests and its result.

    `answer(rows)` tells which rows are wrong. `lesson(n_rows)` is the seconds of a fit, `exam` the seconds of a row.
    """
    asked, answers = [], None
    while True:
        try:
            request = steps.send(answers)
        except StopIteration as end:
            return SimpleNamespace(
                asked=asked, result=end.value, lessons=lessons_among(asked), exams=exams_among(asked)
            )
        asked.append(request)
        rows, is_exam = len(request.rows), isinstance(request, Exam)
        seconds = exam * rows if is_exam else lesson(rows) if lesson else 0.0
        if cost is not None:
            (cost.examined if is_exam else cost.taught)(rows, seconds)
        if clock is not None:
            clock.advance(seconds)
        answers = make_answers(request, np.asarray(answer(request.rows))) if is_exam else None


def lessons_among(asked):
    """Rows of each lesson."""
    return [request.rows for request in asked if not isinstance(request, Exam)]


def exams_among(asked):
    """Each exam."""
    return [request for request in asked if isinstance(request, Exam)]


def an_outlook(limit=100.0, *, lessons=(), exam=0.0, can_stop_early=False, clock=None):
    """Return an outlook after `lessons`, pairs of rows and seconds; `exam` is the seconds of an examined row."""
    cost = CostModel(1.0 if can_stop_early else 1.1)
    for rows, seconds in lessons:
        cost.taught(rows, seconds)
    if exam:
        cost.examined(1, exam)
    return Outlook(Budget(limit, clock=clock or FakeClock()), cost, can_stop_early=can_stop_early)


def a_course(size=6000, first=250, *, seed=0, outlook=None):
    """Return a course over a deck of `size` rows."""
    return Course(Deck(size, np.random.default_rng(seed), outlook=outlook), first)
