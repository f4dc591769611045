"""With a second learner, Auto fits many random rows beside its lessons, which are the same as without it."""

import threading
import time

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates, CostModel
from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Answers, Estimate, Exam, Lesson, LessonReport, Wait
from fitwithin.backends import Process
from fitwithin.teachers import Auto, Deck
from fitwithin.testing import FakeClock
from teacher_driver import exams_of

SECONDS_PER_ROW = 1e-3


class ParallelLoops:
    """Drives the loops of Auto by hand, on a clock that lessons move."""

    def __init__(self, n_learners, *, limit=100.0, size=20_000, seed=0, can_stop_early=False, knows_steps=True):
        self.clock = FakeClock()
        cost = CostModel.for_learner(can_stop_early=can_stop_early)
        budget = Budget(limit, clock=self.clock)
        costs = CostEstimates(budget, cost, can_stop_early=can_stop_early, knows_steps=knows_steps)
        self.deck = Deck(size, np.random.default_rng(seed), costs=costs)
        self.loops = Auto(emphasis=False).teach_parallel(self.deck, n_learners)

    def step(self, loop, request):
        """Answer a request, and return the next one."""
        return self.loops[loop].send(None if isinstance(request, Wait) else self.answer(request))

    def answer(self, request, seconds_per_row=SECONDS_PER_ROW):
        cost, n_rows = self.deck.costs.cost, len(request.rows)
        if isinstance(request, Exam):
            cost.observe_exam(n_rows, 1e-6 * n_rows)
            score = Estimate(0.8, 0.79, 0.81) if request.purpose == "validation" else None
            return Answers(request.rows, np.zeros(n_rows, np.bool_), score=score)
        seconds = seconds_per_row * n_rows
        cost.observe_fit(n_rows, seconds)
        gave_up = request.give_up_over is not None
        self.clock.advance(0.01 if gave_up else seconds)
        answers = {} if gave_up else {exam.purpose: self.answer(exam) for exam in request.exams}
        return LessonReport(seconds, gave_up=gave_up, answers=answers, is_best=True if answers else None)

    def run_first(self, n_requests):
        requests = [next(self.loops[0])]
        while len(requests) < n_requests:
            requests.append(self.step(0, requests[-1]))
        return requests


def find_hedge(**settings):
    """Return the driver after the first lesson of each loop, the first loop's requests, and the hedge's second one."""
    loops = ParallelLoops(2, **settings)
    requests = [next(loops.loops[0])]
    first = next(loops.loops[1])
    while len(requests) < 2:
        requests.append(loops.step(0, requests[-1]))
    return loops, requests, loops.step(1, first)


def test_the_hedge_begins_at_once_with_more_rows_than_the_first_lesson():
    loops = ParallelLoops(2)

    first, beside = next(loops.loops[0]), next(loops.loops[1])

    assert len(beside.rows) == 4 * len(first.rows)
    np.testing.assert_array_equal(beside.rows[: len(first.rows)], first.rows)


def test_the_hedge_waits_for_the_first_lesson_to_be_chosen():
    loops = ParallelLoops(2)

    assert isinstance(next(loops.loops[1]), Wait)
    next(loops.loops[0])
    assert isinstance(loops.step(1, Wait()), Lesson)


def test_the_hedge_waits_until_two_sizes_have_shown_their_cost():
    loops = ParallelLoops(2)
    lesson, beside = next(loops.loops[0]), next(loops.loops[1])

    hedge = loops.step(1, beside)
    assert isinstance(hedge, Wait)
    loops.step(0, lesson)
    assert isinstance(loops.step(1, hedge), Lesson)


def test_a_learner_that_can_stop_early_is_measured_first_and_then_taught_every_row_it_has_time_for():
    loops = ParallelLoops(2, limit=25.0, can_stop_early=True)
    next(loops.loops[0])

    measurement = next(loops.loops[1])
    hedge = loops.step(1, measurement)

    assert measurement.give_up_over == 0.0
    assert measurement.stop_after == pytest.approx(0.05 * 25.0), "for a learner that does not tell its steps"
    assert len(measurement.rows) == len(hedge.rows) == 20_000 - 2 * 800
    # It is told to stop in time for the exams.
    assert 0.85 * 25.0 < hedge.stop_after < 25.0


def test_a_learner_that_converges_is_not_measured_by_a_few_steps():
    # The seconds of a few iterations say little about those of all.
    loops = ParallelLoops(2, can_stop_early=True, knows_steps=False)
    first, beside = next(loops.loops[0]), next(loops.loops[1])

    assert beside.give_up_over is None
    assert len(beside.rows) == 4 * len(first.rows)


def test_a_learner_that_can_stop_early_may_be_stopped_before_its_last_steps():
    # Every row takes 18.4 s.
    loops = ParallelLoops(2, limit=15.0, can_stop_early=True)
    next(loops.loops[0])

    hedge = loops.step(1, next(loops.loops[1]))

    assert len(hedge.rows) == 20_000 - 2 * 800
    assert hedge.stop_after < SECONDS_PER_ROW * len(hedge.rows)


def test_a_learner_that_is_too_slow_for_every_row_gets_fewer():
    loops = ParallelLoops(2, limit=5.0, can_stop_early=True)
    lesson, measurement = next(loops.loops[0]), next(loops.loops[1])

    hedge = loops.step(1, measurement)
    assert isinstance(hedge, Wait)
    loops.step(0, lesson)
    hedge = loops.step(1, hedge)

    assert 0.5 * hedge.stop_after < SECONDS_PER_ROW * len(hedge.rows) < 1.8 * hedge.stop_after


def test_with_a_memory_limit_the_hedge_waits_for_the_first_lesson():
    loops = ParallelLoops(2)
    loops.deck.costs.memory.limit = 1 << 40
    next(loops.loops[0])

    assert isinstance(next(loops.loops[1]), Wait)


def test_the_hedge_has_the_most_random_rows_that_should_end_in_time():
    loops, requests, hedge = find_hedge(limit=12.0)

    seconds_left = loops.deck.costs.seconds_left
    assert 0.3 * seconds_left < SECONDS_PER_ROW * len(hedge.rows) < seconds_left
    assert len(hedge.rows) > max(len(request.rows) for request in requests[:1])
    assert len(np.unique(hedge.rows)) == len(hedge.rows)
    # About half of them are of either half of the pool.
    assert abs(np.mean(hedge.rows < 10_000) - 0.5) < 0.05


@pytest.mark.parametrize("limit", [12.0, 1000.0])
def test_the_hedge_is_never_taught_rows_that_judge_it(limit):
    _, requests, hedge = find_hedge(limit=limit)

    judging = [exam.rows for exam in exams_of(requests) if exam.purpose in ("validation", "holdout")]
    assert not np.isin(hedge.rows, np.concatenate(judging)).any()
    if limit == 1000.0:
        # All rows but one in 25 for validation, and as many for holdout.
        assert len(hedge.rows) == 20_000 - 2 * 800


def test_the_hedge_begins_with_the_rows_of_the_lessons():
    # So that the learners' processes share them without a copy.
    _, requests, hedge = find_hedge(limit=1000.0)

    for request in requests:
        if isinstance(request, Lesson):
            np.testing.assert_array_equal(request.rows, hedge.rows[: len(request.rows)])


def test_the_hedge_is_examined_on_the_rows_that_compare_all_models():
    loops, requests, hedge = find_hedge()

    (first_holdout, first_validation), (holdout, validation) = requests[0].exams, hedge.exams
    assert (holdout.purpose, validation.purpose) == ("holdout", "validation")
    np.testing.assert_array_equal(validation.rows, first_validation.rows)
    np.testing.assert_array_equal(holdout.rows, first_holdout.rows)
    with pytest.raises(StopIteration) as end:
        loops.step(1, hedge)
    assert end.value.value == "time"


def test_a_hedge_that_ends_early_is_followed_by_a_larger_one():
    loops, _, hedge = find_hedge(limit=12.0)
    request = loops.loops[1].send(loops.answer(hedge, seconds_per_row=1e-4))

    assert isinstance(request, Lesson)
    assert len(request.rows) > 1.1 * len(hedge.rows)


def test_a_hedge_that_takes_too_much_memory_just_ends():
    loops, _, _ = find_hedge()

    with pytest.raises(StopIteration) as end:
        loops.loops[1].throw(OutOfMemory(2, 1))

    assert end.value.value == "time"


def test_the_first_lesson_is_the_same_with_a_hedge_and_without():
    alone = ParallelLoops(1).run_first(1)
    _, beside, _ = find_hedge()

    for one, other in zip([*alone, *exams_of(alone)], [beside[0], *beside[0].exams], strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_the_same_seed_gives_the_same_hedge():
    first, second, third = (find_hedge(seed=seed)[2] for seed in (0, 0, 1))

    np.testing.assert_array_equal(first.rows, second.rows)
    assert not np.array_equal(first.rows, third.rows)


class Slow(GaussianNB):
    def fit(self, X, y):
        time.sleep(4e-5 * len(X))
        return super().fit(X, y)


@pytest.mark.slow
def test_a_session_compares_the_hedge_with_the_lessons(rows):
    loops = []

    def on_round(finished):
        loops.append((threading.current_thread().name, finished.rows))

    X, y = rows
    classifier = TimeConstrainedClassifier(
        Slow(), time_limit=8, n_jobs=2, on_round=on_round, backend=Process(), progress=False, random_state=0
    ).fit(X, y)

    names = {name for name, _ in loops}
    assert names == {"fitwithin-loop-1", "fitwithin-loop-2"}
    assert classifier.time_used_ < 8.5
    assert classifier.n_rows_trained_ in {finished.rows for finished in classifier.history_ if finished.best}
