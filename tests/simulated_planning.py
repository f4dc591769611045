"""Auto against learners of many costs: requests are answered on a fake clock, without models or data.

Simulated sessions as in `simulated_sessions` fit real trees; these only count seconds, so that a session of hours takes
milliseconds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin.teachers import Auto, Deck, Lesson, LessonReport
from fitwithin.testing import FakeClock
from teacher_driver import Selection, answers_to, rows_in_time

ROUND_SECONDS = 0.02  # that a round takes besides its fit and its exams
EXAM_SECONDS = 0.004  # that an exam takes besides its rows
FIRST_STEPS = 0.02  # of all steps, after which a fit knows what the others take


@dataclass(frozen=True)
class Learner:
    """What a learner takes, by rows.

    Parameters
    ----------
    steps, setup : callable
        Seconds of all steps, and seconds before the first one.
    exam : callable
        Seconds of an exam for each row, by the rows of the model.
    can_stop_early : bool
        Whether steps can be left out.
    noise : float
        Standard deviation of the logarithm of the seconds.
    error : callable
        Fraction of mistakes.
    """

    steps: Callable[[int], float]
    setup: Callable[[int], float] = lambda rows: 0.0
    exam: Callable[[int], float] = lambda rows: 1e-6
    can_stop_early: bool = False
    noise: float = 0.08
    error: Callable[[int], float] = lambda rows: 0.1 + 0.2 * (rows / 250) ** -0.4

    def seconds(self, rows):
        return self.setup(rows) + self.steps(rows)

    def largest_lesson(self, pool_size, limit):
        """Return the most rows that a fit could have within the limit, if it was the only one."""
        sizes = np.unique(np.geomspace(1, pool_size, 2000).astype(int))
        return int(max((size for size in sizes if self.seconds(size) <= limit), default=0))


@dataclass
class Outcome:
    """What became of a session."""

    seconds: float = 0.0
    seconds_lost: float = 0.0
    best_rows: int = 0
    has_estimate: bool = False
    was_refused: bool = False
    lessons: list[Lesson] = field(default_factory=list)


class OutOfSeconds(Exception):
    """The deadline passed."""


class SimulatedSession:
    """Answers the requests of Auto as a session would, and kills what takes too long if it can.

    Parameters
    ----------
    learner : Learner
        What fits and exams take.
    pool_size : int
        Rows.
    limit : float
        Seconds.
    seed : int
        For the rows, the seconds and the mistakes.
    killable : bool, default=True
        Whether the deadline ends a fit or an exam; otherwise it makes the session late.
    """

    def __init__(self, learner, pool_size, limit, seed=0, *, killable=True):
        self.learner, self.limit, self.killable = learner, limit, killable
        self.rng = np.random.default_rng(seed)
        self.hardness = self.rng.random(pool_size)
        self.clock = FakeClock()
        self.cost = CostModel(1.0, 0.3) if learner.can_stop_early else CostModel()
        self.costs = CostEstimates(
            Budget(limit, clock=self.clock), self.cost, can_stop_early=learner.can_stop_early, killable=killable
        )
        self.deck = Deck(pool_size, np.random.default_rng(seed), costs=self.costs)
        self.outcome = Outcome()
        self.error, self.n_rows, self.began_at = 1.0, 0, 0.0
        self.selection = Selection()
        self.is_lost = False

    def run(self, teacher=None):
        """Return what became of the session."""
        try:
            requests, answers = (teacher or Auto()).teach(self.deck), None
            while True:
                request = requests.send(answers)
                answers = self.teach(request) if isinstance(request, Lesson) else self.examine(request)
        except StopIteration:
            pass
        except OutOfSeconds:
            self.outcome.seconds_lost = self.clock() - self.began_at if self.is_lost else 0.0
        self.outcome.seconds = self.clock()
        return self.outcome

    def spend(self, seconds):
        if self.killable and self.clock() + seconds > self.limit:
            self.clock.advance(self.limit - self.clock())
            raise OutOfSeconds
        self.clock.advance(seconds)

    def teach(self, lesson):
        assert len(np.unique(lesson.rows)) == len(lesson.rows)
        if not self.costs.may_begin(len(lesson.rows)):
            self.outcome.was_refused = True
            raise OutOfSeconds
        self.n_rows, self.began_at, self.is_lost = len(lesson.rows), self.clock(), True
        factors = np.exp(self.learner.noise * self.rng.normal(size=2))
        setup, steps = self.learner.setup(self.n_rows) * factors[0], self.learner.steps(self.n_rows) * factors[1]
        took, gave_up = self.find_seconds(lesson, setup, steps)
        self.outcome.lessons.append(lesson)
        self.spend(ROUND_SECONDS + took)
        self.cost.observe_fit(self.n_rows, setup + steps, setup if self.learner.can_stop_early else None)
        self.cost.observe_handover(self.n_rows, ROUND_SECONDS)
        if gave_up:
            self.is_lost = False
            return LessonReport(took, gave_up=True)
        self.error = min(1.0, self.learner.error(self.n_rows) * (setup + steps) / took)
        answers = {exam.purpose: self.examine(exam) for exam in lesson.exams}
        validation = answers.get("validation")
        is_best = None if validation is None else lesson.refit or self.selection.choose(lesson, validation)
        return LessonReport(took, was_cut_short=took < setup + steps, answers=answers, is_best=is_best)

    def find_seconds(self, lesson, setup, steps):
        """Return the seconds of a fit, and whether it gives up after its first steps."""
        first, whole = setup + FIRST_STEPS * steps, setup + steps
        if not self.learner.can_stop_early:
            return whole, False
        if lesson.give_up_over is not None and whole > lesson.give_up_over:
            return first, True
        return (whole if lesson.stop_after is None else min(whole, max(first, lesson.stop_after))), False

    def examine(self, exam):
        start, per_row = self.clock(), self.learner.exam(self.n_rows)
        self.spend(EXAM_SECONDS)
        exam = rows_in_time(exam, lambda n_rows: self.spend(per_row * n_rows), self.clock)
        self.cost.observe_exam(len(exam.rows), self.clock() - start, self.n_rows)
        self.outcome.has_estimate |= exam.purpose == "holdout"
        # Hard rows are mostly wrong; which of them depends a little on the model.
        noise = 0.05 * self.rng.normal(size=len(exam.rows))
        answers = answers_to(exam, self.hardness[exam.rows] + noise > 1 - self.error)
        if exam.purpose == "validation":
            self.is_lost = False
            self.outcome.best_rows = max(self.outcome.best_rows, self.n_rows)
        return answers


def power(seconds, growth, at):
    """Return a cost of so many seconds at so many rows, which grows with a power of the rows."""
    return lambda rows: seconds * math.pow(rows / at, growth)
