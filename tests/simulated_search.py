"""Searches on a fake clock: a learner whose seconds and mistakes follow from its settings, without models or data."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.exceptions import LearnerDied, LearnerRaised
from fitwithin.teachers import Deck, Lesson, LessonReport
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.space import Space
from fitwithin.teachers._search.teacher import Search
from fitwithin.testing import FakeClock
from teacher_driver import Selection, answers_to, rows_in_time

ROUND_SECONDS = 0.02  # that a fit takes besides its own seconds


class Simulated(BaseEstimator):
    """A learner that is as good as `skill` says, takes `cost` seconds for a million rows, and may misbehave.

    Parameters
    ----------
    skill : float
        Part of the mistakes that it avoids, in the limit of many rows.
    cost : float
        Seconds for a million rows.
    trouble : {None, "raises", "dies", "hangs", "refuses"}
        What goes wrong in a fit, or already with the setting.
    stops : bool
        Whether a fit ends when it is told to stop, with a model.
    """

    def __init__(self, skill=0.5, cost=1.0, trouble=None, stops=False):
        self.skill = skill
        self.cost = cost
        self.trouble = trouble
        self.stops = stops

    def set_params(self, **params):
        if params.get("trouble") == "refuses":
            raise ValueError("there is no such trouble")
        return super().set_params(**params)

    def seconds(self, rows):
        return 0.01 + self.cost * rows / 1e6

    def error(self, rows):
        return (1 - self.skill) * (0.3 + 0.4 * (rows / 1000) ** -0.4)


@dataclass
class SimulatedResult:
    """What became of a search."""

    search: Search
    reason: str | None = None
    best: object = None
    best_score: float = -math.inf
    best_rows: int = 0
    returned: object = None
    lessons: list = field(default_factory=list)
    exams: list = field(default_factory=list)
    seconds_of: dict = field(default_factory=dict)
    seconds: float = 0.0


def run_search(learners, *, pool_size=200_000, limit=20.0, seed=0, starts=None, clock=None):
    """Drive a search over pairs of a learner and its space; return what came of it."""
    clock = FakeClock() if clock is None else clock
    budget = Budget(limit, clock=clock)
    costs = CostEstimates(budget, CostModel())
    deck = Deck(pool_size, np.random.default_rng(seed), costs=costs)
    entrants = [
        Entrant(number, learner, space or Space({}), (starts or {}).get(number, []), seed + number)
        for number, (learner, space) in enumerate(learners)
    ]
    search = Search(entrants)
    result = SimulatedResult(search)
    session = _Session(search.teach(deck), clock, budget, result, seed)
    session.run()
    result.seconds, result.returned = budget.elapsed(), session.best_candidate
    return result


@functools.cache
def _draw_luck(seed):
    """Return for each row how hard it is."""
    return np.random.default_rng(seed).random(2_000_000)


class _Session:
    def __init__(self, requests, clock, budget, result, seed, selection=None):
        self.requests = requests
        self.clock = clock
        self.budget = budget
        self.result = result
        self.luck = _draw_luck(seed)
        self.lesson = None
        self.selection = Selection() if selection is None else selection

    @property
    def best_candidate(self):
        return self.selection.candidate

    def run(self):
        answers, failure = None, None
        while True:
            try:
                request = self.requests.send(answers) if failure is None else self.requests.throw(failure)
            except StopIteration as end:
                self.result.reason = end.value
                return
            answers, failure = None, None
            try:
                answers = self._teach(request) if isinstance(request, Lesson) else self._examine(request)
            except (LearnerRaised, LearnerDied) as error:
                failure = error
            if self.budget.is_spent:
                self.result.reason = "time"
                return

    def _teach(self, lesson):
        self.lesson, learner = lesson, lesson.candidate.estimator
        self.result.lessons.append(lesson)
        whole_seconds = seconds = learner.seconds(len(lesson.rows))
        if learner.stops and lesson.stop_after is not None:
            seconds = min(seconds, lesson.stop_after)
        if learner.trouble == "hangs" or (lesson.kill_after is not None and seconds > lesson.kill_after):
            self._spend(lesson.kill_after)
            raise LearnerDied("it was stopped")
        self._spend(seconds + ROUND_SECONDS)
        if learner.trouble == "raises":
            raise LearnerRaised(ValueError("no"), "", "ValueError: no")
        if learner.trouble == "dies":
            raise LearnerDied("it was killed by SIGKILL")
        lesson.candidate.costs.cost.observe_fit(len(lesson.rows), whole_seconds)
        answers = {exam.purpose: self._examine(exam) for exam in lesson.exams}
        validation = answers.get("validation")
        is_best = None if validation is None else self._choose(lesson, validation)
        return LessonReport(seconds, was_cut_short=seconds < whole_seconds, answers=answers, is_best=is_best)

    def _examine(self, exam):
        lesson, candidate = self.lesson, self.lesson.candidate
        error = candidate.estimator.error(len(lesson.rows))
        spent = FakeClock()
        exam = rows_in_time(exam, lambda n_rows: spent.advance(1e-6 * n_rows), spent)
        self._spend(spent())
        # Models agree on most rows: what one gets wrong, a worse one mostly gets wrong too.
        own = np.random.default_rng(candidate.number).random(len(exam.rows))
        wrong = 0.9 * self.luck[exam.rows] + 0.1 * own < error
        candidate.costs.cost.observe_exam(len(exam.rows), spent(), len(lesson.rows))
        answers = answers_to(exam, wrong)
        if exam.purpose == "validation":
            self.result.exams.append(exam)
            # A fit with the rows kept back replaces the best model; see `Lesson.refit`.
            if (lesson.refit or answers.score.value > self.result.best_score) and not self.budget.is_spent:
                self.result.best, self.result.best_score = candidate.estimator, answers.score.value
                self.result.best_rows = len(lesson.rows)
        return answers

    def _choose(self, lesson, validation):
        """Return whether the model becomes the best one; at the deadline it is too late for that."""
        return not self.budget.is_spent and (lesson.refit or self.selection.choose(lesson, validation))

    def _spend(self, seconds):
        number = self.lesson.candidate.number
        self.result.seconds_of[number] = self.result.seconds_of.get(number, 0.0) + seconds
        self.clock.advance(seconds)
