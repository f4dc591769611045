"""Teachers and their parts, driven by hand: who asks for what, with answers that are made up."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel, LearnerTraits
from fitwithin._session.fit_state import ModelRecord
from fitwithin._session.selection import KeptModel, ModelSelector
from fitwithin.backends import Inline
from fitwithin.backends._metrics import accuracy_interval
from fitwithin.backends._model_runner import MAX_PIECE_ROWS, split_exam
from fitwithin.teachers import Answers, Deck, Exam, Lesson, LessonReport
from fitwithin.teachers._auto.state import TeachingState
from fitwithin.testing import FakeClock


def a_deck(size, seed=0):
    return Deck(size, np.random.default_rng(seed))


def timeless():
    """A backend whose clock stands still, so that a busy machine makes no difference."""
    return Inline(clock=FakeClock())


def every_fifth(rows):
    """A model that gets one row in five wrong, always the same ones."""
    return rows % 5 == 0


def answers_to(exam, wrong):
    """What a session would say, if the user's score is the accuracy."""
    margins = np.linspace(0, 1, len(exam.rows), dtype=np.float32) if exam.margins else None
    if exam.purpose not in ("score", "validation"):
        return Answers(exam.rows, np.zeros_like(wrong) if exam.purpose == "holdout" else wrong, margins)
    score = accuracy_interval(len(wrong) - int(np.count_nonzero(wrong)), len(wrong))
    influence = ((score.value - wrong) / len(wrong)).astype(np.float32)
    return Answers(exam.rows, wrong, margins, score, influence)


def rows_in_time(exam, spend, clock):
    """Return the first rows of an exam that its seconds are enough for; `spend` takes the seconds of some rows."""
    n_rows = 0
    for piece in split_exam(len(exam.rows), MAX_PIECE_ROWS, exam.seconds, clock):
        spend(piece.stop - piece.start)
        n_rows = piece.stop
    return replace(exam, rows=exam.rows[:n_rows])


A_MODEL = SimpleNamespace(discard=lambda: None)


class Selection:
    """The best model, by the rule of the session; `stored` is that of an earlier fit."""

    def __init__(self, stored=None):
        if stored is None:
            self.selector = ModelSelector("best")
        else:
            record = ModelRecord(1, len(stored.lesson), stored.lesson, estimate=stored.score)
            past = SimpleNamespace(model=A_MODEL, model_record=record, validation_rows=stored.validation_rows)
            self.selector = ModelSelector("best", past)

    @property
    def candidate(self):
        return None if self.selector.best is None else self.selector.best.candidate

    def choose(self, lesson, answers):
        """Return whether the model of a lesson becomes the best one."""
        n_rows = len(lesson.rows)
        current = SimpleNamespace(
            lesson=lesson, validation=answers, n_rows_trained=n_rows, trained_rows=lesson.rows, row_seconds=0.0
        )
        if not self.selector.prefers(current):
            return False
        record = ModelRecord(1, n_rows, lesson.rows, estimate=answers.score)
        best = KeptModel(A_MODEL, record, answers, lesson.candidate, oversampled=lesson.oversampled)
        self.selector.replace_best(best)
        return True


class Driver:
    """Answers the requests of a generator as a session would.

    Parameters
    ----------
    answer : callable
        Tells which of some rows the model gets wrong.
    cost : CostModel, optional
        Learns from lessons and exams.
    lesson : callable, optional
        Seconds of a lesson by its rows.
    setup : callable, optional
        Seconds of its set-up by its rows, for a learner that knows its steps.
    exam : float or callable
        Seconds of an exam for each row, or the same by the rows of the model.
    clock : FakeClock, optional
        Moved by lessons and exams.
    """

    def __init__(self, answer=every_fifth, *, cost=None, lesson=None, setup=None, exam=0.0, clock=None, stored=None):
        self.answer, self.cost, self.lesson, self.setup, self.exam = answer, cost, lesson, setup, exam
        self.clock = FakeClock() if clock is None else clock
        self.selection = Selection(stored)
        self.n_rows, self.answered = 1, []

    def carry_out(self, request):
        return self.take_exam(request) if isinstance(request, Exam) else self.teach(request)

    def teach(self, lesson):
        seconds = self.lesson(len(lesson.rows)) if self.lesson else 0.0
        setup = self.setup(len(lesson.rows)) if self.setup else None
        if self.cost is not None:
            self.cost.observe_fit(len(lesson.rows), seconds, setup)
        if lesson.give_up_over is not None and seconds > lesson.give_up_over:
            self.clock.advance(setup or 0.0)
            return LessonReport(0.0, gave_up=True)
        took = seconds if lesson.stop_after is None else min(seconds, lesson.stop_after)
        self.clock.advance(took)
        self.n_rows = len(lesson.rows)
        answers = {exam.purpose: self.take_exam(exam) for exam in lesson.exams}
        validation = answers.get("validation")
        is_best = None if validation is None else lesson.refit or self.selection.choose(lesson, validation)
        return LessonReport(took, was_cut_short=took < seconds, answers=answers, is_best=is_best)

    def take_exam(self, exam):
        seconds = self.exam(self.n_rows) if callable(self.exam) else self.exam
        exam = rows_in_time(exam, lambda n_rows: self.clock.advance(seconds * n_rows), self.clock)
        if self.cost is not None:
            self.cost.observe_exam(len(exam.rows), seconds * len(exam.rows), self.n_rows)
        self.answered.append(exam)
        return answers_to(exam, np.asarray(self.answer(exam.rows)))


def driven(steps, answer=every_fifth, *, driver=None, **settings):
    """Every request of a generator and what it returned; see `Driver`."""
    asked, given_up, answers, driver = [], [], None, driver or Driver(answer, **settings)
    while True:
        try:
            request = steps.send(answers)
        except StopIteration as end:
            return SimpleNamespace(
                asked=asked,
                result=end.value,
                lessons=[lesson.rows for lesson in lessons_of(asked) if lesson not in given_up],
                given_up=given_up,
                refits=[request for request in asked if isinstance(request, Lesson) and request.refit],
                exams=exams_of(asked),
            )
        asked.append(request)
        answers = driver.carry_out(request)
        if isinstance(answers, LessonReport) and answers.gave_up:
            given_up.append(request)


def lessons_of(asked):
    """The lessons that choose a model, so no refits."""
    return [request for request in asked if isinstance(request, Lesson) and not request.refit]


def exams_of(asked):
    return [exam for request in asked for exam in (request.exams if isinstance(request, Lesson) else [request])]


def cost_estimates(limit=100.0, *, lessons=(), exam=0.0, traits=None, clock=None, **settings):
    """Cost estimates after lessons, as rows, seconds and, perhaps, those of the set-up; `exam` is for each row."""
    cost = CostModel(traits or LearnerTraits())
    for lesson in lessons:
        cost.observe_fit(*lesson)
    if exam:
        cost.observe_exam(1, exam)
    return CostEstimates(Budget(limit, clock=clock or FakeClock()), cost, **settings)


def a_state(size=6000, *, seed=0, costs=None, **settings):
    deck = Deck(size, np.random.default_rng(seed), costs=costs)
    deck.resume_point = settings.pop("resume_point", None)
    return TeachingState(deck)
