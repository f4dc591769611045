"""Teachers and their parts, driven by hand: who asks for what, with answers that are made up."""

from types import SimpleNamespace

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin.backends._scoring import accuracy_interval
from fitwithin.teachers import Answers, Deck, Exam, Lesson
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.testing import FakeClock


def every_fifth(rows):
    """A model that gets one row in five wrong, always the same ones."""
    return rows % 5 == 0


def answers_to(exam, wrong):
    """What a session would say, if the user's score is the accuracy."""
    if exam.purpose not in ("score", "validation"):
        return Answers(exam.rows, np.zeros_like(wrong) if exam.purpose == "holdout" else wrong)
    score = accuracy_interval(len(wrong) - int(np.count_nonzero(wrong)), len(wrong))
    influence = ((score.value - wrong) / len(wrong)).astype(np.float32)
    return Answers(exam.rows, wrong, None, score, influence)


def driven(steps, answer=every_fifth, *, cost=None, lesson=None, exam=0.0, clock=None):
    """Every request of a generator and what it returned; `lesson` tells the seconds of a lesson of so many rows."""
    asked, answers = [], None
    while True:
        try:
            request = steps.send(answers)
        except StopIteration as end:
            return SimpleNamespace(
                asked=asked,
                result=end.value,
                lessons=lessons_of(asked),
                refits=[request for request in asked if isinstance(request, Lesson) and request.refit],
                exams=exams_of(asked),
            )
        asked.append(request)
        rows, is_exam = len(request.rows), isinstance(request, Exam)
        seconds = exam * rows if is_exam else lesson(rows) if lesson else 0.0
        if cost is not None:
            (cost.observe_exam if is_exam else cost.observe_fit)(rows, seconds)
        if clock is not None:
            clock.advance(seconds)
        answers = answers_to(request, np.asarray(answer(request.rows))) if is_exam else None


def lessons_of(asked):
    """The rows of the lessons that choose a model: no refits, and no measurements of a few steps."""
    lessons = [request for request in asked if isinstance(request, Lesson)]
    return [lesson.rows for lesson in lessons if not (lesson.refit or lesson.is_measurement)]


def exams_of(asked):
    return [request for request in asked if isinstance(request, Exam)]


def cost_estimates(limit=100.0, *, lessons=(), exam=0.0, can_stop_early=False, clock=None):
    """An costs after lessons of so many rows and seconds, and with exams of so many seconds a row."""
    cost = CostModel(1.0 if can_stop_early else 1.1)
    for rows, seconds in lessons:
        cost.observe_fit(rows, seconds)
    if exam:
        cost.observe_exam(1, exam)
    return CostEstimates(Budget(limit, clock=clock or FakeClock()), cost, can_stop_early=can_stop_early)


def a_state(size=6000, first=250, *, seed=0, costs=None):
    return TeachingState(Deck(size, np.random.default_rng(seed), costs=costs), first)
