"""What Auto knows while it teaches: its rows in one order, the rows kept back, and the time of exams."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.exceptions import OutOfMemory
from fitwithin._pools.decks.deck import count_validation_rows
from fitwithin.teachers import Deck, Lesson, LessonReport
from fitwithin.teachers._auto.state import _LEAST_SECONDS, TeachingState
from fitwithin.teachers._row_order import count_first_rows
from fitwithin.testing import FakeClock
from teacher_driver import Driver, a_state, cost_estimates, driven


def taught_first(state, **settings):
    """Teach the first lesson, and return what was asked."""
    return driven(state.teach(state.order), **settings)


@given(st.integers(501, 20_000))
def test_lesson_validation_rows_holdout_rows_and_deck_share_the_pool(size):
    state = a_state(size)

    kept_back = np.concatenate([state.validation_set, state.holdout_rows])
    assert len(np.unique(kept_back)) == len(kept_back) == size - state.max_rows
    assert sorted(np.concatenate([kept_back, state.list_rows(state.max_rows)]).tolist()) == list(range(size))


@pytest.mark.parametrize(
    ("size", "n_rows"), [(20, 1), (501, 25), (2000, 100), (10_000, 500), (40_000, 1000), (80_000, 2000), (10**6, 2000)]
)
def test_rows_kept_back_are_a_tenth_of_a_small_pool_and_a_twentieth_of_a_large_one_up_to_four_thousand(size, n_rows):
    state = a_state(size)

    assert len(state.validation_set) == len(state.holdout_rows) == n_rows


@pytest.mark.parametrize(
    ("size", "n_rows"), [(19, 19), (20, 18), (500, 450), (501, 50), (2500, 250), (50_000, 250), (10**6, 2000)]
)
def test_the_first_lesson_is_small_and_the_whole_of_a_small_pool(size, n_rows):
    assert count_first_rows(Deck(size, np.random.default_rng(0)), 2 * count_validation_rows(size)) == n_rows


def test_each_plain_lesson_holds_those_before_it():
    state = a_state()
    first = state.order

    larger, smaller = state.list_rows(1000), state.list_rows(500)

    np.testing.assert_array_equal(larger[: len(first)], first)
    np.testing.assert_array_equal(smaller, larger[:500])
    assert len(np.unique(larger)) == 1000


def test_rows_that_the_user_chose_are_the_validation_and_holdout_rows():
    deck = Deck(6000, np.random.default_rng(0))
    deck.hold_out(np.arange(100), np.arange(100, 200))

    state = TeachingState(deck)

    np.testing.assert_array_equal(state.validation_set, np.arange(100))
    np.testing.assert_array_equal(state.holdout_rows, np.arange(100, 200))
    assert state.max_rows == 5800


# Exams


def test_a_lesson_has_an_exam_on_validation_rows_and_the_best_model_then_one_on_as_many_holdout_rows():
    state = a_state()

    lesson, holdout = taught_first(state).asked

    assert isinstance(lesson, Lesson)
    (validation,) = lesson.exams
    assert (holdout.purpose, validation.purpose) == ("holdout", "validation")
    assert len(validation.rows) == len(holdout.rows) == len(state.validation_set)
    assert not np.isin(validation.rows, holdout.rows).any()


def test_without_validation_rows_there_is_no_exam_and_no_best_lesson():
    state = a_state(10)

    session = taught_first(state)

    assert not session.exams
    assert state.best is None
    assert state.n_trained == 10


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 1e-2])
def test_only_as_many_validation_rows_are_used_as_the_first_exam_had_time_for_and_never_very_few(seconds):
    clock = FakeClock()
    state = a_state(10**6, costs=cost_estimates(100, clock=clock))

    first = taught_first(state, exam=seconds, clock=clock, cost=state.costs.cost)
    n_rows = len(state.best.validation_rows)

    assert 60 <= n_rows <= 2000
    assert (n_rows == 2000) is (seconds == 1e-6)
    assert all(exam.seconds < 1.0 for exam in first.exams)
    for exam in taught_first(state, clock=clock, exam=1e-6).exams:
        assert len(exam.rows) == n_rows, "later models are compared on the same rows"


@pytest.mark.parametrize("limit", [2.0, 10.0, 30.0])
def test_a_model_that_is_slow_to_examine_is_examined_on_the_first_of_the_same_rows(limit):
    # A row takes 1 ms for each 100,000 rows of the model.
    clock = FakeClock()
    state = a_state(200_000, costs=cost_estimates(limit, clock=clock))
    driver = Driver(cost=state.costs.cost, exam=lambda n_rows: 1e-8 * n_rows, clock=clock)
    taught_first(state, driver=driver)
    driven(state.teach(state.list_rows(10_000)), driver=driver)
    driver.answered.clear()
    before = state.costs.seconds_left

    driven(state.teach(state.list_rows(100_000)), driver=driver)

    validation, holdout = driver.answered
    assert 100 <= len(validation.rows) < len(state.validation_set)
    np.testing.assert_array_equal(validation.rows, state.validation_set[: len(validation.rows)])
    assert len(holdout.rows) <= len(validation.rows)
    assert before - state.costs.seconds_left <= max(0.2 * before, 2 * 100 * 1e-3)


def test_without_a_time_limit_neither_lesson_nor_exams_have_one():
    lesson, holdout = taught_first(a_state()).asked

    assert lesson.stop_after is None
    assert [exam.seconds for exam in (*lesson.exams, holdout)] == [None, None]


@given(st.floats(0, 1000), st.floats(0.01, 1000), st.floats(0, 1e-2))
def test_a_lesson_leaves_time_for_the_exams_of_its_model(limit, most_seconds, exam):
    state = a_state(costs=cost_estimates(limit, exam=exam))

    lesson = next(state.teach(state.order, most_seconds=most_seconds))

    exams = 2 * [exam.seconds for exam in lesson.exams]
    assert 0 < lesson.stop_after <= max(most_seconds, _LEAST_SECONDS), "a learner takes at least one step"
    assert lesson.stop_after == _LEAST_SECONDS or lesson.stop_after + sum(exams) <= limit


@given(st.floats(0.01, 1000), st.integers(1, 10**5), st.floats(0, 1e-2))
def test_the_seconds_of_a_fit_are_fewer_than_those_left_by_more_than_its_exams_may_take(limit, rows, exam):
    state = a_state(costs=cost_estimates(limit, exam=exam))

    assert -math.inf < state.seconds_for_fit(rows) < limit - 2 * state.find_exam_seconds(rows)


def test_without_a_time_limit_a_fit_may_take_forever():
    assert a_state().seconds_for_fit(1000) == math.inf


# What a report tells


def test_the_best_lesson_is_the_one_whose_model_the_session_takes():
    state = a_state()
    driver = Driver(lambda rows: rows % 5 == 0)
    taught_first(state, driver=driver)
    driver.answer = lambda rows: rows % 2 == 0
    driven(state.teach(state.list_rows(1000)), driver=driver)

    assert len(state.best.lesson) == 250
    assert state.best.score.value == pytest.approx(0.8, abs=0.05)
    assert state.n_trained == 1000, "a larger model is not a reason to teach these rows again"


def test_a_lesson_that_was_given_up_or_took_too_much_memory_teaches_nothing():
    state = a_state()
    steps = state.teach(state.list_rows(1000), give_up_over=1.0)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(LessonReport(0.0, gave_up=True))
    steps = state.teach(state.list_rows(1000))
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.throw(OutOfMemory(2, 1))

    assert end.value.value is None
    assert (state.n_trained, state.best) == (0, None)


def test_an_oversampled_lesson_may_be_the_best_one_and_does_not_count_as_a_plain_one():
    state, driver = a_state(), Driver()
    taught_first(state, driver=driver)

    lesson, _ = driven(state.teach(state.list_rows(1000)[500:], oversampled=True), lambda rows: rows < 0).asked

    assert lesson.oversampled
    assert state.n_trained == 250
    assert len(state.best.lesson) == 500


@pytest.mark.parametrize(("seconds", "was_cut_short"), [(1.0, False), (30.0, True)])
def test_a_lesson_was_cut_short_if_its_fit_takes_longer_than_its_time(seconds, was_cut_short):
    clock = FakeClock()
    state = a_state(costs=cost_estimates(100, clock=clock, can_stop_early=True))

    driven(state.teach(state.order, most_seconds=10), cost=state.costs.cost, lesson=lambda rows: seconds, clock=clock)

    assert state.best.was_cut_short is was_cut_short


def test_a_model_that_is_not_the_best_one_is_not_examined_on_holdout_rows():
    requests = a_state().teach(np.arange(100, dtype=np.int32))
    next(requests)

    with pytest.raises(StopIteration):
        requests.send(LessonReport(1.0, is_best=False))
