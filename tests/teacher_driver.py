"""Teachers and their parts, driven by hand: who asks for what, with answers that are made up."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.preference import ScoredModel
from fitwithin.backends._scoring import accuracy_interval
from fitwithin.teachers import Answers, Deck, Exam, Lesson, LessonReport
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


class Driver:
    """Answers the requests of a generator as a session would."""

    def __init__(self, answer, cost, lesson, exam, clock):
        self.answer, self.cost, self.lesson, self.exam, self.clock = answer, cost, lesson, exam, clock
        self.best = None

    def carry_out(self, request):
        return self.take_exam(request) if isinstance(request, Exam) else self.teach(request)

    def spend(self, seconds):
        if self.clock is not None:
            self.clock.advance(seconds)

    def teach(self, lesson):
        seconds = self.lesson(len(lesson.rows)) if self.lesson else 0.0
        if self.cost is not None:
            self.cost.observe_fit(len(lesson.rows), seconds)
        gave_up = lesson.give_up_over is not None and seconds > lesson.give_up_over
        was_cut_short = lesson.stop_after is not None and seconds > lesson.stop_after
        if gave_up:
            return LessonReport(0.0, gave_up=True)
        self.spend(min(seconds, lesson.stop_after) if was_cut_short else seconds)
        answers = {exam.purpose: self.take_exam(exam) for exam in lesson.exams}
        is_best = self.choose(lesson, answers["validation"]) if "validation" in answers else None
        return LessonReport(seconds, was_cut_short=was_cut_short, answers=answers, is_best=is_best)

    def take_exam(self, exam):
        rows = exam.rows
        if exam.seconds is not None and self.exam:
            rows = rows[: max(1, int(exam.seconds / self.exam))]
        if self.cost is not None:
            self.cost.observe_exam(len(rows), self.exam * len(rows))
        self.spend(self.exam * len(rows))
        return answers_to(replace(exam, rows=rows), np.asarray(self.answer(rows)))

    def choose(self, lesson, answers):
        best = self.best
        extends = best is not None and len(lesson.rows) > best.n_rows and not lesson.oversampled
        new = ScoredModel(answers, len(lesson.rows), extends=extends)
        if best is None or new.is_preferred_to(best):
            self.best = new
            return True
        return False


def driven(steps, answer=every_fifth, *, cost=None, lesson=None, exam=0.0, clock=None):
    """Every request of a generator and what it returned; `lesson` tells the seconds of a lesson of so many rows."""
    asked, answers, driver = [], None, Driver(answer, cost, lesson, exam, clock)
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
        answers = driver.carry_out(request)


def lessons_of(asked):
    """The rows of the lessons that choose a model: no refits, and none that only look at the first steps."""
    lessons = [request for request in asked if isinstance(request, Lesson)]
    return [lesson.rows for lesson in lessons if not (lesson.refit or lesson.give_up_over is not None)]


def exams_of(asked):
    return [exam for request in asked for exam in (request.exams if isinstance(request, Lesson) else [request])]


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
