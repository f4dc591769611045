"""With a second learner, Auto fits many random rows beside its lessons, which are the same as without it."""

import threading
import time

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostModel, Outlook
from fitwithin._core.exceptions import OutOfMemory
from fitwithin._core.records import Answers, Estimate, Exam, Lesson, Wait
from fitwithin.backends import Process
from fitwithin.teachers import Auto, Deck
from fitwithin.testing import FakeClock

SECONDS_PER_ROW = 1e-3


class Lanes:
    """Drives the lanes of Auto by hand, on a clock that lessons move."""

    def __init__(self, n_lanes, *, limit=100.0, size=20_000, seed=0, can_stop_early=False):
        self.clock = FakeClock()
        cost = CostModel.for_learner(can_stop_early=can_stop_early)
        outlook = Outlook(Budget(limit, clock=self.clock), cost, can_stop_early=can_stop_early)
        self.deck = Deck(size, np.random.default_rng(seed), outlook=outlook)
        self.lanes = Auto(emphasis=False).teach_lanes(self.deck, n_lanes)

    def step(self, lane, request):
        """Answer a request, and return the next one."""
        outlook, answers = self.deck.outlook, None
        if isinstance(request, Lesson):
            seconds = SECONDS_PER_ROW * len(request.rows)
            self.clock.advance(0.01 if request.is_measurement else seconds)
            outlook.cost.observe_fit(len(request.rows), seconds)
        elif isinstance(request, Exam):
            outlook.cost.observe_exam(len(request.rows), 1e-6 * len(request.rows))
            score = Estimate(0.8, 0.79, 0.81) if request.purpose == "validation" else None
            answers = Answers(request.rows, np.zeros(len(request.rows), np.bool_), score=score)
        return self.lanes[lane].send(answers)

    def run_first(self, n_requests):
        requests = [next(self.lanes[0])]
        while len(requests) < n_requests:
            requests.append(self.step(0, requests[-1]))
        return requests


def find_hedge(**settings):
    """Return the driver after the first lesson of each lane, the first lane's requests, and the hedge's second one."""
    lanes = Lanes(2, **settings)
    requests = [next(lanes.lanes[0])]
    first = next(lanes.lanes[1])
    while len(requests) < 6:
        requests.append(lanes.step(0, requests[-1]))
    return lanes, requests, lanes.step(1, first)


def test_the_hedge_begins_at_once_with_more_rows_than_the_first_lesson():
    lanes = Lanes(2)

    first, beside = next(lanes.lanes[0]), next(lanes.lanes[1])

    assert len(beside.rows) == 4 * len(first.rows)
    np.testing.assert_array_equal(beside.rows[: len(first.rows)], first.rows)


def test_the_hedge_waits_for_the_first_lesson_to_be_chosen():
    lanes = Lanes(2)

    assert isinstance(next(lanes.lanes[1]), Wait)
    next(lanes.lanes[0])
    assert isinstance(lanes.step(1, Wait()), Lesson)


def test_the_hedge_waits_until_two_sizes_have_shown_their_cost():
    lanes = Lanes(2)
    lesson, beside = next(lanes.lanes[0]), next(lanes.lanes[1])

    hedge = lanes.step(1, beside)
    assert isinstance(hedge, Wait)
    lanes.step(0, lesson)
    assert isinstance(lanes.step(1, hedge), Lesson)


def test_a_learner_that_can_stop_early_is_measured_first_and_then_taught_every_row_it_has_time_for():
    lanes = Lanes(2, limit=25.0, can_stop_early=True)
    next(lanes.lanes[0])

    measurement = next(lanes.lanes[1])
    hedge = lanes.step(1, measurement)

    assert measurement.is_measurement
    assert len(measurement.rows) == len(hedge.rows) == 20_000 - 2 * 800
    # It is told to stop in time for the exams.
    assert 0.85 * 25.0 < hedge.within < 25.0


def test_a_learner_that_can_stop_early_may_be_stopped_before_its_last_steps():
    # Every row takes 18.4 s.
    lanes = Lanes(2, limit=15.0, can_stop_early=True)
    next(lanes.lanes[0])

    hedge = lanes.step(1, next(lanes.lanes[1]))

    assert len(hedge.rows) == 20_000 - 2 * 800
    assert hedge.within < SECONDS_PER_ROW * len(hedge.rows)


def test_a_learner_that_is_too_slow_for_every_row_gets_fewer():
    lanes = Lanes(2, limit=5.0, can_stop_early=True)
    lesson, measurement = next(lanes.lanes[0]), next(lanes.lanes[1])

    hedge = lanes.step(1, measurement)
    assert isinstance(hedge, Wait)
    lanes.step(0, lesson)
    hedge = lanes.step(1, hedge)

    assert 0.5 * hedge.within < SECONDS_PER_ROW * len(hedge.rows) < 1.8 * hedge.within


def test_with_a_memory_limit_the_hedge_waits_for_the_first_lesson():
    lanes = Lanes(2)
    lanes.deck.outlook.memory.limit = 1 << 40
    next(lanes.lanes[0])

    assert isinstance(next(lanes.lanes[1]), Wait)


def test_the_hedge_has_the_most_random_rows_that_should_end_in_time():
    lanes, requests, hedge = find_hedge(limit=12.0)

    seconds_left = lanes.deck.outlook.seconds_left
    assert 0.3 * seconds_left < SECONDS_PER_ROW * len(hedge.rows) < seconds_left
    assert len(hedge.rows) > max(len(request.rows) for request in requests[:1])
    assert len(np.unique(hedge.rows)) == len(hedge.rows)
    # About half of them are of either half of the pool.
    assert abs(np.mean(hedge.rows < 10_000) - 0.5) < 0.05


@pytest.mark.parametrize("limit", [12.0, 1000.0])
def test_the_hedge_is_never_taught_rows_that_judge_it(limit):
    _, requests, hedge = find_hedge(limit=limit)

    judging = [request for request in requests if isinstance(request, Exam)]
    assert not np.isin(hedge.rows, np.concatenate([request.rows for request in judging])).any()
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
    lanes, requests, hedge = find_hedge()

    holdout = lanes.step(1, hedge)
    validation = lanes.step(1, holdout)

    others = [other for other in requests if isinstance(other, Exam)]
    np.testing.assert_array_equal(validation.rows, [one.rows for one in others if one.purpose == "validation"][-1])
    # The first model was examined on holdout rows in two parts.
    parts = [one.rows for one in others if one.purpose == "holdout"]
    np.testing.assert_array_equal(holdout.rows, np.concatenate(parts))
    assert (holdout.purpose, validation.purpose) == ("holdout", "validation")
    with pytest.raises(StopIteration) as end:
        lanes.step(1, validation)
    assert end.value.value == "time"


def test_a_hedge_that_ends_early_is_followed_by_a_larger_one():
    lanes, _, hedge = find_hedge(limit=12.0)
    lanes.deck.outlook.cost.observe_fit(len(hedge.rows), 1e-4 * len(hedge.rows))
    request = lanes.lanes[1].send(None)
    while isinstance(request, Exam):
        request = lanes.step(1, request)

    assert isinstance(request, Lesson)
    assert len(request.rows) > 1.1 * len(hedge.rows)


def test_a_hedge_that_takes_too_much_memory_just_ends():
    lanes, _, _ = find_hedge()

    with pytest.raises(StopIteration) as end:
        lanes.lanes[1].throw(OutOfMemory(2, 1))

    assert end.value.value == "time"


def test_the_first_lesson_is_the_same_with_a_hedge_and_without():
    alone = Lanes(1).run_first(3)
    _, beside, _ = find_hedge()

    for one, other in zip(alone, beside, strict=False):
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
    lanes = []

    def on_round(finished):
        lanes.append((threading.current_thread().name, finished.rows))

    X, y = rows
    classifier = TimeConstrainedClassifier(
        Slow(), time_limit=8, n_jobs=2, on_round=on_round, backend=Process(), progress=False, random_state=0
    ).fit(X, y)

    names = {name for name, _ in lanes}
    assert names == {"fitwithin-lane-1", "fitwithin-lane-2"}
    assert classifier.time_used_ < 8.5
    assert classifier.n_rows_taught_ in {finished.rows for finished in classifier.history_ if finished.best}
