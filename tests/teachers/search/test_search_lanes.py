"""A search with several learners at work at the same time, on a fake clock: each has its own seconds."""

import math

import numpy as np
import pytest

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.exceptions import LearnerDied, LearnerRaised
from fitwithin.teachers import Deck, Lesson, Wait
from fitwithin.teachers._search.entrant import Entrant
from fitwithin.teachers._search.space import FloatRange, Space
from fitwithin.teachers._search.teacher import Search
from fitwithin.testing import FakeClock
from simulated_search import Simulated, SimulatedResult, _Session
from teacher_driver import Selection

SKILLS = Space({"skill": FloatRange(0.1, 0.9)}, {"skill": 0.1})


class SimulatedLane(_Session):
    """A loop whose requests take their seconds on the clock of all loops."""

    ready_at = 0.0
    reply = failure = None
    is_waiting = has_ended = False

    def carry_on(self):
        """Deliver the answers of the last request, and begin the next."""
        try:
            request = self.requests.send(self.reply) if self.failure is None else self.requests.throw(self.failure)
        except StopIteration:
            self.has_ended, self.ready_at = True, math.inf
            return
        self.reply = self.failure = None
        self.is_waiting = isinstance(request, Wait)
        self.ready_at = math.inf if self.is_waiting else self.clock()
        if not self.is_waiting:
            try:
                self.reply = self._teach(request) if isinstance(request, Lesson) else self._examine(request)
            except (LearnerRaised, LearnerDied) as error:
                self.failure = error

    def _spend(self, seconds):
        self.ready_at += seconds


def run_lanes(learner, n_learners, *, limit=20.0, pool_size=200_000, seed=0):
    """Return the loops of a search after its first one has ended, and the search."""
    clock = FakeClock()
    budget = Budget(limit, clock=clock)
    deck = Deck(pool_size, np.random.default_rng(seed), costs=CostEstimates(budget, CostModel()))
    search = Search([Entrant(0, learner, SKILLS, [], seed)])
    selection = Selection()
    loops = [
        SimulatedLane(requests, clock, budget, SimulatedResult(search), seed, selection)
        for requests in search.teach_parallel(deck, n_learners)
    ]
    for loop in loops:
        loop.carry_on()
    while not loops[0].has_ended:
        loop = min(loops, key=lambda one: one.ready_at)
        clock.advance(min(loop.ready_at, limit) - clock())
        if budget.is_spent or math.isinf(loop.ready_at):
            break
        if not loop.is_waiting:
            for other in loops:
                other.ready_at = clock() if other.is_waiting else other.ready_at
        loop.carry_on()
    return loops, search


@pytest.mark.parametrize("cost", [5.0, 20.0])
def test_a_second_learner_is_at_work_nearly_all_the_time(cost):
    for seed in range(3):
        first, second = run_lanes(Simulated(cost=cost), 2, seed=seed)[0]
        busy = [sum(loop.result.seconds_of.values()) for loop in (first, second)]
        assert busy[1] >= 0.7 * busy[0]


def test_settings_are_tried_beside_the_finalist_on_the_last_subset():
    (first, second), search = run_lanes(Simulated(cost=100.0), 2)

    finalist = search.race.finalists[0]
    last = next(number for number, lesson in enumerate(first.result.lessons) if lesson.expected_score is not None)
    assert first.result.lessons[last].candidate is finalist
    n_rows = len(first.result.lessons[last - 1].rows)
    tried = [sum(len(lesson.rows) == n_rows for lesson in loop.result.lessons) for loop in (first, second)]
    assert tried[1] >= tried[0] + 3


def test_at_last_the_second_learner_teaches_a_rival_more_rows():
    (_, second), search = run_lanes(Simulated(cost=100.0), 2)

    trials = [lesson for lesson in second.result.lessons if lesson.expected_score is None]
    last_fits = second.result.lessons[len(trials) :]
    assert last_fits
    for lesson in last_fits:
        assert lesson.candidate is not search.race.finalists[0]
        assert len(lesson.rows) > max(len(trial.rows) for trial in trials)


def test_all_learners_take_their_rows_from_one_order():
    # Subsets of one order lie side by side in the memory that the processes share.
    loops, _ = run_lanes(Simulated(cost=20.0), 3)

    lessons = [lesson.rows for loop in loops for lesson in loop.result.lessons if not lesson.refit]
    longest = max(lessons, key=len)
    for rows in lessons:
        np.testing.assert_array_equal(rows, longest[: len(rows)])
