"""With a second learner, Auto teaches smaller lessons beside its bets."""

import threading
import time

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.memory_model import MemoryModel
from fitwithin._core.records import Answers, Estimate, Exam, Lesson, LessonReport, Wait
from fitwithin.backends import Process
from fitwithin.teachers import Auto, Deck
from fitwithin.testing import FakeClock
from teacher_driver import exams_of

SECONDS_PER_ROW = 1e-3


class ParallelLoops:
    """Drives the loops of Auto by hand, on a clock that lessons move."""

    def __init__(self, n_learners=2, *, limit=30.0, size=100_000, seed=0, can_stop_early=False):
        self.clock, self.can_stop_early = FakeClock(), can_stop_early
        costs = CostEstimates(Budget(limit, clock=self.clock), can_stop_early=can_stop_early)
        self.deck = Deck(size, np.random.default_rng(seed), costs=costs)
        self.loops = Auto(oversampling=False).teach_parallel(self.deck, n_learners)

    def step(self, loop, request):
        """Answer a request, and return the next one."""
        return self.loops[loop].send(None if isinstance(request, Wait) else self.answer(request))

    def answer(self, request):
        cost, n_rows = self.deck.costs.cost, len(request.rows)
        if isinstance(request, Exam):
            cost.observe_exam(n_rows, 1e-6 * n_rows)
            score = Estimate(0.8, 0.79, 0.81) if request.purpose == "validation" else None
            return Answers(request.rows, np.zeros(n_rows, np.bool_), score=score)
        seconds = SECONDS_PER_ROW * n_rows
        cost.observe_fit(n_rows, seconds, 1e-6 * n_rows if self.can_stop_early else None)
        if request.give_up_over is not None and seconds > request.give_up_over:
            self.clock.advance(0.01)
            return LessonReport(0.0, gave_up=True)
        self.clock.advance(seconds)
        answers = {exam.purpose: self.answer(exam) for exam in request.exams}
        return LessonReport(seconds, answers=answers, is_best=True if answers else None)

    def run_out(self, loop, request):
        """Answer all requests of a loop from this one on, and return why it ends."""
        while True:
            try:
                request = self.step(loop, request)
            except StopIteration as end:
                return end.value

    def begin_bet(self):
        """Return the requests of the first loop until the second one has a lesson, and that lesson."""
        beside = [next(self.loops[0])]
        bet = next(self.loops[1])
        while isinstance(bet, Wait):
            beside.append(self.step(0, beside[-1]))
            bet = self.loops[1].send(None)
        return beside, bet


def test_one_learner_has_one_loop():
    assert len(ParallelLoops(1).loops) == 1
    assert len(ParallelLoops(2).loops) == len(ParallelLoops(5).loops) == 2


def test_bets_wait_until_two_sizes_tell_what_they_would_take():
    loops = ParallelLoops()
    assert isinstance(next(loops.loops[1]), Wait)

    beside, bet = ParallelLoops().begin_bet()

    first, scout = [lesson for lesson in beside if isinstance(lesson, Lesson)][:2]
    assert len(first.rows) < len(scout.rows) < len(bet.rows)


def test_a_learner_that_knows_its_steps_begins_its_large_fit_after_the_first_lesson():
    beside, bet = ParallelLoops(can_stop_early=True).begin_bet()

    assert len([lesson for lesson in beside if isinstance(lesson, Lesson)]) <= 2
    assert bet.give_up_over is not None
    assert SECONDS_PER_ROW * len(bet.rows) > 0.3 * 30.0


def test_beside_a_bet_there_are_smaller_lessons_that_are_likely_to_end():
    loops = ParallelLoops()
    beside, bet = loops.begin_bet()

    request = loops.step(0, beside[-1])
    while not isinstance(request, Wait):
        assert isinstance(request, Exam) or len(request.rows) <= len(bet.rows) // 2
        request = loops.step(0, request)

    assert isinstance(request, Wait)
    assert loops.clock() < 30.0


def test_both_learners_share_their_rows_and_the_rows_that_compare_their_models():
    beside, bet = ParallelLoops().begin_bet()

    lessons = [request for request in beside if isinstance(request, Lesson)]
    judging = np.concatenate([exam.rows for exam in exams_of([*lessons, bet])])
    for lesson in lessons:
        # So that the learners' processes share them without a copy.
        np.testing.assert_array_equal(lesson.rows, bet.rows[: len(lesson.rows)])
        for one, other in zip(lesson.exams, bet.exams, strict=True):
            assert one.purpose == other.purpose
            n_rows = min(len(one.rows), len(other.rows))
            np.testing.assert_array_equal(one.rows[:n_rows], other.rows[:n_rows])
    assert not np.isin(bet.rows, judging).any()


def test_after_the_last_bet_the_first_learner_goes_on_alone_and_ends():
    loops = ParallelLoops(limit=1000.0, size=20_000)
    beside, bet = loops.begin_bet()

    assert loops.run_out(1, bet) == "time"
    assert loops.run_out(0, beside[-1]) == "all rows"
    assert loops.clock() < 100.0


def test_a_bet_that_takes_too_much_memory_is_followed_by_a_smaller_one():
    loops = ParallelLoops()
    loops.deck.costs.memory = MemoryModel(1 << 40)
    _, bet = loops.begin_bet()
    loops.deck.costs.memory.observe_stop(len(bet.rows))

    smaller = loops.loops[1].throw(OutOfMemory(2, 1))

    assert isinstance(smaller, Lesson)
    assert len(smaller.rows) < len(bet.rows)


def test_the_first_lesson_is_the_same_with_a_second_learner_and_without():
    alone, beside = (next(ParallelLoops(n_learners).loops[0]) for n_learners in (1, 2))

    for one, other in zip([alone, *alone.exams], [beside, *beside.exams], strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_the_same_seed_gives_the_same_bet():
    first, second, third = (ParallelLoops(seed=seed).begin_bet()[1] for seed in (0, 0, 1))

    np.testing.assert_array_equal(first.rows, second.rows)
    assert not np.array_equal(first.rows, third.rows)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [RandomForestClassifier(20, n_jobs=1), DecisionTreeClassifier()])
def test_every_row_is_trained_on_where_a_second_learner_has_time_for_it(learner, rows):
    X, y = rows
    classifier = TimeConstrainedClassifier(learner, time_limit=60, n_jobs=2, progress=False, random_state=0).fit(X, y)

    assert classifier.stop_reason_ in {"all rows", "no gain"}
    assert max(finished.rows for finished in classifier.history_) > 0.9 * len(X)


class Slow(GaussianNB):
    def fit(self, X, y):
        time.sleep(4e-5 * len(X))
        return super().fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("memory_limit", [None, "8GB"])
def test_a_session_compares_the_models_of_both_learners(rows, memory_limit):
    names = set()

    def on_round(finished):
        names.add(threading.current_thread().name)

    X, y = rows
    settings = {"n_jobs": 2, "memory_limit": memory_limit, "on_round": on_round, "backend": Process()}
    classifier = TimeConstrainedClassifier(Slow(), time_limit=8, progress=False, random_state=0, **settings).fit(X, y)

    assert names == {"fitwithin-loop-1", "fitwithin-loop-2"}
    assert classifier.time_used_ < 8.5
    assert classifier.n_rows_trained_ in {finished.rows for finished in classifier.history_ if finished.best}
